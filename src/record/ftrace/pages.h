/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two ways to copy a CPU's pages from the kernel's ring to the file; pages.c chooses. */
#ifndef PANTRACE_RECORD_FTRACE_PAGES_H
#define PANTRACE_RECORD_FTRACE_PAGES_H

#include <pthread.h>

#include "record/ftrace/ftrace.h"

struct kernel_pages;

struct cpu_pages {
	struct kernel_pages *all;
	u32 index, cpu;
	int fd, pipe[2]; /* pipe: of splice.c */
	size_t pipe_bytes;
	u64 ring_pages; /* how many the ring has */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t moves; /* held while pages are in flight to the file */
	u8 *pages; /* DAT_CHUNK_PAGES */
	u64 unwritten;
	int error; /* errno of the last write */
};

struct page_mover {
	bool has_pipe;
	/*
	 * While the kernel writes to the ring. Returns 1 if something was moved, 0 if not, or
	 * -errno of a write; then pages_count() counts the events that were read and not written.
	 */
	int (*move)(struct cpu_pages *c);
	/* Moves all there is, partly filled pages too, up to about `most` bytes. */
	void (*move_all)(struct cpu_pages *c, u64 most);
};

struct kernel_pages {
	struct page_layout layout;
	const struct page_mover *mover;
	u32 sandbox;
	bool keep_privileges;
	struct dat_writer *writer;
	int stop; /* eventfd */
	struct cpu_pages *cpus;
	u32 count;
};

extern const struct page_mover pages_by_splice; /* splice.c */
extern const struct page_mover pages_compressed; /* compress.c */

/* Counts the events of a page that cannot be written. */
void pages_count(struct cpu_pages *c, const u8 *page, size_t len);

#endif
