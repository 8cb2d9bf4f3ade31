/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel.h"

int kernel_pmu_type(const char *name)
{
	char path[256], text[16];
	ssize_t n;
	int fd, err;

	if (strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name) >=
		    sizeof(path))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? atoi(text) : -EINVAL;
}

int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	const long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
				flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}
