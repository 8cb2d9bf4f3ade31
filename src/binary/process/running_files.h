/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs and libraries that run now: the executable mappings of all processes. */
#ifndef PANTRACE_BINARY_PROCESS_RUNNING_FILES_H
#define PANTRACE_BINARY_PROCESS_RUNNING_FILES_H

#include "base/base.h"

#define RUNNING_MAX_FILES 20000

struct running_files {
	u32 processes; /* that were looked into */
	u32 files; /* given to fn */
	u32 refused; /* processes whose mappings may not be read */
	u32 unreadable; /* files that may not be read */
	u32 deleted; /* files that were deleted or replaced: no path leads to them */
	bool is_cut; /* there are more than RUNNING_MAX_FILES */
};

/*
 * Calls fn for each file once, with a path that leads to it from here (/proc/PID/root/... for one
 * of another mount namespace), until it returns non-zero, which is the result. The tracer itself is
 * left out. 0 or -errno (/proc cannot be read).
 */
int binary_each_running(int (*fn)(void *arg, const char *path), void *arg,
			struct running_files *ret);

#endif
