/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run is to be: filled in once, by the option table of `pantrace run` or by a command that
 * runs a script of its own, and read wherever it matters. Zero-initialised it is a plain run.
 */
#ifndef PANTRACE_ENGINE_RUN_CONFIG_H
#define PANTRACE_ENGINE_RUN_CONFIG_H

#include <sys/types.h>

#include "lang/syntax/parse.h"
#include "view/output.h"
#include "view/row.h"

enum test_mode { TEST_MODE_NONE, TEST_MODE_TEST, TEST_MODE_BENCH };

struct engine;

/* A caller that makes its own reports of the script's maps. */
struct engine_reporter {
	void *arg;
	int fd; /* wake() is called when it is readable; -1 = none */
	bool (*wake)(void *arg, struct engine *e); /* false: end the run */
	/* after the last event, instead of printing the maps */
	void (*report)(void *arg, struct engine *e);
};

struct run_config {
	/* ---- the script ---- */
	const char *name; /* in messages: "stdin", a path, a tool's name */
	const char *text; /* NUL-terminated */
	size_t len;
	struct script_input input;
	struct string_list debug_dirs; /* --debuginfo */
	const char *btf; /* NULL = the kernel's */
	const char *probe_filter; /* regular expression; NULL = all */
	const char *traceable; /* file of function names; NULL = the kernel's list */
	const char *no_feature; /* "a,b": the kernel is taken to lack these; NULL = none */

	/* ---- whom, and until when ---- */
	pid_t pid; /* -p; 0 = all */
	pid_t unwind_pid; /* --dwarf-pid, if neither -p nor -c is given; 0 = none */
	/* a tool's -p: only what the script makes of it, and the run ends with it; 0 = none */
	pid_t ends_with;
	const char *command; /* -c */
	char *const *words; /* the same as words already split; NULL = use command */
	u64 duration_ns; /* 0 = until something ends it */

	/* ---- what it may, and what else is done with the script ---- */
	bool unsafe;
	bool keep_privileges; /* also when everything is attached */
	bool is_compatible; /* as `bpftrace`: exit codes and the last details of output */
	bool is_tool; /* of ours: its own header and footer, no "Attached N probes" */
	bool dry_run; /* load, but neither run nor attach anything */
	bool list_only; /* print the names of the probes instead of running */
	enum test_mode test_mode; /* run the test or bench probes instead of attaching the others */
	/* --aot: write a program of the script to this file instead of running it; NULL = run */
	const char *standalone;
	const char *dump_stage; /* ast, types, ir, bpf, all: print and end; NULL = run */

	/* ---- what is printed ---- */
	const char *output; /* file; NULL = standard output */
	enum output_buffering buffering;
	bool is_json;
	int verbose;
	bool quiet, no_warnings, report_helpers;
	bool inlines; /* user stacks with inlined functions */
	const char *announcement; /* of a tool, when all is attached; NULL = none */
	struct row_style *rows; /* of row() and table(); NULL = every column and row */
	const struct engine_reporter *reporter; /* NULL = none */
};

#endif
