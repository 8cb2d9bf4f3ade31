/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line per event, as the kernel's `trace` file has it (print_trace_fmt() in
 * kernel/trace/trace.c):
 *
 *	            bash-1234    [001] d..2.  1234.567890: sched_switch: prev_comm=bash ...
 *
 * ftrace's own records (function, print, kernel_stack, ...) have forms of their own.
 * function_graph's are printed by trace/ftrace/graph_text.h.
 */
#ifndef PANTRACE_TRACE_FTRACE_TRACE_TEXT_H
#define PANTRACE_TRACE_FTRACE_TRACE_TEXT_H

#include "trace/field_value.h"
#include "trace/ftrace/event_table.h"
#include "trace/ftrace/function_args.h"
#include "trace/ring/raw_buffer.h"
#include "trace/ftrace/tasks.h"

struct trace_text_options {
	bool tgid; /* column of process ids */
	bool no_irq_info; /* without the column of flags */
	bool no_parent; /* function: without "<-caller" */
	bool symbol_offset; /* function: name+0x12/0x80 */
	bool symbol_address; /* function: name <ffff...> */
	bool counter; /* the clock is not in nanoseconds: printed as a plain number */
	/* arguments of system calls without 0x, as kernels before 6.18 print them */
	bool bare_syscalls;
	bool system_names; /* "sched:sched_switch:" instead of "sched_switch:" */
};

struct trace_text {
	struct event_table *events;
	struct task_names *tasks;
	struct print_context context;
	struct function_args args; /* zero, or of a kernel that has BTF */
	struct trace_text_options options;
};

/*
 * Appends the line(s) of an event, newline included. Before it "CPU:1 [LOST 5 EVENTS]" if events
 * were lost.
 */
void trace_text_event(struct trace_text *t, const struct raw_event *e, struct strbuf *out);
/* A field of the event or, unless only a field is meant, comm, pid, tid or cpu. */
struct field_value trace_text_value(const struct trace_text *t, const struct raw_event *e,
				    const char *name, bool only_field);
/* "CPU:1 [LOST 5 EVENTS]" if there are any. */
void trace_text_lost(const struct raw_event *e, struct strbuf *out);
/* The two parts of it: "comm-pid [cpu] flags time: " and the rest with the newline. */
void trace_text_head(struct trace_text *t, const struct raw_event *e, struct strbuf *out);
void trace_text_body(struct trace_text *t, struct event_info *info, const struct raw_event *e,
		     struct strbuf *out);
/* A line in the columns of `trace-cmd report -N`. */
void trace_text_trace_cmd(struct trace_text *t, const struct raw_event *e, struct strbuf *out);
/* The comment lines at the top of `trace` that name the columns. */
void trace_text_columns(const struct trace_text *t, struct strbuf *out);
/* "  1234.567890" */
void trace_text_time(u64 ns, struct strbuf *out);
/* The 5 characters of flags. */
void trace_text_flags(u8 flags, u8 preempt_count, char ret[5]);

#endif
