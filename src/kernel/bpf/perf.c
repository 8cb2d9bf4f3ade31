/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel_internal.h"

int kernel_pmu_type(const char *name)
{
	char path[256];

	if (strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name) >=
		    sizeof(path))
		return -ENOENT;
	return kernel_read_number(path);
}

int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	const long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
				flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}
