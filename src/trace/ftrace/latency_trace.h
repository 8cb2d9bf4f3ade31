/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's latency tracers leave: they keep the longest latency, and what led to it, in a
 * second buffer that only the kernel prints, in the file "trace" (Documentation/trace/ftrace.rst,
 * kernel/trace/trace.c: print_trace_header()). trace-cmd and we keep that text in a trace.dat.
 */
#ifndef PANTRACE_TRACE_FTRACE_LATENCY_TRACE_H
#define PANTRACE_TRACE_FTRACE_LATENCY_TRACE_H

#include "base/arena.h"

/* What such a tracer measures: "interrupts were off"; NULL: the name is of none. */
const char *latency_tracer(const char *name);

struct latency_trace {
	const char *tracer, *kernel; /* "irqsoff", "6.1.0" */
	u64 latency_us;
	u64 entries, written; /* of the trace: those that are there, and that there were */
	u32 cpu;
	const char *comm;
	s32 pid;
	u32 uid;
	s64 nice, policy, rt_priority;
	const char *begin, *end; /* functions; NULL: it does not say */
	const char *lines; /* behind the head, in the text; NULL = no latency was found */
};

/*
 * text: with a NUL behind. False: it is not what such a tracer leaves. Strings are the arena's.
 */
bool latency_trace_parse(struct arena *a, const char *text, struct latency_trace *ret);

#endif
