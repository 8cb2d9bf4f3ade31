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
	/* wake() is called when it is readable, and at SIGWINCH; -1 = none */
	int fd;
	/*
	 * False: end the run. Iterators of the script are not run by the engine, but whenever
	 * wake() calls engine_walk().
	 */
	bool (*wake)(void *arg, struct engine *e);
	/* after the last event, instead of printing the maps */
	void (*report)(void *arg, struct engine *e);
};

/* Somebody else who has something to do while the engine waits for events. */
struct engine_guest {
	void *arg;
	int fd; /* wake() is called when it is readable */
	void (*wake)(void *arg, struct engine *e);
	void (*end)(void *arg, struct engine *e); /* after the last thing was printed */
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

	/* --from: recordings that it runs over; none = it is live */
	struct string_list from;
	/* --engine user: programs run in this process, over events of a trace buffer */
	bool in_user_space;

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
	const char *page; /* file: what is printed becomes a page instead; NULL = none */
	bool serve; /* a page from 127.0.0.1 instead */
	u64 idle_ns; /* serve: after the run, until no page has been open so long */
	enum output_buffering buffering;
	bool is_json;
	int verbose;
	bool quiet, no_warnings, report_helpers;
	/* user stacks get names while their process lives; of others none are kept */
	bool names_of_living;
	bool inlines; /* user stacks with inlined functions */
	const char *announcement; /* of a tool, when all is attached; NULL = none */
	struct row_style *rows; /* of row() and table(); NULL = every column and row */
	const struct engine_reporter *reporter; /* NULL = none */
	const struct engine_guest *guest; /* NULL = none */
};

#endif
