/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/stall.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS	    100 /* how often to check whether to end */
#define PATIENCE_MS 500 /* how long the reader may still stall then */

static atomic_bool is_ending; /* global, as signals are */

bool stall_is_possible(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

bool stall_signal_waits(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
				     sigismember(&set, SIGHUP) || sigismember(&set, SIGQUIT));
}

void stall_end(void)
{
	is_ending = true;
}

static int wait_for_room(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	while (poll(&p, 1, is_ending ? PATIENCE_MS : LOOK_MS) == 0) {
		if (is_ending)
			return -ETIMEDOUT;
		is_ending = stall_signal_waits();
	}
	return 0;
}

int stall_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		const int err = wait_for_room(fd);
		ssize_t n;

		if (err)
			return err;
		/* A pipe that is writable takes at least this much at once (pipe(7)). */
		n = write(fd, p, MIN(len, (size_t)PIPE_BUF));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		p += MAX(n, 0);
		len -= (size_t)MAX(n, 0);
	}
	return 0;
}

static ssize_t write_message(void *cookie, const char *data, size_t len)
{
	/* A closed reader is not an error: the data counts as written. */
	stall_write(STDERR_FILENO, data, len);
	return (ssize_t)len;
}

void stall_watch_messages(void)
{
	FILE *f;

	if (!stall_is_possible(STDERR_FILENO) || isatty(STDERR_FILENO))
		return;
	f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_message});
	if (!f)
		return;
	setvbuf(f, NULL, _IONBF, 0);
	stderr = f;
}
