/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel events of a trace.dat on the time line of CTF traces. Its times are of a clock of the
 * kernel; where they lie is known
 *
 *	- from its date (trace-cmd's --date),
 *	- from a CTF trace of the same machine with the same clock: x86-tsc for ours, mono for
 *	LTTng's, - of clocks mono, boot and tai, from this machine as it runs, if it was recorded
 *	here since it started.
 */
#ifndef PANTRACE_CMD_REPORT_KERNEL_H
#define PANTRACE_CMD_REPORT_KERNEL_H

#include "base/options.h"
#include "trace/ctf/print.h"

struct report_kernel;
struct event_table;

struct report_kernel_options {
	struct string_list events; /* globs; none = all */
	bool raw; /* text for JSON */
	/* that it was recorded with, whatever it says; NULL = as it says */
	const char *clock;
	const struct ctf_set *set; /* has its traces already */
};

/* 0 or -errno with the reason in d. */
int report_kernel_open(const char *path, const struct report_kernel_options *options,
		       struct diag *d, struct report_kernel **ret);
/* When the next event was, since the epoch. False: the end. */
bool report_kernel_time(const struct report_kernel *k, s64 *ret_ns);
/*
 * Prints it if there is a printer, and goes on. *ret_name: "sched:sched_switch", valid until it is
 * closed. 0 or -errno of a write.
 */
int report_kernel_next(struct report_kernel *k, struct ctf_printer *printer, const char **ret_name);
/*
 * As far as it was read; damage is told in d. *ret_gaps: set if more were lost that nobody counted.
 */
u64 report_kernel_lost(const struct report_kernel *k, struct diag *d, bool *ret_gaps);
struct event_table *report_kernel_table(const struct report_kernel *k);
void report_kernel_close(struct report_kernel *k);

#endif
