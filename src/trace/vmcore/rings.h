/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring buffers of a dead kernel: its own and those of its instances (kernel/trace/ring_buffer.c
 * draws how pages are linked).
 *
 *	reader_page		of the reader, no longer in the ring: the oldest events
 *	pages ─► ... ─► ...	a ring; the low bits of the link to the oldest page are set
 *	commit_page		the newest one, in the ring or the reader's
 */
#ifndef PANTRACE_TRACE_VMCORE_RINGS_H
#define PANTRACE_TRACE_VMCORE_RINGS_H

#include "base/hashmap.h"
#include "base/vector.h"
#include "trace/ring/page.h"
#include "trace/vmcore/kernel.h"

/* Of one CPU. */
struct dead_ring {
	u32 cpu;
	u64 address;
	u64 entries; /* neither read nor overwritten, by the kernel's count */
	u64 overwritten, dropped; /* dropped: the buffer was full */
};

struct dead_buffer {
	char *name; /* of the instance; "" = the kernel's own */
	char *clock; /* "mono" */
	struct page_layout layout;
	VECTOR(struct dead_ring) rings; /* by CPU */
};

struct dead_buffers {
	VECTOR(struct dead_buffer) all; /* the kernel's own first, then by name */
};

/* 0 or -errno with a diagnostic; dead_buffers_release() in any case. */
int dead_buffers_find(struct dead_kernel *k, struct dead_buffers *ret);
void dead_buffers_release(struct dead_buffers *b);

/* A page of layout.size bytes, as trace_pipe_raw gives it. Returning other than 0 ends it. */
typedef int dead_page_fn(void *arg, const void *page);
/*
 * The pages of a ring that have events, the oldest first. seen: the pages of all rings before, none
 * of which a sound ring has. *ret_is_whole: all could be read; else the page behind a gap says that
 * events are missing. 0, or what fn returned.
 */
int dead_ring_each_page(struct dead_kernel *k, const struct dead_buffer *b,
			const struct dead_ring *r, struct hashmap *seen, dead_page_fn *fn,
			void *arg, bool *ret_is_whole);

#endif
