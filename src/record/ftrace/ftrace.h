/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace record -e, -p TRACER: the kernel's events into a trace.dat.
 *
 *	source.c	the source: its buffer (a tracefs instance of its own), its phases
 *	events.c	which events, with which conditions and triggers
 *	pages.c		pages from the kernel's rings to the file, unparsed
 *	state.c		what trace.dat says besides pages: formats, symbols, names
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
	const struct record_event
		*asked; /* NULL: only its format is needed, of a trigger's target */
};

struct kernel_events {
	VECTOR(struct kernel_event) all; /* by system */
};

/* A name that may be one of a tracepoint. */
bool kernel_events_claims(struct kernel *k, const char *text);
/* All that were asked for and not excluded. 0 or -errno with a diagnostic. */
int kernel_events_find(struct kernel_events *e, const struct record_run *run);
/* Sets conditions and triggers. */
int kernel_events_filter(const struct kernel_events *e, struct instance *in);
int kernel_events_enable(const struct kernel_events *e, struct instance *in);
void kernel_events_release(struct kernel_events *e);

/* ---- pages.c ---- */

struct kernel_pages;

struct kernel_pages_options {
	const char *directory; /* of the instance */
	const struct page_layout *layout;
	const u32 *cpus, *online;
	u32 cpu_count, online_count;
	u32 sandbox; /* what threads keep: enum sandbox_need */
	bool keep_privileges;
};

/* 0 or -errno with a diagnostic. */
int kernel_pages_open(const struct kernel_pages_options *o, struct diag *d,
		      struct kernel_pages **ret);
/* A thread for each CPU that is there moves pages into the file. 0 or -errno. */
int kernel_pages_start(struct kernel_pages *p, struct dat_writer *w);
/* Of CPUs without a thread. 1 if something was moved. */
int kernel_pages_round(struct kernel_pages *p);
/* Tracing was stopped: moves the rest, partly filled pages too, and ends the threads. */
void kernel_pages_stop(struct kernel_pages *p);
/* Without threads: what the kernel has at this moment. */
void kernel_pages_take(struct kernel_pages *p, struct dat_writer *w);
/* Events of a CPU that could not be written. */
u64 kernel_pages_unwritten(const struct kernel_pages *p, u32 i);
/* The last error of a write that was not overcome; 0 = none. */
int kernel_pages_error(const struct kernel_pages *p);
void kernel_pages_close(struct kernel_pages *p);

/* ---- state.c ---- */

/* All but the names of tasks; strings that it points to live in *ret_text. */
struct kernel_state {
	struct dat_contents contents;
	char *clocks, *uname, *version;
	char **stats;
	struct strbuf tasks; /* at the beginning */
};

int kernel_state_read(struct kernel_state *s, struct instance *in, const struct kernel_events *e,
		      struct diag *d);
/* Names that tasks have now. */
void kernel_state_tasks(struct kernel_state *s, struct kernel *k);
/* The statistics of each CPU. */
void kernel_state_stats(struct kernel_state *s, const char *directory, const u32 *cpus, u32 count);
void kernel_state_release(struct kernel_state *s);

#endif
