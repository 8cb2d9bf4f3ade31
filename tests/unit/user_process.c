/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking processes: one that hangs up on a client which was too slow, as on a busy machine, is
 * asked again; one that is gone is not. */
#include "tap.h"
#include "user/process.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int hung_up[2]; /* pipe: a byte when it has */

/* Hangs up HANGUPS times, then answers. */
static pid_t serve(const char *directory, int hangups, int connections)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	pid_t pid;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/1", directory);
	unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8))
		exit(1);
	pid = fork();
	for (int i = 0; !pid && i < connections; i++) {
		const int client = accept(fd, NULL, NULL);
		char text[1000];

		if (i >= hangups && recv(client, text, sizeof(text), 0) > 0)
			send(client, "ok\nprocess 1 0\n", 15, MSG_NOSIGNAL);
		close(client);
		if (i < hangups && write(hung_up[1], "", 1) != 1)
			_exit(1);
	}
	if (!pid)
		_exit(0);
	close(fd);
	return pid;
}

/* slow: the other end hangs up before it is asked. */
static int ask(char **ret_text, bool slow)
{
	struct user_processes processes = {0};
	int error = -1;
	char byte;

	free(*ret_text);
	*ret_text = NULL;
	user_connect(&processes, NULL);
	if (slow && read(hung_up[0], &byte, 1) != 1)
		return -1;
	user_exchange(&processes, "hello\n", 60000);
	if (processes.all.len == 1) {
		error = processes.all.items[0].error;
		*ret_text =
			processes.all.items[0].text ? strdup(processes.all.items[0].text) : NULL;
	}
	user_processes_release(&processes);
	return error;
}

int main(void)
{
	char directory[] = "/tmp/pantrace-process.XXXXXX", *text = NULL, file[64] = "";
	pid_t pid;

	if (!mkdtemp(directory) || pipe(hung_up))
		return 1;
	setenv("PANTRACE_RUNTIME", directory, 1);
	pid = serve(directory, 0, 1);
	is_int(ask(&text, false), 0, "a process answers");
	ok(text && !strcmp(text, "process 1 0\n"), "with its text");
	waitpid(pid, NULL, 0);
	pid = serve(directory, 1, 2);
	is_int(ask(&text, true), 0, "one that hangs up is asked again");
	ok(text && !strcmp(text, "process 1 0\n"), "and answers");
	waitpid(pid, NULL, 0);
	pid = serve(directory, 2, 2);
	ok(ask(&text, true) < 0, "once");
	waitpid(pid, NULL, 0);
	pid = serve(directory, 1, 1);
	ok(ask(&text, true) < 0, "one that has ended has not answered");
	waitpid(pid, NULL, 0);
	strcat(file, directory);
	strcat(file, "/1");
	unlink(file);
	rmdir(directory);
	free(text);
	return tap_done();
}
