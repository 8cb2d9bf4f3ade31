/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

bool process_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

static int open_pidfd(pid_t pid, unsigned int flags)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, flags);

	return fd < 0 ? -errno : fd;
}

int process_open(pid_t pid)
{
	return open_pidfd(pid, 0);
}

int process_open_thread(pid_t thread)
{
	const int fd = open_pidfd(thread, PIDFD_THREAD);

	return fd == -EINVAL ? open_pidfd(thread, 0) : fd;
}
