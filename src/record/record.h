/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: several sources of events, side by side in one run, on one clock (CLOCK_MONOTONIC),
 * each into a file of its own in one directory. The command line becomes a request, sources are
 * rows:
 *
 *	begin	checks names, makes files, buffers, events: nothing is recorded yet
 *		the command is forked, and held before its exec
 *	start	what is to be recorded is on when it returns
 *		privileges are dropped, the command is released
 *	round	again and again: writes what there is, when poll_fd is readable or idle_ms are over
 *	end	writes the rest, takes everything back, reports
 *
 * A new source is a file with such a row, and a line in cmd/record/record.c.
 */
#ifndef PANTRACE_RECORD_RECORD_H
#define PANTRACE_RECORD_RECORD_H

#include "base/diag.h"
#include "base/options.h"
#include "kernel/kernel.h"
#include "kernel/sandbox/sandbox.h"
#include "record/samples/request.h"

struct record_source;

/* One -e with what belongs to it. */
struct record_event {
	/* as given: "sched:sched_switch", "sched:*", "sched:sched_switch /args.prev_prio < 120/" */
	const char *text;
	const char *filter; /* -f behind it; NULL = none */
	VECTOR(const char *) triggers; /* -R behind it */
	const struct record_source *source; /* that claimed it */
};

/* What was asked. Strings are those of the command line. */
struct record_request {
	VECTOR(struct record_event) events;
	struct string_list excluded; /* -x */
	struct pid_list pids; /* none = all */
	bool all; /* the whole machine, even if there is a command */
	bool has_command;
	const char *output; /* -o; NULL = by the date */
	const char *to; /* another machine's address; NULL = none */
	u64 duration_ns, max_bytes; /* 0 = without end */
	/* a flight recorder: the newest is kept, and written at a signal or the end */
	bool overwrite;
	bool quiet, verbose, keep_privileges;
	/* ---- of the kernel's events ---- */
	const char *tracer; /* NULL = none */
	struct string_list functions, not_functions, graph_functions, trace_options;
	const char *buffer; /* per CPU; NULL = by the machine */
	const char *compress; /* NULL = the source's default */
	bool stack; /* the kernel's after each event */
	bool version_6; /* of trace.dat */
	struct sample_request samples;
};

/* What a source has up to now. */
struct record_progress {
	u64 events, lost, bytes;
};

struct record_run {
	const struct record_request *request;
	struct diag *diag;
	struct kernel *kernel;
	const char *directory; /* where everything goes; NULL: into one file, or elsewhere */
	pid_t command; /* from start() on; 0 = none */
	bool snapshot, rotate; /* requested by signals; reset by the code that does it */
	u64 lost; /* told at the end */
	/*
	 * processes whose rings were damaged or could not be made: their events are lost uncounted
	 */
	u32 damaged;
	bool failed; /* reported, but the run went on */
	bool end; /* a source asks to end, as Ctrl-C does */
};

struct record_source {
	const char *name;
	/* Its file in the directory, and how -o ends if it names this file alone; NULL = none. */
	const char *file, *suffix;
	u32 needs; /* enum sandbox_need */
	int idle_ms; /* round() is called at least this often */
	/* Is this -e an event of its own? Said without a diagnostic. NULL: it has none. */
	bool (*claims)(struct kernel *k, const struct record_request *r, const char *event);
	/* Besides events that it claimed: is there anything for it to do? */
	bool (*wanted)(const struct record_request *r);
	/* Checks the request. OPTIONS_GO_ON or an exit code (said). */
	int (*check)(const struct command_spec *spec, const struct record_request *r);
	/* 0 or -errno with the reason in the diag; *ret is its own. */
	int (*begin)(struct record_run *run, void **ret);
	/* The same; end() is called in any case. NULL: begin() has done it. */
	int (*start)(struct record_run *run, void *state);
	/* Returns 1 if something was written, else 0. */
	int (*round)(struct record_run *run, void *state);
	int (*poll_fd)(void *state); /* to wait for; -1 = none */
	void (*progress)(void *state, struct record_progress *ret); /* NULL: unknown */
	/* Writes the rest, reports to standard error, removes what it made. 0 or -errno. */
	int (*end)(struct record_run *run, void *state);
};

extern const struct record_source record_kernel; /* record/ftrace/source.c */

/* Makes the directory where it is not there. 0 or -errno with a diagnostic. */
int record_directory(const struct record_run *run);
/* The path of the source's file, malloc'ed. */
char *record_path(const struct record_run *run, const struct record_source *source);
/* Does -o name the source's file alone? */
bool record_is_file(const struct record_request *r, const struct record_source *source);
/*
 * Runs until a signal, the end of the time, of the command, or of the processes that were named.
 * sources: those that have something to do. *ret_code: how the command ended. 0 or -errno with the
 * reason in the diag.
 */
int record_all(struct record_run *run, const struct record_source *const *sources, size_t count,
	       char *const *command, int *ret_code);

#endif
