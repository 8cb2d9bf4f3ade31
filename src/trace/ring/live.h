/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace buffer of the running kernel says of itself. directory: tracefs, or an instance's.
 */
#ifndef PANTRACE_TRACE_RING_LIVE_H
#define PANTRACE_TRACE_RING_LIVE_H

#include "trace/ring/page.h"

/* per_cpu/cpuN/stats */
struct ring_counts {
	u64 entries, bytes; /* still in the buffer */
	u64 overrun; /* overwritten before they were read */
	u64 dropped; /* no room: the file's "dropped events" and "commit overrun" */
	u64 read;
};

/* A file's text, malloc'ed. 0 or -errno. */
int ring_text(const char *directory, const char *file, char **ret);
/* 0 or -errno. */
int ring_layout(const char *directory, struct page_layout *ret);
bool ring_has_clock(const char *directory, const char *clock);
int ring_counts(const char *directory, u32 cpu, struct ring_counts *ret);
void ring_counts_add(struct ring_counts *all, const struct ring_counts *one);
/* The numbers of the CPUs that have a buffer, rising; malloc'ed, also on failure. 0 or -errno. */
int ring_cpus(const char *directory, u32 **ret, u32 *ret_count);
/* The sum over all CPUs; *ret_cpus: how many have a buffer, may be NULL. */
struct ring_counts ring_counts_of_all(const char *directory, u32 *ret_cpus);

#endif
