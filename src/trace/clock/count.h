/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine can read of its clocks that a hypervisor and its guest have in common: the
 * processor's counter, which runs in both, and PTP_KVM, by which the hypervisor tells its guest the
 * time. Both structs are parts of messages (trace/agent/protocol.h).
 */
#ifndef PANTRACE_TRACE_CLOCK_COUNT_H
#define PANTRACE_TRACE_CLOCK_COUNT_H

#include "base/base.h"

/* The counter (TSC) was BEFORE, then CLOCK_MONOTONIC was NS, then it was AFTER. */
struct clock_count {
	u64 before, after, ns;
};

/* When the hypervisor's CLOCK_REALTIME was REALTIME, this CLOCK_MONOTONIC was between these. */
struct clock_ptp {
	u64 realtime, least_ns, most_ns;
};

/* The closest of a few readings: between the two others an interrupt may come, or the host. */
struct clock_count clock_count(void);
/* Whether the kernel itself takes the counter for its clock: it is the same on all CPUs. */
bool clock_count_is_common(void);
/* The device "KVM virtual PTP", or -errno: -ENODEV is that it is no guest, or has no ptp_kvm.ko. */
int clock_ptp_open(void);
/* All zeros if it does not answer. */
struct clock_ptp clock_ptp_read(int fd);

/*
 * CLOCK_REALTIME - CLOCK_MONOTONIC of this machine now is between these, which begin as S64's
 * largest and smallest; called twice, they hold both, and so a clock that was set in between.
 */
struct clock_distance {
	s64 least, most;
};
#define CLOCK_DISTANCE_NONE ((struct clock_distance){INT64_MAX, INT64_MIN})
void clock_distance_widen(struct clock_distance *d);

#endif
