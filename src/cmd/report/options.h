/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be asked of `pantrace report`, and what is made of it. */
#ifndef PANTRACE_CMD_REPORT_OPTIONS_H
#define PANTRACE_CMD_REPORT_OPTIONS_H

#include "cmd/report/analysis.h"
#include "cmd/report/selection.h"

struct arguments {
	struct selection_arguments selection;
	const char *format, *kernel_clock;
	bool json, count, live, seconds, no_symbols;
	u64 hold_ms;
	const char *top, *sum, *call_graph, *latency;
	double percent_limit;
	bool children, compare, per_task, no_pager;
	bool on_terminal; /* what is printed is read there */
	/* by REPORT_ANALYSES */
#define FLAG(name, help) bool name;
	REPORT_ANALYSES(FLAG)
#undef FLAG
	struct string_list paths; /* of --files: where to look for objects */
};

extern const struct command_spec report_spec;

/* What was asked for, of one time line. paths: ends with NULL. */
struct asked {
	const struct arguments *arguments;
	const struct report_analysis *row;
	struct analysis_request request;
	const char *style;
	enum ctf_format format;
};

/* 0, or the code of a usage error, which is told. */
int report_ask(const struct arguments *a, char **paths, struct asked *ret);
/* Before they are parsed: words behind options that need none. New words are in the arena. */
void report_join_words(struct arena *arena, int *argc, char **argv);

#endif
