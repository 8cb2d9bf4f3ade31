/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace probe`: probe events in terms of the source, which stay until they are removed; the
 * options, output and files of `perf probe`. Each mode is a row of the table in probe.c and a file.
 */
#ifndef PANTRACE_CMD_PROBE_COMMANDS_H
#define PANTRACE_CMD_PROBE_COMMANDS_H

#include "base/diag.h"
#include "base/name_filter.h"
#include "base/options.h"
#include "kernel/kernel.h"
#include "probe/definition/translate.h"

struct probe_options {
	/* modes */
	struct string_list add, definition, del;
	const char *list, *lines, *variables, *functions;
	/* the target */
	const char *vmlinux, *module, *exec, *source, *symfs;
	pid_t target_ns;
	/* how */
	bool dry_run, force, quiet, bootconfig, no_inlines, externs, range, json;
	bool demangle, no_demangle;
	bool cache;
	const char *filter, *buildid_dir;
	int verbose;
	u64 max_probes;
};

/* A run of the command. */
struct probe_command {
	const struct command_spec *spec;
	struct probe_options o;
	struct kernel *kernel;
	struct diag diag;
	struct string_list words; /* what is no option */
};

int cmd_probe(int argc, char **argv);

/* The modes: each does its work and returns the exit code; diagnostics go to p->diag. */
int probe_add(struct probe_command *p);
int probe_define(struct probe_command *p);
int probe_list(struct probe_command *p);
int probe_delete(struct probe_command *p);
/* cached.c: -l and -d with --cache */
int probe_cached_list(struct probe_command *p);
int probe_cached_delete(struct probe_command *p);
int probe_lines(struct probe_command *p);
int probe_functions(struct probe_command *p);
int probe_variables(struct probe_command *p);

/* The options as they say where definitions are looked up; what it points to is p's. */
struct translate_config probe_target_of(const struct probe_command *p);
/* --filter, or the usual one; NULL with a diagnostic. */
const struct name_filter *probe_filter(struct probe_command *p, struct arena *arena,
				       const char *usual);
/*
 * The file of the target, for what needs its debug information: of the running kernel, too. NULL
 * with a diagnostic. *config is changed; *ret is to be released in any case, and has the file.
 */
struct elf_file *probe_debug_file(struct probe_command *p, struct translate_config *config,
				  struct translator **ret);

/*
 * --cache: translate() by what the cache has of this build of the target, where there is no debug
 * information. -ENOENT: nothing; other errors are said.
 */
int probe_cached_translate(struct probe_command *p, struct translator *t, const char *text,
			   struct translation *ret);
/* After -ENOENT and an error: a hint if the cache knows the definition for another build. */
void probe_cached_hint(struct probe_command *p, struct translator *t, const char *text);

struct probe_kept {
	const char *text; /* as typed */
	const struct translation *translation;
};
/* Puts them into the cache. 0 or -errno, said. */
int probe_cached_keep(struct probe_command *p, struct translator *t, const struct probe_kept *kept,
		      u32 count);

#endif
