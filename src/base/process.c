/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

#define INITIAL_PID_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO of include/linux/proc_ns.h */

bool process_numbers_are_initial(struct stat *ret)
{
	return stat("/proc/self/ns/pid", ret) || ret->st_ino == INITIAL_PID_NAMESPACE;
}

bool process_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

u64 process_start_time(pid_t pid)
{
	char path[64], *text, *p;
	size_t len;
	u64 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(path, 4096, &text, &len))
		return 0;
	/* field 22, counted after the name */
	p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (p)
		ret = strtoull(p, NULL, 10);
	free(text);
	return ret;
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

int process_each_thread(pid_t pid, int (*fn)(void *arg, pid_t thread), void *arg)
{
	char path[32];
	struct dirent *e;
	DIR *dir;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (!ret && (e = readdir(dir)))
		if (*e->d_name != '.')
			ret = fn(arg, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(dir);
	return ret;
}
