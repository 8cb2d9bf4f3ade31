/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");
	bool found = false;

	while (path && *path && !found) {
		const size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, program);

		found = n && !access(file, X_OK);
		free(file);
		path += n + (path[n] == ':');
	}
	return found;
}

/* NULL = none is wanted, or there is none. */
static const char *command_of(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return is_installed("less") ? "less" : NULL;
	return *pager && !str_eq(pager, "cat") ? pager : NULL;
}

static pid_t start(const char *command, int from)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	dup2(from, STDIN_FILENO);
	/* short texts are only printed; what is there is not wiped */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_begin(struct pager *p)
{
	const char *const command = isatty(STDOUT_FILENO) ? command_of() : NULL;
	int ends[2];

	*p = (struct pager){0};
	if (!command || pipe2(ends, O_CLOEXEC))
		return;
	fflush(stdout);
	p->pid = start(command, ends[0]);
	if (p->pid > 0) {
		p->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		p->err = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
		dup2(ends[1], STDOUT_FILENO);
		if (p->err >= 0)
			dup2(ends[1], STDERR_FILENO);
		signal(SIGINT, SIG_IGN);
	}
	p->pid = MAX(p->pid, 0);
	close(ends[0]);
	close(ends[1]);
}

void pager_end(struct pager *p)
{
	if (!p->pid)
		return;
	fflush(stdout);
	dup2(p->out, STDOUT_FILENO);
	close(p->out);
	if (p->err >= 0) {
		dup2(p->err, STDERR_FILENO);
		close(p->err);
	}
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
