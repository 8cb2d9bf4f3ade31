/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "kernel/kernel_internal.h"
#include "kernel/tracefs/sweep.h"
#include "kernel/tracefs/owner.h"

#define LINE_FD 3 /* of the guard; 0, 1 and 2 are /dev/null */

/* ---- the guard ---- */

/*
 * Closes all other descriptors, as they would keep things alive: a pipe that should end, the lock
 * of an instance, a file system.
 */
static void keep_only(int line)
{
	const int null = open("/dev/null", O_RDWR);

	if (line != LINE_FD)
		dup2(line, LINE_FD);
	for (int fd = 0; fd < LINE_FD; fd++)
		if (null >= 0)
			dup2(null, fd);
		else
			close(fd);
	/* close_range(2) is from 5.9. */
	if (!syscall(SYS_close_range, LINE_FD + 1, ~0u, 0))
		return;
	for (int fd = LINE_FD + 1, end = getdtablesize(); fd < end; fd++)
		close(fd);
}

/* Writes what ps shows over the words of the command line; where they are is in fields 48 and 49 of
 * /proc/self/stat (proc(5)). */
static void set_title(const char *title)
{
	char *text, *p, *word, *rest = NULL;
	u64 at[2] = {0};

	prctl(PR_SET_NAME, "pantrace: guard");
	if (file_read("/proc/self/stat", 1 << 16, &text, NULL))
		return;
	p = strrchr(text, ')');
	word = p ? strtok_r(p + 1, " ", &rest) : NULL;
	for (int field = 3; word && field <= 49; field++, word = strtok_r(NULL, " ", &rest))
		if (field >= 48)
			at[field - 48] = strtoull(word, NULL, 10);
	if (at[0] && at[1] > at[0] + 1) {
		memset((void *)(uintptr_t)at[0], 0, at[1] - at[0]);
		memcpy((void *)(uintptr_t)at[0], title, MIN(strlen(title), at[1] - at[0] - 1));
	}
	free(text);
}

/*
 * The socket was closed silently: the owner is exiting. Its files are closed, the process may
 * still exist.
 */
static bool owner_was_killed(void)
{
	char word;
	ssize_t n;

	while ((n = read(LINE_FD, &word, 1)) < 0 && errno == EINTR)
		;
	return n == 0;
}

static void wait_for_death(struct kernel *k, const struct tracefs_owner *owner)
{
	for (useconds_t pause = 500; tracefs_owner_alive(k, owner); pause = MIN(2 * pause, 100000u))
		usleep(pause);
}

/* What cannot be removed at once (somebody has it open) may be removable a moment later. */
static void sweep(struct kernel *k)
{
	u32 failed = 1;

	for (int attempt = 0; failed && attempt < 20; attempt++) {
		struct sweep_report report = {0};

		if (attempt)
			usleep(50000);
		failed = tracefs_sweep(k, false, &report) ? 0 : report.failed;
		sweep_report_release(&report);
	}
}

static void be_guard(struct kernel *k, const struct tracefs_owner *owner, int line)
{
	char title[64];
	sigset_t all;

	setsid();
	/*
	 * Signals to all processes of this group are meant for the owner, and the owner ends the
	 * guard.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	keep_only(line);
	if (chdir("/"))
		_exit(1);
	snprintf(title, sizeof(title), "pantrace: guard %d", (int)owner->pid);
	set_title(title);
	if (owner_was_killed()) {
		wait_for_death(k, owner);
		sweep(k);
	}
	_exit(0);
}

/* ---- the owner ---- */

int guard_start(struct kernel *k)
{
	const struct tracefs_owner self = tracefs_owner_self();
	int line[2], err;
	pid_t pid;

	if (k->guard_pid)
		return 0;
	/* Found before the fork, so that the guard does not have to. */
	if (!kernel_tracefs(k))
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return -errno;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	if (!pid)
		be_guard(k, &self, line[1]);
	close(line[1]);
	if (err) {
		close(line[0]);
		return err;
	}
	k->guard_pid = pid;
	k->guard_line = line[0];
	return 0;
}

void guard_end(struct kernel *k)
{
	struct pollfd end = {.fd = k->guard_line};
	const char word = '.';

	if (!k->guard_pid)
		return;
	/*
	 * The guard closes its end of the socket when it ends. If somebody stopped it, it is not
	 * waited for.
	 */
	if (send(k->guard_line, &word, 1, MSG_NOSIGNAL) < 0 || clock_poll(&end, 1, 1000) == 1)
		while (waitpid(k->guard_pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(k->guard_line);
	k->guard_pid = 0;
}

bool guard_take_over(struct kernel *k)
{
	struct pollfd end = {.fd = k->guard_line};

	/*
	 * readable: the guard closed its end; the first process of a PID namespace takes the guard
	 * with it
	 */
	if (!k->guard_pid || clock_poll(&end, 1, 0) || getpid() == 1)
		return false;
	close(k->guard_line); /* ended silently, as if it had been killed */
	k->guard_pid = 0;
	return true;
}
