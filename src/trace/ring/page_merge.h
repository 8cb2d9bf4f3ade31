/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of ring-buffer pages, one per CPU, merged by the time of their events. The next page of a
 * stream is asked for when the one before is done: only one page of each is looked at.
 */
#ifndef PANTRACE_TRACE_RING_PAGE_MERGE_H
#define PANTRACE_TRACE_RING_PAGE_MERGE_H

#include "base/vector.h"
#include "trace/ring/raw_buffer.h"

struct page_stream {
	u32 cpu;
	/* The next page; NULL: the end. It stays valid until the next call. */
	const void *(*next)(struct page_stream *s, size_t *ret_len);
	/* Starts again, and may pass over pages without events of these times. NULL: it cannot. */
	void (*narrow)(struct page_stream *s, u64 begin, u64 end);
	void (*release)(struct page_stream *s); /* may be NULL */
	void *arg;
	struct page page;
	struct page_event head;
	u64 lost;
};

struct page_merge {
	struct page_layout layout;
	VECTOR(struct page_stream) streams;
	u32 *heap;
	u32 heap_len;
	bool given;
	u64 events, lost, damaged;
	u64 gaps; /* places where events were lost that the pages do not count */
};

void page_merge_init(struct page_merge *m, const struct page_layout *layout);
void page_merge_add(struct page_merge *m, const struct page_stream *s);
/* The oldest event. Its data is valid until the next call. False: the end. */
bool page_merge_next(struct page_merge *m, struct raw_event *ret);
/*
 * Starts again, for the events from begin to end alone: most of the others are not read. Counts are
 * of what is read. All streams can do so, and their times never go back.
 */
void page_merge_narrow(struct page_merge *m, u64 begin, u64 end);
void page_merge_release(struct page_merge *m);

#endif
