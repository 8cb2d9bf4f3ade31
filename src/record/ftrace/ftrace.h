/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace record -e, -p TRACER: the kernel's events, recorded to a trace.dat.
 *
 *	source.c	the source: its phases, counts, files
 *	setup.c		its buffer (a tracefs instance of its own), and what that traces
 *	cgroups.c	-G: follows the threads of cgroups
 *	events.c	which events, with which conditions and triggers
 *	pages.c		copies pages from the kernel rings to the file, unparsed; either compressed
 *			(compress.c) or by splice(2) (splice.c)
 *	files.c		the file, or with rotation one after the other
 *	extract.c	writes the contents of a buffer to a file (extract.h)
 *	longest.c	what a latency tracer leaves, which is no pages
 *	state.c		all of a trace.dat but the pages: formats, symbols, names
 */
#ifndef PANTRACE_RECORD_FTRACE_FTRACE_H
#define PANTRACE_RECORD_FTRACE_FTRACE_H

#include "kernel/tracefs/instance.h"
#include "record/record.h"
#include "trace/dat/writer.h"
#include "trace/ring/live.h"

/* ---- events.c ---- */

struct kernel_event {
	char *system, *name;
	const char *shown_system; /* name in the recording: that of a probe lacks its owner */
	const struct record_event
		*asked; /* NULL: only its format is needed, as the target of a trigger */
};

struct kernel_events {
	VECTOR(struct kernel_event) all; /* by system */
};

/* The name of the event's system in the recording. */
const char *kernel_event_system(const struct kernel_event *e);
/* True if the text may name a tracepoint or a probe. */
bool kernel_events_claims(struct kernel *k, const char *text);
/*
 * True if the request records every occurrence of the event, in the threads that it is for: no
 * condition chooses among them, no trigger can stop them, none is overwritten.
 */
bool kernel_events_are_whole(const struct record_request *r, const char *system, const char *event);
/* Finds all events that were asked for and not excluded. Returns 0 or -errno with a diagnostic. */
int kernel_events_find(struct kernel_events *e, struct record_run *run);
/*
 * Its condition as the kernel's filter: the command stays empty if it has none. 0 or -errno with a
 * diagnostic.
 */
int kernel_event_condition(const struct kernel_event *e, struct kernel *k, struct diag *d,
			   struct tracefs_command *ret);
/* Sets conditions and triggers. */
int kernel_events_filter(const struct kernel_events *e, struct instance *in);
int kernel_events_enable(const struct kernel_events *e, struct instance *in);
/* Removes the triggers that would switch tracing on again after its end. */
void kernel_events_keep_off(const struct kernel_events *e, struct instance *in);
void kernel_events_release(struct kernel_events *e);

/* ---- cgroups.c ---- */

struct kernel_cgroups {
	VECTOR(int) directories;
	VECTOR(pid_t) threads; /* in them at the last look, sorted */
	u64 looked_ns;
	bool unread, is_told; /* some could not be read; the warning was given */
};

/* Opens those of -G, perhaps none. 0 or -errno with a diagnostic. */
int kernel_cgroups_open(struct kernel_cgroups *c, const struct record_run *run);
/*
 * At most ten times a second: follows threads that are new in them. what: a bit set of enum
 * instance_follow. 0, or -errno with a diagnostic: no thread at the first call, or the kernel
 * refuses.
 */
int kernel_cgroups_follow(struct kernel_cgroups *c, struct instance *in, unsigned int what);
void kernel_cgroups_release(struct kernel_cgroups *c);

/* ---- setup.c ---- */

#define KERNEL_BUFFER_MOST_KB ((u64)16 << 20) /* of a CPU */

/* Has the kernel a tracer of this name? 0, or -EOPNOTSUPP with a diagnostic. */
int kernel_tracer_check(struct kernel *k, struct diag *d, const char *tracer);

/* A buffer set up as a request says. */
struct kernel_setup {
	struct record_run *run;
	struct instance *instance;
	u64 buffer_kb; /* of each CPU */
	struct kernel_events events;
	struct kernel_cgroups cgroups;
};

/*
 * Sets up everything except events and tasks, with tracing off. Returns 0 or -errno with a
 * diagnostic; call kernel_setup_close() in any case.
 */
int kernel_setup_open(struct kernel_setup *s, struct record_run *run);
/*
 * Sets the tasks, then enables the events; the caller sets tracing_on. Returns 0 or -errno with a
 * diagnostic.
 */
int kernel_setup_enable(struct kernel_setup *s);
/* To be called repeatedly: follows new threads of the cgroups. 0 or -errno with a diagnostic. */
int kernel_setup_round(struct kernel_setup *s);
void kernel_setup_close(struct kernel_setup *s);

/* ---- pages.c ---- */

struct kernel_pages;

struct kernel_pages_options {
	const char *directory; /* of the instance */
	const struct page_layout *layout;
	const u32 *cpus, *online;
	u32 cpu_count, online_count;
	u32 sandbox; /* privileges that the threads keep: enum sandbox_need */
	bool keep_privileges;
	bool is_snapshot; /* read the snapshot buffer */
	bool compress; /* as in dat_writer_options */
};

/* 0 or -errno with a diagnostic. */
int kernel_pages_open(const struct kernel_pages_options *o, struct diag *d,
		      struct kernel_pages **ret);
/* Starts a thread for each online CPU, which moves pages into the file. Returns 0 or -errno. */
int kernel_pages_start(struct kernel_pages *p, struct dat_writer *w);
/* Waits until no pages are in flight, so that they can go on into another file. */
void kernel_pages_hold(struct kernel_pages *p);
void kernel_pages_go_on(struct kernel_pages *p, struct dat_writer *w);
/* Moves the pages of CPUs without a thread. Returns 1 if something was moved. */
int kernel_pages_round(struct kernel_pages *p);
/*
 * After tracing has stopped: moves the rest, including partly filled pages, and ends the threads.
 */
void kernel_pages_stop(struct kernel_pages *p);
/* Instead of start and stop: moves what the buffer holds now, without threads. */
void kernel_pages_take(struct kernel_pages *p, struct dat_writer *w);
/* The number of a CPU's events that could not be written. */
u64 kernel_pages_unwritten(const struct kernel_pages *p, u32 i);
/* The last write error that was not recovered from; 0 = none. */
int kernel_pages_error(const struct kernel_pages *p);
void kernel_pages_close(struct kernel_pages *p);

/* ---- state.c ---- */

/* Reads everything but the names of tasks. *ret_text owns the strings. */
struct kernel_state {
	struct dat_contents contents;
	char *clock, *clocks, *uname, *version;
	char **stats;
	struct strbuf tasks; /* at the beginning */
};

int kernel_state_read(struct kernel_state *s, struct instance *in, const struct kernel_events *e,
		      struct diag *d);
/* The same with the formats of all events. Call kernel_state_release() in any case. */
int kernel_state_read_all(struct kernel_state *s, struct instance *in, struct diag *d);
/* Reads the current names of tasks. */
void kernel_state_tasks(struct kernel_state *s, struct kernel *k);
/* Reads the statistics of each CPU. */
void kernel_state_stats(struct kernel_state *s, const char *directory, const u32 *cpus, u32 count);
void kernel_state_release(struct kernel_state *s);

/* ---- files.c ---- */

struct kernel_files_options {
	struct record_run *run;
	const char *path; /* NAME.dat; with rotation NAME-000001.dat ... */
	struct dat_writer_options writer;
	struct kernel_state *state;
	/* The number of events read from the rings so far. */
	u64 (*kept)(void *arg);
	void *arg;
};

/* Opens one file. Returns 0 or -errno with a diagnostic. */
int kernel_file_open(const struct kernel_files_options *o, const char *path, struct diag *d,
		     struct dat_writer **ret);
struct kernel_files;
/* Opens the first file. Returns 0 or -errno with a diagnostic. */
int kernel_files_open(const struct kernel_files_options *o, struct kernel_files **ret);
struct dat_writer *kernel_files_writer(const struct kernel_files *f);
/* True if the current file is full (--rotate-size, --rotate-time) or the next was asked for. */
bool kernel_files_are_due(const struct kernel_files *f);
/*
 * Switches to the next file. Returns 0, or -errno with a diagnostic: then the current file is kept.
 */
int kernel_files_rotate(struct kernel_files *f, struct kernel_pages *pages);
/* Bytes of pages in all files, including removed ones. */
u64 kernel_files_pages(const struct kernel_files *f);
/* Waits for the packing thread: the state may be changed afterwards. */
void kernel_files_settle(struct kernel_files *f);
/* No more pages: packs the last file. */
void kernel_files_finish(struct kernel_files *f);
/* Prints "N events of the kernel, N bytes, in PATH; ". */
void kernel_files_say(const struct kernel_files *f, u64 kept);
void kernel_files_close(struct kernel_files *f); /* NULL is fine */

/* ---- longest.c ---- */

/*
 * True if the request is for a tracer that keeps only the longest latency, in a buffer that only
 * the kernel prints: there are no pages to be read.
 */
bool kernel_longest_is(const struct record_request *r);
/*
 * Begins, when tracing is on: set before that, these tracers measure, but keep no trace (seen in
 * Linux 6.1). 0 or -errno with a diagnostic.
 */
int kernel_longest_start(struct instance *in, const char *tracer);
/* Writes it to a file, when tracing is off, and says what it was. 0 or -errno with a diagnostic. */
int kernel_longest_write(const struct kernel_files_options *o, struct instance *in);

#endif
