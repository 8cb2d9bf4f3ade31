// SPDX-License-Identifier: MIT
/*
 * A program under test that does as it is told by single bytes on its standard input and answers
 * each with a byte; for tests that start themselves as `TEST worker KIND`. After tap.h.
 */
#ifndef PANTRACE_TESTS_WORKER_H
#define PANTRACE_TESTS_WORKER_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int in, out;
};

static bool expect(const struct child *c, char what)
{
	struct pollfd p = {c->out, POLLIN, 0};
	char got = 0;

	return poll(&p, 1, 60000) == 1 && read(c->out, &got, 1) == 1 && got == what;
}

static bool order(const struct child *c, char what)
{
	return write(c->in, &what, 1) == 1 && expect(c, 'd');
}

static struct child start(const char *program, const char *kind)
{
	int in[2], out[2];
	struct child c = {0};

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(1);
	c.pid = fork();
	if (!c.pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(program, program, "worker", kind, NULL);
		_exit(9);
	}
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	return c;
}

/* The exit status of waitpid(). */
static int finish(struct child *c)
{
	int status = -1;

	if (write(c->in, "q", 1) != 1)
		kill(c->pid, SIGKILL);
	close(c->in);
	waitpid(c->pid, &status, 0);
	close(c->out);
	return status;
}

#endif
