/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that a recording knows of, whatever the recording is. */
#ifndef PANTRACE_TRACE_RECORDED_TASK_H
#define PANTRACE_TRACE_RECORDED_TASK_H

#include "base/base.h"

struct recorded_task {
	s64 tid, pid, ppid; /* -1 = unknown */
	const char *comm; /* NULL = unknown */
	size_t comm_size;
};

typedef void recorded_task_fn(void *arg, const struct recorded_task *task);

#endif
