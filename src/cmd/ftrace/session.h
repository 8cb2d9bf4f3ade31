/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the ftrace-based commands (kprobe, uprobe, tpoint, functrace, funcgraph ...) share: their
 * common options, a ring buffer of their own, the loop that reads and prints, what is said at the
 * end.
 *
 *	struct ftrace_session s;
 *	rc = ftrace_session_open(&s, &spec, &values.common, NULL);	// or "function"
 *	if (!rc) {
 *		... probes in s.events_set, filters and events by instance_...(s.instance) ...
 *		ftrace_session_expect(&s, "sched", "sched_switch", NULL);
 *		rc = ftrace_session_run(&s);
 *	}
 *	return ftrace_session_close(&s, rc);
 *
 * Live: what happened is printed within a tenth of a second. With -d: it stays in the kernel's
 * buffer until that is half full, and is printed when the time is over. In both cases a thread
 * moves pages into memory (trace/ring/page_reader.h), so that the kernel's buffer has room while
 * this one formats and writes; that memory is bounded.
 */
#ifndef PANTRACE_CMD_FTRACE_SESSION_H
#define PANTRACE_CMD_FTRACE_SESSION_H

#include <sys/types.h>

#include "base/json.h"
#include "base/options.h"
#include "binary/process/symbolize.h"
#include "engine/child.h"
#include "engine/run_signals.h"
#include "engine/watch.h"
#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/instance.h"
#include "kernel/sandbox/sandbox.h"
#include "trace/ftrace/trace_text.h"
#include "view/output.h"

/* Values of the common options; part of the command's own struct. */
struct ftrace_options {
	u64 duration_ns; /* 0 = until Ctrl-C */
	pid_t pid, thread; /* 0 = all */
	u64 buffer_kb; /* 0 = by the machine */
	const char *output;
	char *const *
		/* behind `--`: only it and what it starts is traced, until it ends; NULL = none */
		command;
	bool header, stack, json, quiet, keep_privileges;
	/*
	 * Calls are only counted: names are not needed, and the counting code leaves out this
	 * process itself, as telling the kernel to do so takes four more RCU grace periods.
	 * any_clock: times are not needed either.
	 */
	bool only_counts, any_clock;
};

/* Rows of the option table; T: the command's struct, m: its member. */
/* clang-format off */
#define FTRACE_OPTION_ROWS(T, m) \
	{'d', "duration", "SECONDS", \
	 "trace this long, then print: cheaper, buffered in the kernel", OPTION_SECONDS, \
	 offsetof(T, m.duration_ns)}, \
	{'p', "pid", "PID", "only this process: its threads, and those it starts", OPTION_PID, \
	 offsetof(T, m.pid)}, \
	{'L', "thread", "TID", "only this thread", OPTION_PID, offsetof(T, m.thread)}, \
	{'H', "header", NULL, "print the columns' names first", OPTION_FLAG, \
	 offsetof(T, m.header)}, \
	{'b', "buffer", "KB", "size of the kernel's buffer per CPU", OPTION_POSITIVE, \
	 offsetof(T, m.buffer_kb)}, \
	{'o', "output", "FILE", "write to a file", OPTION_STRING, offsetof(T, m.output)}, \
	{'j', "json", NULL, "one JSON object per event", OPTION_FLAG, offsetof(T, m.json)}, \
	{'q', "quiet", NULL, "no messages but errors", OPTION_FLAG, offsetof(T, m.quiet)}, \
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG, \
	 offsetof(T, m.keep_privileges)}
/* clang-format on */

/* Columns of a line, for the commands' .fields. */
extern const struct option_field ftrace_event_fields[];

struct ftrace_session {
	const struct command_spec *spec;
	const struct ftrace_options *options;
	struct diag diag;
	struct kernel *kernel;
	struct instance *instance;
	struct dynamic_events *events; /* the probes of this run; removed at the end */
	struct trace_text text;
	struct output out;
	struct page_reader *reader; /* until the buffer has it */
	pid_t reader_thread; /* 0 = none */
	/* while it runs: for printers that need the events that follow */
	struct raw_buffer *buffer;
	struct symbolizer *symbolizer; /* made on first use */
	pid_t pid; /* of -p, or of the command; 0 = all */
	/* How an event is printed; NULL = as the kernel does (or as JSON). */
	void (*print)(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out);
	/*
	 * Called after each read of the buffer, when everything before now_ns was printed; NULL =
	 * not called.
	 */
	void (*tick)(struct ftrace_session *s, u64 now_ns);
	void *arg; /* of print and tick */
	u64 printed;
	struct ftrace_names *names;
	struct watch *watch; /* of mappings; NULL = none */
	bool user_stacks;
	int process; /* of -p or -L, readable when it has ended; -1 = none */
	struct child child;
	bool has_child, was_asked; /* was_asked: a signal or -d ended it, not the command */
	int signals; /* signalfd of what ends the run; -1 = not yet */
	struct run_signals run_signals;
};

/*
 * Checks the options' values, opens the buffer (for the tracer if not NULL), follows -p and -L
 * (tracer: functions, too). Returns 0 or the exit code; call ftrace_session_close() in any case.
 */
int ftrace_session_open(struct ftrace_session *s, const struct command_spec *spec,
			const struct ftrace_options *o, const char *tracer);
/*
 * Announces an event that was enabled in the instance: its format will be needed. shown: another
 * name for it, or NULL.
 */
void ftrace_session_expect(struct ftrace_session *s, const char *system, const char *event,
			   const char *shown);
/* Prints the text, and how to end the run, if stderr is a terminal; nothing with -q. */
void ftrace_session_say(struct ftrace_session *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * cmd/ftrace/loop.c: reads and prints until the duration is over, Ctrl-C, or the output is
 * closed. Returns the exit code.
 */
int ftrace_session_run(struct ftrace_session *s);
/*
 * Undoes everything and prints the diagnostics; rc: EXIT_OK, or the code with which the command
 * failed. Returns the exit code.
 */
int ftrace_session_close(struct ftrace_session *s, int rc);
/* Records the program's stack after each event, with names. 0 or -errno with a diagnostic. */
int ftrace_session_user_stacks(struct ftrace_session *s);
/* Names of user addresses in stacks. */
struct symbolizer *ftrace_session_symbols(struct ftrace_session *s);

/* ---- cmd/ftrace/names.c: for the session's own use ---- */
void ftrace_names_open(struct ftrace_session *s);
void ftrace_names_close(struct ftrace_session *s);
/*
 * Reads what was forked, executed and renamed up to now. Called before the events up to now are
 * printed.
 */
void ftrace_names_read(struct ftrace_session *s);
/* Applies the names as of the event's time. Called before an event is printed. */
void ftrace_names_at(struct ftrace_session *s, const struct raw_event *e);
/* ---- cmd/ftrace/json.c ---- */
/* Begins an object: the time, the CPU, the thread. */
void ftrace_json_begin(struct ftrace_session *s, const struct raw_event *e, u64 ns, s32 pid,
		       struct json *j);
/* One object and a newline. */
void ftrace_json_event(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out);
/* ---- cmd/ftrace/stack.c ---- */
/*
 * Prints a kernel record of a user stack: a frame a line, with names. False if the event is no such
 * record.
 */
bool ftrace_user_stack(struct ftrace_session *s, const struct event_info *info,
		       const struct raw_event *e, struct strbuf *out);

#endif
