/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: several sources of events in one run, on one clock (CLOCK_MONOTONIC), each writing
 * its own file in one directory. The command line becomes a request; a source is a row:
 *
 *	begin	checks names, makes files, buffers, events; records nothing yet
 *		(the command is forked, and held before its exec)
 *	start	returns when recording is on
 *		(privileges are dropped, the command is released)
 *	round	called when poll_fd is readable or idle_ms have passed: writes what there is
 *	end	writes the rest, undoes what begin() set up, reports
 *
 * A new source is a file with such a row, and a line in cmd/record/record.c.
 */
#ifndef PANTRACE_RECORD_RECORD_H
#define PANTRACE_RECORD_RECORD_H

#include "base/diag.h"
#include "base/options.h"
#include "base/recording_file.h"
#include "kernel/kernel.h"
#include "kernel/sandbox/sandbox.h"
#include "record/samples/request.h"

struct record_source;
struct instance_lasting;

/* One -e with its options. */
struct record_event {
	/* as given: "sched:sched_switch", "sched:*", "sched:sched_switch /args.prev_prio < 120/" */
	const char *text;
	const char *filter; /* its -f; NULL = none */
	VECTOR(const char *) triggers; /* its -R */
	const struct record_source *source; /* that claimed it */
};

/* A machine that is recorded, too, by its agent. */
struct record_guest {
	const char *where; /* trace/agent/reach.h */
	char **words; /* of the `pantrace record` there */
	u32 count;
};

/* The request. Strings point into the command line. */
struct record_request {
	VECTOR(struct record_event) events;
	struct string_list excluded; /* -x */
	struct pid_list pids; /* none = all */
	bool all; /* the whole machine, even if there is a command */
	bool has_command;
	const char *output; /* -o; NULL = a name with the date */
	const char *to; /* address of another machine; NULL = none */
	const int *file; /* an open file to use instead of a path (samples only); NULL = none */
	VECTOR(struct record_guest) guests;
	bool only_guests; /* nothing is recorded here */
	struct recording_carrier *carrier; /* that all files go by; NULL: they are written here */
	bool ends_with_reader; /* end when the reader of standard output has left */
	u64 duration_ns, max_bytes; /* 0 = no limit */
	u64 rotate_bytes, rotate_ns, keep; /* 0 = not given */
	/* flight recorder: keeps the newest events; writes them at a signal or at the end */
	bool overwrite;
	bool freezes; /* a trigger stops it: the events are written, then it goes on */
	bool no_state; /* do not record the state before the first event */
	bool quiet, verbose, keep_privileges;
	/* ---- kernel events ---- */
	const char *tracer; /* NULL = none */
	struct string_list functions, not_functions, graph_functions, trace_options;
	const char *buffer; /* per CPU; NULL = chosen by the size of the machine */
	const char *compress; /* NULL = the source's default */
	bool stack; /* record the kernel stack of each event */
	bool version_6; /* of trace.dat */
	bool top; /* use the kernel's top buffer */
	const struct instance_lasting
		*lasting; /* use a buffer that stays; NULL = only for this run */
	struct sample_request samples;
};

/* A source's progress. */
struct record_progress {
	u64 events, lost, bytes;
};

struct record_run {
	const struct record_request *request;
	struct diag *diag;
	struct kernel *kernel;
	const char *directory; /* directory of the recording; NULL = a single file, or elsewhere */
	pid_t command; /* set from start() on; 0 = none */
	struct dynamic_events *probes; /* made for this run (record/probes.h); NULL = none */
	bool snapshot, rotate; /* requested by a signal or an earlier source; valid for one round */
	u64 lost; /* reported at the end */
	u32 damaged; /* processes with damaged or no rings: their losses cannot be counted */
	bool failed; /* reported, but the run went on */
	bool end; /* set by a source: ends the run, as Ctrl-C does */
};

struct record_source {
	const char *name;
	/*
	 * Name of its file in the directory, and the suffix of -o that means this file alone; NULL
	 * = none.
	 */
	const char *file, *suffix;
	u32 needs; /* enum sandbox_need */
	bool wants_state; /* its events need the state before them: state_dump.h */
	int idle_ms; /* round() is called at least this often */
	/* True if this -e belongs to the source. Adds no diagnostic. NULL: no -e does. */
	bool (*claims)(struct kernel *k, const struct record_request *r, const char *event);
	/* True if there is something to do besides claimed events. */
	bool (*wanted)(const struct record_request *r);
	/* Checks the request. Returns OPTIONS_GO_ON or an exit code after printing why. */
	int (*check)(const struct command_spec *spec, const struct record_request *r);
	/* Returns 0 with its state in *ret, or -errno with a diagnostic. */
	int (*begin)(struct record_run *run, void **ret);
	/* The same; end() is called in any case. NULL: begin() did it. */
	int (*start)(struct record_run *run, void *state);
	/* Returns 1 if something was written, else 0. */
	int (*round)(struct record_run *run, void *state);
	int (*poll_fd)(void *state); /* descriptor to wait for; -1 = none */
	void (*progress)(void *state, struct record_progress *ret); /* NULL: unknown */
	/*
	 * Writes the rest, prints the summary to standard error, removes what begin() made. Returns
	 * 0 or -errno.
	 */
	int (*end)(struct record_run *run, void *state);
};

extern const struct record_source record_kernel; /* record/ftrace/source.c */
extern const struct record_source record_guests; /* record/guests/guests.c */

/* Makes the directory if it does not exist. Returns 0 or -errno with a diagnostic. */
int record_directory(const struct record_run *run);
/* The path of the source's file, malloc'ed; with a carrier its name. */
char *record_path(const struct record_run *run, const struct record_source *source);
/*
 * -b in KiB, with an optional unit; 0 = not given. Returns -EINVAL if it is not a size or larger
 * than `most`.
 */
#define RECORD_BUFFER_TAKES "-b takes the KB of each CPU's buffer, or a size, as 64M, not '%s'"
int record_buffer_kb(const struct record_request *r, u64 most, u64 *ret);
/* True if -o names the file of this source alone. */
bool record_is_file(const struct record_request *r, const struct record_source *source);
/*
 * Runs until a signal, or the end of the duration, the command or all named processes. sources:
 * those with something to do. *ret_code: how the command ended. Returns 0 or -errno with a
 * diagnostic.
 */
int record_all(struct record_run *run, const struct record_source *const *sources, size_t count,
	       char *const *command, int *ret_code);
/* How many signals have asked this process to end its recording. */
u32 record_end_asked(void);

#endif
