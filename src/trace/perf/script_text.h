/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of `perf script` with its default fields (tools/perf/builtin-script.c of Linux 6.1):
 *
 *	            perf  1027 [000] 36586.371974:    raw_syscalls:sys_enter: NR 16 (d, 2400, ...)
 *	sh   926 36585.188777:     250000 cpu-clock:
 *		ffffffff82203249 _raw_spin_unlock_irqrestore+0x19 ([kernel.kallsyms])
 *
 * A frame's variables, where they are asked for, stand below it: a tab, blanks, "name = value".
 */
#ifndef PANTRACE_TRACE_PERF_SCRIPT_TEXT_H
#define PANTRACE_TRACE_PERF_SCRIPT_TEXT_H

#include "base/json.h"
#include "trace/ftrace/event_table.h"
#include "trace/perf/machine.h"
#include "trace/recording.h"

struct perf_script {
	/* the event */
	struct perf_sample sample;
	const struct perf_event_attr *attr;
	u32 kind;
	u16 misc;
	struct event_info *info; /* of a tracepoint; NULL = none, or unknown */
	/* of all of them */
	size_t name_width;
	bool has_chains, tracepoints_have_chains;
	struct recorded_values values; /* of variables, which stand below their frames */
	struct strbuf text;
	struct recorded_stack stack; /* for lines */
	struct arena locals; /* of the event's stack */
};

/* What all events say of the columns. Again when there are more. */
void perf_script_begin(struct perf_script *s, const struct perf_data *data);
void perf_script_line(struct perf_script *s, struct perf_machine *m, const char *name,
		      const struct print_context *context, struct strbuf *out);
/* What stands behind the name, on one line. */
void perf_script_body(struct perf_script *s, struct perf_machine *m,
		      const struct print_context *context, struct strbuf *out);
/* The stack below a line that has none of its own, for its variables: each line after a newline. */
void perf_script_stack_text(struct perf_script *s, struct perf_machine *m, struct strbuf *out);
/*
 * "frames": [...], innermost first; nothing if it has none. If variables are asked for, "locals":
 * those of each frame, or null.
 */
void perf_script_frames_json(struct perf_script *s, struct perf_machine *m, struct json *j);
/* The call chain, else the place that was sampled; see recording_stack(). */
bool perf_script_stack(struct perf_script *s, struct perf_machine *m, struct recorded_stack *ret);
void perf_script_release(struct perf_script *s);

#endif
