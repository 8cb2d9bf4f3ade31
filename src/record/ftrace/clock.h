/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a clock of ftrace lies beside CLOCK_MONOTONIC, measured in a buffer of our own: markers are
 * written between two looks at the clock.
 */
#ifndef PANTRACE_RECORD_FTRACE_CLOCK_H
#define PANTRACE_RECORD_FTRACE_CLOCK_H

#include "kernel/kernel.h"

struct trace_clock_place {
	s64 monotonic_ns; /* to be added to its times */
	u64 within_ns; /* how far off this may be */
};

/* Does it count nanoseconds? x86-tsc, counter and uptime do not. */
bool trace_clock_is_ns(const char *clock);
/*
 * of_boot: of events since boot. Where somebody steers CLOCK_MONOTONIC (adjtimex(2)), that is as it
 * was before: like CLOCK_MONOTONIC_RAW, which nobody steers. How far the two are apart now is in
 * within_ns. 0 or -errno with a diagnostic.
 */
int trace_clock_place(struct kernel *k, struct diag *d, const char *clock, bool of_boot,
		      struct trace_clock_place *ret);

#endif
