/* SPDX-License-Identifier: GPL-2.0-or-later */
/* funccount by ftrace's function tracer, where a kernel attaches kprobes one by one. */
#ifndef PANTRACE_CMD_TOOLS_COUNT_H
#define PANTRACE_CMD_TOOLS_COUNT_H

#include "cmd/ftrace/session.h"

struct count_request {
	const char *functions; /* names and patterns, separated by commas */
	struct ftrace_options common;
	u64 interval_ns; /* 0 = one report at the end */
	u64 top; /* 0 = all */
	bool timestamp;
};

/*
 * Whether it is better for these functions on this kernel: it has the tracer but no multi-links,
 * and a pattern is among them.
 */
bool tool_count_is_better(const char *functions);
/* Runs it, with what counting needs of the common options; returns the exit code. */
int tool_count(const struct command_spec *spec, struct count_request *r);

#endif
