/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of tracepoints as a perf.data has them: the beginning of a trace.dat of version 0.6
 * (trace-cmd.dat.v6(5)), without its kernel symbols.
 *
 *	0x17 0x08 0x44 "tracing" "0.6" endian, bytes of a long, u32 bytes of a page
 *	"header_page" u64 size, text; "header_event" u64 size, text
 *	u32 events of ftrace {u64 size, text}
 *	u32 systems {name, u32 events {u64 size, text}}
 *	u32 size of symbols, u32 size of printk formats, u64 size of names of tasks
 */
#ifndef PANTRACE_TRACE_PERF_FORMATS_H
#define PANTRACE_TRACE_PERF_FORMATS_H

#include "base/strbuf.h"
#include "kernel/kernel.h"

struct perf_tracepoint {
	const char *system, *name;
	const char *shown_system; /* as the file calls it */
};

/* Appends them, of these events, systems together. 0 or -errno: they cannot be read. */
int perf_formats_add(struct kernel *k, const struct perf_tracepoint *events, size_t n,
		     struct strbuf *to);

/* What stands before the headers of pages, and behind the formats: no names of any kind. */
void perf_formats_begin(struct strbuf *to);
void perf_formats_end(struct strbuf *to);
/* What stands before the headers of pages, and behind the formats: no names of any kind. */
void perf_formats_begin(struct strbuf *to);
void perf_formats_end(struct strbuf *to);

#endif
