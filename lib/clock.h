/* SPDX-License-Identifier: MIT */
/* The time stamp counter and its place on the system's clocks; the tool asks the same way. */
#ifndef PANTRACE_LIB_CLOCK_H
#define PANTRACE_LIB_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pt_clock {
	uint64_t tsc_hz, tsc, monotonic_ns, realtime_ns;
};

/* MAY_ASK: perf_event_open(2) may be tried. A seccomp filter may kill the process for it. */
__attribute__((visibility("hidden"))) void pt_clock_read(struct pt_clock *ret, bool may_ask);
/*
 * Whether clock_gettime() makes no system call here: that depends on the clock source
 * (/sys/devices/system/clocksource).
 */
__attribute__((visibility("hidden"))) bool pt_clock_is_free(void);

#endif
