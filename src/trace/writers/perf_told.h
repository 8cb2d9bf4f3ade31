/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a perf.data that is written has told of tasks and mappings so far: each is told before the
 * first sample that needs it, and again when it is another.
 */
#ifndef PANTRACE_TRACE_WRITERS_PERF_TOLD_H
#define PANTRACE_TRACE_WRITERS_PERF_TOLD_H

#include "base/hashmap.h"
#include "trace/perf/side_records.h"
#include "trace/recording.h"

/* Zero-initialised, nothing was told. */
struct perf_told {
	struct hashmap threads; /* by tid */
	struct hashmap processes; /* by pid, -1 is the kernel */
	bool has_kernel; /* a mapping of the kernel's was told */
};

void perf_told_release(struct perf_told *t);
/* The name of an event's thread. */
void perf_tell_task(struct perf_told *told, const struct perf_side *side,
		    const struct recorded_place *place);
/* pid: whose it is, if it is not the kernel's. The mapping's path stays. */
void perf_tell_mapping(struct perf_told *told, const struct perf_side *side, bool is_kernel,
		       s64 pid, const struct recorded_mapping *m);

#endif
