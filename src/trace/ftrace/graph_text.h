/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_graph's records as the nested text of the kernel (kernel/trace/trace_functions_graph.c):
 *
 *	 0)               |  vfs_read() {
 *	 0)   0.381 us    |    rw_verify_area();
 *	 0) + 12.045 us   |  }
 *
 * An entry that its own return follows directly on the CPU is printed as one line, so the printer
 * looks one event ahead. Other events become comments. A context switch on a CPU is drawn between
 * two lines.
 */
#ifndef PANTRACE_TRACE_FTRACE_GRAPH_TEXT_H
#define PANTRACE_TRACE_FTRACE_GRAPH_TEXT_H

#include "trace/ftrace/trace_text.h"

struct graph_text_options {
	bool no_cpu, no_overhead, no_duration; /* columns */
	bool proc, abstime, flags;
	bool tail; /* the function's name behind every closing brace */
	bool no_irqs;
	bool overrun;
	bool retval, retval_hex;
	bool retaddr;
};

struct graph_text;

/*
 * t must outlive it. buffer: what the events come from, for looking ahead. possible_cpus: the width
 * of the CPU's column.
 */
struct graph_text *graph_text_new(struct trace_text *t, const struct graph_text_options *o,
				  struct raw_buffer *buffer, u32 possible_cpus);
void graph_text_release(struct graph_text *g);
void graph_text_event(struct graph_text *g, const struct raw_event *e, struct strbuf *out);
void graph_text_columns(const struct graph_text *g, struct strbuf *out);

/* One record, taken apart. */
struct graph_record {
	bool is_return;
	s32 pid;
	u64 function, retval, call_time, return_time, return_address;
	s32 depth;
	u32 overrun;
	bool has_retval, has_return_address;
	const u8 *args; /* count unsigned longs, not aligned */
	size_t arg_count;
};
/* False: the event is not one of function_graph's. */
bool graph_record_parse(const struct event_info *info, const struct page_event *e,
			struct graph_record *ret);
/*
 * The -errno that a return value is, as int or as long; 0 = none. What a function of no such type
 * returns may look like one.
 */
s64 graph_text_error(u64 retval);

#endif
