/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves pages of a ring buffer out of the kernel into memory, where they wait for who formats and
 * writes them. With a thread of its own, which does nothing else and comes before others in the
 * scheduler, the kernel's buffer has room again however long a line, a full pipe or a busy machine
 * keeps its user.
 *
 *	r = page_reader_new();
 *	page_reader_thread(r, &tid);		optional; what the thread does may have to be left
 *						out of the trace
 *	page_reader_begin(r, &source, bound);	the descriptors; from here on the thread reads
 *	page_reader_pass(r, false);		all that there is now
 *	while ((p = page_reader_take(r, i)))	of descriptor i, the oldest first
 *		... page_reader_give_back(r, p)
 *	page_reader_release(r);
 *
 *	kernel's ring --read(2)--> queues[i] --take()--> user --give_back()--> unused --> thread
 *
 * A queue is a stack that one side pushes to and the other takes whole, by one atomic exchange
 * each: nobody waits for a lock that the other, of another priority, holds. All of this but the
 * thread itself is called by one thread.
 */
#ifndef PANTRACE_TRACE_RING_PAGE_READER_H
#define PANTRACE_TRACE_RING_PAGE_READER_H

#include <sys/types.h>

#include "trace/ring/page.h"

struct raw_page {
	struct raw_page *next;
	size_t len; /* bytes that were read; at most layout.size */
	u8 data[];
};

struct page_reader_source {
	const struct page_layout *layout;
	/*
	 * per_cpu/cpuN/trace_pipe_raw, O_NONBLOCK; they stay the caller's, and open until release()
	 */
	const int *fds;
	u32 count;
	bool is_mono; /* the clock of the pages is CLOCK_MONOTONIC */
};

struct page_reader;

struct page_reader *page_reader_new(void);
/*
 * Starts the thread, all signals blocked; its number in *ret_tid. 0 or -errno: without it, pass()
 * reads.
 */
int page_reader_thread(struct page_reader *r, pid_t *ret_tid);
/*
 * Has the thread, if there is one, call fn, and waits for that: what holds for one thread alone, as
 * its privileges.
 */
void page_reader_order(struct page_reader *r, void (*fn)(u32 argument), u32 argument);
/*
 * bound: bytes of pages in memory, taken ones that were not given back included, at which nothing
 * more is read; it may be exceeded by what the kernel's buffer holds. 0 or -errno.
 */
int page_reader_begin(struct page_reader *r, const struct page_reader_source *source, size_t bound);
/*
 * Reads what the kernel has at this moment. Nothing if the bound is reached, unless all. Waits for
 * no writer and no event. 0, or -errno of any read up to now.
 */
int page_reader_pass(struct page_reader *r, bool all);
/*
 * CLOCK_MONOTONIC up to which all events were read; UINT64_MAX if the pages' clock is another one.
 */
u64 page_reader_complete(const struct page_reader *r);
/* All pages of a descriptor that have come, the oldest first; NULL: none. */
struct raw_page *page_reader_take(struct page_reader *r, u32 index);
void page_reader_give_back(struct page_reader *r, struct raw_page *p);
/* Bytes of pages in memory that were not given back. */
size_t page_reader_pending(const struct page_reader *r);
/*
 * Readable when the thread has read a lot (or, without one, when there is a lot to be read);
 * heard() makes it unreadable.
 */
int page_reader_fd(const struct page_reader *r);
void page_reader_heard(struct page_reader *r);
/* Ends the thread, frees everything. NULL is fine. */
void page_reader_release(struct page_reader *r);

#endif
