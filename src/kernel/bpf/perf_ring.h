/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of a perf event in memory: perf_event_open(2), "MMAP layout". */
#ifndef PANTRACE_KERNEL_BPF_PERF_RING_H
#define PANTRACE_KERNEL_BPF_PERF_RING_H

#include <linux/perf_event.h>
#include <sys/uio.h>

#include "base/base.h"

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL = not mapped */
	u8 *data;
	u64 size; /* of data: a power of two */
};

/* Maps the ring of event fd, with `pages` of data (a power of two). 0 or -errno. */
int perf_ring_map(struct perf_ring *r, int fd, u32 pages);
void perf_ring_unmap(struct perf_ring *r); /* zeroes are fine */
/*
 * What lies in it, the oldest first: whole records, in one or two pieces, the first of which may
 * end within a record. Returns how many bytes.
 */
size_t perf_ring_pieces(const struct perf_ring *r, struct iovec ret[2]);
/* So many bytes were read: the kernel may overwrite them. */
void perf_ring_consume(struct perf_ring *r, size_t n);

#endif
