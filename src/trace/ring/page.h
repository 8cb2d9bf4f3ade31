/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages ("sub-buffers") of ftrace's ring buffer, as per_cpu/cpuN/trace_pipe_raw gives them and
 * trace.dat keeps them.
 *
 *	offset 0   u64    time of the first event, in the trace clock's units
 *	       8   local_t commit: bits 0-26 bytes of data; bit 31: events were lost before this
 *                 page; bit 30: how many is stored as an unsigned long behind the data
 *	      16   events, each with a 32-bit head: type_len in bits 0-4, time_delta in bits 5-31
 *
 *	type_len 1..28	payload of type_len * 4 bytes
 *		 0	the next u32 is the length of the payload + 4
 *		 29	padding: delta 0 = nothing more on this page, else a discarded event of
 *			(next u32) + 4 bytes
 *		 30	time extend: next u32 << 27 is added to delta; no payload
 *		 31	absolute time: 59 bits (next u32 << 27 | delta); the upper 5 are those of
 *			the time before
 *
 * (kernel/trace/ring_buffer.c, include/linux/ring_buffer.h). Offsets and type numbers are taken
 * from events/header_page and events/header_event. Everything is bounds-checked: a page may come
 * from a damaged file. Little endian only.
 */
#ifndef PANTRACE_TRACE_RING_PAGE_H
#define PANTRACE_TRACE_RING_PAGE_H

#include "base/base.h"

struct page_layout {
	u32 size; /* of a whole sub-buffer, head included */
	u32 commit_offset, commit_size; /* size 4 or 8: unsigned long of that kernel */
	u32 data_offset;
	u8 padding, time_extend, time_stamp, max_type_len; /* numbers of the types */
};

/* Layout of every kernel since 2.6.30 with 4 KiB pages and 64-bit longs. */
#define PAGE_LAYOUT_INIT                       \
	{                                      \
		4096, 8, 8, 16, 29, 30, 31, 28 \
	}

/* From the texts of the two files (event text may be NULL). 0 or -EINVAL. */
int page_layout_parse(const char *header_page, const char *header_event, struct page_layout *ret);

struct page_event {
	u64 time;
	const u8 *data; /* the record: u16 common_type, u8 flags, u8 preempt_count, s32 pid, ... */
	/* bytes that may be read at data; multiple of 4, may be longer than the record */
	u32 size;
};

#define PAGE_LOST_UNKNOWN UINT64_MAX

struct page {
	const u8 *at, *end;
	u64 time;
	u64 lost; /* events lost before the first one of this page; PAGE_LOST_UNKNOWN: some */
	u8 padding, time_extend, time_stamp, max_type_len;
	bool damaged; /* an event's length went beyond the page: the rest was not read */
};

/*
 * data must stay as long as the page is read. 0, or -EINVAL: not a page (too short, more data than
 * it can have).
 */
int page_begin(struct page *p, const struct page_layout *l, const void *data, size_t len);
/* The next event; false at the end. */
bool page_next(struct page *p, struct page_event *ret);
/* Time of the page's first event (its own stamp). */
static inline u64 page_time(const void *data)
{
	u64 t;

	memcpy(&t, data, sizeof(t));
	return t;
}

/* The id of a record (common_type); 0 if it is too short. */
static inline u32 page_event_id(const struct page_event *e)
{
	return e->size >= 2 ? (u32)e->data[0] | (u32)e->data[1] << 8 : 0;
}

/* The thread of a record (common_pid); 0 if it is too short. */
static inline s32 page_event_pid(const struct page_event *e)
{
	s32 pid = 0;

	if (e->size >= 8)
		memcpy(&pid, e->data + 4, sizeof(pid));
	return pid;
}

#endif
