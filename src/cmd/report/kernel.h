/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel events of a trace.dat, a recording of trace-cmd or of ours: alone, in columns, or on the
 * time line of CTF traces. Where its times lie on that is known
 *
 *	- from its date (trace-cmd's --date),
 *	- from a CTF trace of the same machine with the same clock: x86-tsc for ours, mono for
 *	LTTng's,
 *	- of clocks mono, boot and tai, from this machine as it runs, if it was recorded here since
 *	it started.
 */
#ifndef PANTRACE_CMD_REPORT_KERNEL_H
#define PANTRACE_CMD_REPORT_KERNEL_H

#include "base/options.h"
#include "trace/ctf/print.h"

struct report_kernel;
struct event_table;
struct event_info;
struct expr;

enum report_style {
	REPORT_TIME_LINE,
	REPORT_COLUMNS, /* the kernel's own */
	REPORT_TRACE_CMD, /* those of `trace-cmd report` */
};

/* Which events are asked for. */
struct report_selection {
	struct string_list events; /* globs of SYSTEM:EVENT or EVENT; none = all */
	const struct expr *const *where; /* conditions (lang/predicate/recorded.h) */
	size_t nr_where;
};

struct report_kernel_options {
	enum report_style style;
	const struct report_selection *selection;
	bool raw; /* text for JSON */
	/* that it was recorded with, whatever it says; NULL = as it says */
	const char *clock;
	const struct ctf_set *set; /* has its traces already */
};

/* Is the file a trace.dat? */
bool report_kernel_is(const char *path);
/* 0 or -errno with the reason in d. */
int report_kernel_open(const char *path, const struct report_kernel_options *options,
		       struct diag *d, struct report_kernel **ret);
/* When the next event was, on the time line. False: the end. */
bool report_kernel_time(const struct report_kernel *k, s64 *ret_ns);
/* Prints it, or counts it if there is no printer, and goes on. 0 or -errno of a write. */
int report_kernel_next(struct report_kernel *k, struct ctf_printer *printer);
/* Goes on without. */
void report_kernel_skip(struct report_kernel *k);
/* What was counted: fn("sched:sched_switch", 5). The names stay until it is closed. */
void report_kernel_counts(struct report_kernel *k,
			  void (*fn)(void *arg, const char *name, u64 count), void *arg);
/*
 * As far as it was read; damage is told in d. *ret_gaps: set if more were lost that nobody counted.
 */
u64 report_kernel_lost(const struct report_kernel *k, struct diag *d, bool *ret_gaps);
struct event_table *report_kernel_table(const struct report_kernel *k);
void report_kernel_close(struct report_kernel *k);

#endif
