/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace report FILE` where the file is a trace.dat: a recording of kernel events by trace-cmd,
 * or ours.
 */
#ifndef PANTRACE_CMD_REPORT_DAT_H
#define PANTRACE_CMD_REPORT_DAT_H

#include "base/options.h"
#include "trace/ftrace/event_table.h"

struct report_dat_options {
	struct string_list events; /* globs of SYSTEM:EVENT or EVENT; none = all */
	u64 limit; /* 0 = none */
	bool count;
	bool trace_cmd; /* columns as `trace-cmd report` has them */
};

/* Is the file one? */
bool report_dat_is(const char *path);
/* Is this event among them? An unknown one (NULL) only if there are none. */
bool report_dat_matches(const struct string_list *events, const struct event_info *info);
/* Prints it; returns the exit code. */
int report_dat(const char *path, const struct report_dat_options *o);

#endif
