/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of one perf event: perf_event_open(2), "MMAP layout". */
#ifndef PANTRACE_KERNEL_BPF_PERF_RING_H
#define PANTRACE_KERNEL_BPF_PERF_RING_H

#include <linux/perf_event.h>

#include "base/base.h"

struct perf_ring {
	struct perf_event_mmap_page *page;
	u8 *data;
	u64 size;
	u8 *copy; /* of a record that wraps around */
	u32 copy_size;
};

/* pages: of data, a power of two. 0 or -errno. The descriptor stays the caller's. */
int perf_ring_map(struct perf_ring *r, int fd, u32 pages);
void perf_ring_unmap(struct perf_ring *r);
/* The oldest record, in one piece, valid until perf_ring_done(); NULL = none. */
const struct perf_event_header *perf_ring_next(struct perf_ring *r);
void perf_ring_done(struct perf_ring *r, const struct perf_event_header *h);

#endif
