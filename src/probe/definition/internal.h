/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What definition.c and probe/definition/args.c share. */
#ifndef PANTRACE_PROBE_DEFINITION_INTERNAL_H
#define PANTRACE_PROBE_DEFINITION_INTERNAL_H

#include "kernel/tracefs/command.h"
#include "probe/probe.h"

/* A word of the definition. */
struct definition_word {
	const char *text; /* NUL-terminated, in the arena */
	struct span at;
};

/* Where an argument is fetched. */
struct argument_place {
	struct diag *diag;
	bool is_user, is_return, at_entry;
	struct elf_file *file; /* user */
	u64 offset; /* user: of the place in the file */
};

/* Appends " ARG" to the command as the kernel takes it. 0, or -EINVAL with a diagnostic. */
int definition_argument(const struct argument_place *p, const struct definition_word *w,
			struct tracefs_command *out);
/* Does the word begin as a fetch argument does, and not as a name? */
bool definition_is_argument(const char *word);

#endif
