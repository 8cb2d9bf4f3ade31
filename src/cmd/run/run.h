/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace run`, and running a script on behalf of other commands (the tools). */
#ifndef PANTRACE_CMD_RUN_RUN_H
#define PANTRACE_CMD_RUN_RUN_H

#include <sys/types.h>

#include "engine/engine.h"
#include "lang/script.h"
#include "view/output.h"
#include "view/row.h"

struct run_request {
	const char *name; /* of the source in messages: "stdin", a path, a tool's name */
	const char *text; /* NUL-terminated */
	size_t len;
	const char *const *positional; /* $1 ... */
	u32 npositional;
	/* --name=value for getopt(); positional may hold such words, too */
	const char *const *named;
	u32 nnamed;
	const char *const *include_dirs;
	u32 ninclude_dirs;
	/* that came with the script (lang/syntax/parse.h); NULL = those of the file system */
	const struct script_file *files;
	u32 nfiles;
	const char *const *debug_dirs; /* --debuginfo */
	u32 ndebug_dirs;
	const char *btf; /* NULL = the kernel's */
	const char *probe_filter; /* regular expression; NULL = all */
	const char *traceable; /* file of function names; NULL = the kernel's list */
	const char *no_feature; /* "a,b": the kernel is taken to lack these; NULL = none */
	pid_t pid; /* 0 = all */
	pid_t unwind_pid; /* --dwarf-pid; 0 = none */
	/* a tool's -p: only what the script makes of it, and the run ends with it; 0 = none */
	pid_t ends_with;
	const char *command; /* -c */
	char *const *words; /* the same as words already split; NULL = use command */
	const char *output; /* file; NULL = standard output */
	enum output_buffering buffering;
	bool is_json;
	bool quiet, verbose, unsafe, dry_run, no_warnings, report_helpers;
	bool keep_privileges; /* also when everything is attached */
	bool is_compatible; /* invoked as `bpftrace` */
	bool is_tool;
	const char *announcement; /* of a tool, when all is attached; NULL = none */
	bool inlines; /* --inlines */
	enum test_mode test_mode;
	bool list_only; /* print the names of the probes instead of running */
	/* --aot: write a program of the script to this file instead of running it; NULL = run */
	const char *standalone;
	const char *dump_stage; /* ast, types, ir, bpf, all: print and end; NULL = run */
	u64 duration_ns; /* 0 = until something ends it */
	struct row_style *rows;
	const struct engine_reporter *reporter; /* NULL = none */
};

/* cmd/run/script.c: compiles and runs; prints every message itself. Returns the exit code. */
int run_script(const struct run_request *r);

/* argv[0] is the command's name; argc counts it. They return exit codes. */
int cmd_run(int argc, char **argv);
int cmd_run_compatible(int argc, char **argv); /* the command line of bpftrace */
/* A program that --aot made: its script, with the words of its own command line. */
struct aot;
int cmd_run_aot(const struct aot *s, int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);
/* The short text that `pantrace` alone shows. */
void help_short(FILE *out);

#endif
