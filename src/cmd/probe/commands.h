/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace probe`: defines probe events in terms of the source. They stay until they are removed.
 * Options, output and files are those of `perf probe`. A mode is a file, and a row of the table in
 * probe.c.
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
	struct string_list words; /* arguments that are not options */
};

int cmd_probe(int argc, char **argv);

/* The modes. Each returns the exit code; diagnostics go to p->diag. */
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

/* The translator's configuration by the options. It points into p. */
struct translate_config probe_target_of(const struct probe_command *p);
/* The filter of --filter, or the default one; NULL with a diagnostic. */
const struct name_filter *probe_filter(struct probe_command *p, struct arena *arena,
				       const char *usual);
/*
 * Opens the file of the target (also of the running kernel) for its debug information. May change
 * *config. *ret owns the file and must be released in any case. Returns NULL with a diagnostic.
 */
struct elf_file *probe_debug_file(struct probe_command *p, struct translate_config *config,
				  struct translator **ret);

/*
 * --cache: for a target without debug information, translates with the cached definition of its
 * build. Returns -ENOENT if there is none; other errors add a diagnostic.
 */
int probe_cached_translate(struct probe_command *p, struct translator *t, const char *text,
			   struct translation *ret);
/* After an error: adds a hint if the cache has the definition for another build of the target. */
void probe_cached_hint(struct probe_command *p, struct translator *t, const char *text);

struct probe_kept {
	const char *text; /* as typed */
	const struct translation *translation;
};
/* Writes the definitions to the cache. Returns 0 or -errno with a diagnostic. */
int probe_cached_keep(struct probe_command *p, struct translator *t, const struct probe_kept *kept,
		      u32 count);

#endif
