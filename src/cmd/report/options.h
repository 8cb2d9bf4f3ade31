/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `pantrace report` and what follows from them. */
#ifndef PANTRACE_CMD_REPORT_OPTIONS_H
#define PANTRACE_CMD_REPORT_OPTIONS_H

#include "cmd/live.h"
#include "cmd/report/analysis.h"
#include "cmd/report/opening.h"
#include "cmd/report/selection.h"

struct arguments {
	struct selection_arguments selection;
	struct opening_arguments opening;
	struct live_arguments recording; /* -d, -p, -a */
	const char *format;
	bool json, count, live, seconds;
	u64 hold_ms, every_ns;
	const char *top, *sum, *call_graph, *latency, *calls, *annotate;
	double percent_limit;
	bool children, compare, per_task, no_pager, tui, locals;
	bool on_terminal; /* output is piped through it */
	/* indexed as REPORT_ANALYSES */
#define FLAG(name, help) bool name;
	REPORT_ANALYSES(FLAG)
#undef FLAG
};

extern const struct command_spec report_spec;

/* The request for one time line. paths ends with NULL. */
struct asked {
	const struct arguments *arguments;
	const struct report_analysis *row;
	struct analysis_request request;
	const char *style;
	enum ctf_format format;
};

/* Returns 0, or the exit code of a usage error that was printed. */
int report_ask(const struct arguments *a, char **paths, struct asked *ret);
/*
 * Called before parsing: joins words to options that work with and without an argument. New words
 * are allocated in the arena.
 */
void report_join_words(struct arena *arena, int *argc, char **argv);

#endif
