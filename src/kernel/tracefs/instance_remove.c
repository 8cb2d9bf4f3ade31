/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/instance_remove.h"

#include <time.h>
#include <unistd.h>

#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/triggers.h"

int tracefs_instance_remove(const char *directory, u32 attempts)
{
	if (access(directory, F_OK))
		return errno == ENOENT ? 0 : -errno;
	/* Without these, recording would go on while the instance is taken down. */
	tracefs_value_write(directory, "tracing_on", "0");
	tracefs_value_write(directory, "events/enable", "0");
	tracefs_triggers_remove(directory);
	for (u32 i = 0; i < attempts; i++) {
		if (!rmdir(directory) || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		if (!i)
			tracefs_value_write(directory, "current_tracer", "nop");
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
	}
	return -errno;
}
