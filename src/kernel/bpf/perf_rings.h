/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One perf event on each CPU, and the rings they write to: perf_event_open(2), "MMAP layout". */
#ifndef PANTRACE_KERNEL_BPF_PERF_RINGS_H
#define PANTRACE_KERNEL_BPF_PERF_RINGS_H

#include <linux/perf_event.h>

#include "base/vector.h"

struct cpu_ring;

struct perf_rings {
	VECTOR(int) fds; /* the events, to wait on (EPOLLIN) */
	VECTOR(u32) cpus; /* of each of them */
	VECTOR(struct cpu_ring) rings;
	size_t at; /* the ring that is being read */
	const struct perf_event_header *record; /* the one that was handed out last */
};

struct kernel;
/*
 * Opens the event on all CPUs that are online, with `pages` of data each (a power of two). 0 or
 * -errno; then nothing is open.
 */
int perf_rings_open(struct perf_rings *r, struct kernel *k, const struct perf_event_attr *attr,
		    u32 pages);
void perf_rings_close(struct perf_rings *r); /* zeroes are fine */
/*
 * The next record, in one piece, valid until the next call; NULL = none is left. Records of one CPU
 * come in their order.
 */
const struct perf_event_header *perf_rings_next(struct perf_rings *r);

#endif
