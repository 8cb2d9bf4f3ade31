/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of one ring buffer (tracefs itself or an instance), read in binary from
 * per_cpu/cpuN/trace_pipe_raw and merged by their clock. What is read is consumed.
 *
 *	raw_buffer_open(instance_directory(in), &rb);
 *	while (going) {
 *		poll(raw_buffer_fd(rb), 100 ms)
 *		now = clock of the instance (mono: CLOCK_MONOTONIC)
 *		raw_buffer_drain(rb);
 *		while (raw_buffer_next(rb, now, &e)) use(&e);
 *	}
 *	write 0 to tracing_on
 *	raw_buffer_drain_all(rb);
 *	while (raw_buffer_next(rb, UINT64_MAX, &e)) use(&e);
 *	raw_buffer_stats(rb, &stats);
 *	raw_buffer_close(rb);		before the instance is removed
 *
 * What was read is kept in memory until it was given out, so that the ring in the kernel gets room
 * at once; with a page_reader that has a thread also while its user is busy.
 */
#ifndef PANTRACE_TRACE_RING_RAW_BUFFER_H
#define PANTRACE_TRACE_RING_RAW_BUFFER_H

#include "trace/ring/page_reader.h"

struct raw_buffer;

struct raw_event {
	struct page_event event;
	u32 cpu;
	u64 lost; /* events of this CPU lost just before; 0 = none; PAGE_LOST_UNKNOWN = some */
};

/* Sums of per_cpu/cpuN/stats and of the pages. */
struct raw_buffer_stats {
	u64 read; /* events given out */
	/* overwritten before they were read, or dropped because the buffer was full */
	u64 lost;
	u64 entries; /* still in the kernel's buffer */
	u64 overrun, dropped; /* the parts of lost, from the stats files */
	u64 damaged; /* pages that could not be read to their end */
};

/*
 * 0 or -errno (no diagnostic; the file is DIRECTORY/per_cpu/cpu0/trace_pipe_raw). -EBUSY: somebody
 * else reads it.
 */
int raw_buffer_open(const char *directory, struct raw_buffer **ret);
/*
 * The same with a reader (taken over, also on failure) that may have a thread; bound: see
 * page_reader_begin().
 */
int raw_buffer_open_with(const char *directory, struct page_reader *reader, size_t bound,
			 struct raw_buffer **ret);
void raw_buffer_close(struct raw_buffer *rb);
/* The reader's thread, if it has one, calls fn: page_reader_order(). */
void raw_buffer_order(struct raw_buffer *rb, void (*fn)(u32 argument), u32 argument);
/*
 * Readable when a CPU's buffer is filled to buffer_percent, or was; then drain(), with a thread
 * after heard().
 */
int raw_buffer_fd(const struct raw_buffer *rb);
void raw_buffer_heard(struct raw_buffer *rb);
/*
 * Takes what the kernel has, without waiting; with the clock mono, up to this moment; no more if
 * the bound is reached. 0 or -errno.
 */
int raw_buffer_drain(struct raw_buffer *rb);
/* When nothing more is written: also beyond the bound. */
int raw_buffer_drain_all(struct raw_buffer *rb);
/*
 * Time up to which the last drain() has taken all events: only up to here they can be given out in
 * order.
 */
u64 raw_buffer_complete(const struct raw_buffer *rb);
/* The oldest event with time <= until. Its data is valid until the next call. False: none. */
bool raw_buffer_next(struct raw_buffer *rb, u64 until, struct raw_event *ret);
/*
 * The event of the same CPU that follows the one given out last, if it was drained already: for
 * printers that join two (a function that calls no other). It stays where it is, unless skip()
 * takes it too; the data of both is valid until the next drain.
 */
bool raw_buffer_peek(const struct raw_buffer *rb, struct page_event *ret);
void raw_buffer_skip(struct raw_buffer *rb);
/* Bytes of pages in memory, with events that were not yet given out. */
size_t raw_buffer_pending(const struct raw_buffer *rb);
int raw_buffer_stats(struct raw_buffer *rb, struct raw_buffer_stats *ret);

#endif
