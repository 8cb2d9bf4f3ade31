/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_NAMES_H
#define PANTRACE_CMD_REPORT_NAMES_H

#include "cmd/report/kernel.h"
#include "trace/ftrace/event_table.h"

/* Where names may stand: traces, and recordings of the kernel. */
struct report_names {
	const struct ctf_set *set; /* NULL = no traces */
	struct event_table *const *kernels;
	size_t nr_kernels;
};

/*
 * Names that were asked for, of events (globs) and of fields in conditions, which nothing of these
 * declares: a warning for each in d, with the nearest name. To be called when all is read.
 */
void report_names_check(const struct report_names *in, const struct report_selection *selection,
			struct diag *d);
/*
 * Calls fn("shop:order") for each event that a recording declares: a trace.dat, or a directory with
 * metadata of CTF traces. Reads no event, and of a directory only so much that nobody waits for it:
 * the shells ask while a word is written. Silent.
 */
void report_names_each(const char *path, int (*fn)(void *arg, const char *name), void *arg);

#endif
