/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as records of tracepoints, for files that have such (trace.dat, perf.data): as the kernel
 * wrote them, or, of events that no kernel laid out, made of their values. Each has a format, whose
 * text stands in the file, and an id in that file: recordings of several machines have different
 * ones for the same event.
 */
#ifndef PANTRACE_TRACE_WRITERS_KERNEL_RECORDS_H
#define PANTRACE_TRACE_WRITERS_KERNEL_RECORDS_H

#include "trace/dat/made_event.h"
#include "trace/dat/writer.h"
#include "trace/ring/page.h"
#include "trace/writers/writer.h"

#define KERNEL_IDS	 65536
#define KERNEL_PAGE_HEAD 16 /* bytes before a page's events */

struct kernel_format {
	char *system, *name;
	struct strbuf text;
	u32 id; /* in the file; 0: there are too many */
};

struct kernel_records {
	struct hashmap formats; /* "SYSTEM NUL TEXT", or a shape: struct kernel_format */
	struct hashmap kinds; /* of events that have a record: struct kernel_format; NULL: none */
	bool id_taken[KERNEL_IDS];
	u32 next_id; /* below it all are taken, or are ftrace's own */
	struct made_event made;
	struct strbuf record; /* with an id of the file */
};

void kernel_records_init(struct kernel_records *k);
void kernel_records_release(struct kernel_records *k);
/*
 * The record of the event r stands at, with the file's id, valid until the next call; TID: whose it
 * is, where it has none. NULL: it is left out, which w counts.
 */
const struct kernel_format *kernel_record(struct kernel_records *k, struct trace_writer *w,
					  struct recording *r, s64 tid, struct page_event *ret);
/* The format of this text, of one of ftrace's own events. */
const struct kernel_format *kernel_own_format(struct kernel_records *k, const char *text, u32 id);
/* The event's data with an id of the file. */
void kernel_record_number(struct kernel_records *k, struct page_event *e, u32 id);
/* The parts of all that were used: headers of pages, formats. page_size: of the ring's pages. */
void kernel_records_put(const struct kernel_records *k, u32 page_size, struct dat_contents *c);

#endif
