/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command of -c: words, and being held until released. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/child.h"
#include "tap.h"

static void check_words(const char *command, const char *want)
{
	char **words = child_split(command), joined[256] = "";

	for (char **w = words; w && *w; w++) {
		strcat(joined, "<");
		strcat(joined, *w);
		strcat(joined, ">");
	}
	is_str(words ? joined : "(none)", want, "words");
	child_free_words(words);
}

static void test_split(void)
{
	check_words("ls -l /tmp", "<ls><-l></tmp>");
	check_words("  a\tb\n ", "<a><b>");
	check_words("sh -c 'echo \"a b\"'", "<sh><-c><echo \"a b\">");
	check_words("a\\ b \"c\\\"d\" ''", "<a b><c\"d><>");
	check_words("a 'b", "(none)");
	check_words("", "");
}

static bool maps_libc(pid_t pid)
{
	char path[64], *maps = NULL;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (file_read(path, 0, &maps, NULL) < 0)
		return false;
	found = strstr(maps, "libc") != NULL;
	free(maps);
	return found;
}

static void test_run(void)
{
	struct diag d = DIAG_INIT;
	struct child c;
	int fds[2], wait_ms = 0;
	char buf[64];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	dup2(fds[1], 9);
	is_int(child_start(&c, "/bin/sh -c 'echo hello >&9; exit 7'", &d), 0, "starts");
	ok(!maps_libc(c.pid) || c.is_before_exec, "is held before its exec");
	is_int(child_advance(&c, &d), 0, "goes on to its entry point");
	ok(maps_libc(c.pid), "where its libraries are mapped");
	usleep(20000);
	n = read(fds[0], buf, sizeof(buf));
	ok(n < 0 && errno == EAGAIN, "has not run yet");
	ok(!child_poll(&c), "has not ended");
	is_int(child_release(&c, &d), 0, "is released");
	while (!child_poll(&c) && wait_ms++ < 60000)
		usleep(1000);
	n = read(fds[0], buf, sizeof(buf));
	ok(n == 6 && !memcmp(buf, "hello\n", 6), "has run");
	ok(WIFEXITED(c.status) && WEXITSTATUS(c.status) == 7, "its status");
	child_stop(&c);
	is_int(child_start(&c, "no-such-command-here", &d), -ENOENT, "an unknown command");
	is_int(d.errors, 1, "is an error with a diagnostic");
	is_int(child_start(&c, "sleep 100", &d), 0, "starts another");
	child_release(&c, &d);
	child_stop(&c);
	ok(c.is_ended && WIFSIGNALED(c.status), "which is stopped");
	close(fds[0]);
	close(fds[1]);
	close(9);
	diag_release(&d);
}

int main(void)
{
	test_split();
	test_run();
	return tap_done();
}
