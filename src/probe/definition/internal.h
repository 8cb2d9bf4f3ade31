/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. */
#ifndef PANTRACE_PROBE_DEFINITION_INTERNAL_H
#define PANTRACE_PROBE_DEFINITION_INTERNAL_H

#include "binary/elf/file.h"
#include "kernel/tracefs/command.h"
#include "probe/definition/translate.h"
#include "probe/probe.h"

/* A word of the definition. */
struct definition_word {
	const char *text; /* NUL-terminated, in the arena */
	struct span at;
};

/* ---- words.c: the text of a definition ---- */

/*
 * The character behind p, or, where p begins with a backslash or a quote, what is behind all that
 * it takes the meaning from. p is not at the end.
 */
const char *word_skip(const char *p);
/* The first of these characters that has its meaning; NULL = none. */
const char *word_find(const char *p, const char *set);
/* Without the backslashes and quotes. *ret_quoted (may be NULL): there were quotes. */
const char *word_plain(struct arena *arena, const char *p, size_t len, bool *ret_quoted);
struct words {
	VECTOR(struct definition_word) list;
};
/* Splits a text at its blanks. 0, or -EINVAL with a diagnostic: a quote is not closed. */
int words_split(struct arena *arena, struct diag *d, const char *text, u16 file, struct words *ret);

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
/* ---- translate.c, place.c, fetch.c ---- */

struct translator {
	struct kernel *kernel;
	struct diag *diag;
	const struct translate_config *config;
	struct arena arena;
	struct type_store types;
	struct probe_env env;
	struct elf_file *file; /* NULL: the running kernel's symbols only */
	const char *path; /* of it, as the kernel is told */
	bool is_user;
};

/* Where a probe of a point goes. */
struct place {
	u64 address; /* virtual, in the file; without a file that of the running kernel, or 0 */
	const char *symbol; /* that contains it; NULL = none */
	u64 into; /* bytes behind its beginning */
	const char *module; /* NULL = none, or a program */
	const char *function; /* as the source calls it; an inlined one where it is that */
	bool at_entry; /* the first instruction of a function */
	u64 semaphore; /* SDT: file offset; 0 = none */
	const char *sdt_args; /* NULL = none */
	const char *sdt_event, *sdt_provider;
};

struct places {
	VECTOR(struct place) list;
	u32 skipped; /* matched by a wildcard, but cannot be probed */
};

/* All places of a point; at least one. 0, or -errno with a diagnostic. */
int places_find(struct translator *t, const struct point *p, struct places *ret);
/* Appends " ARG" for the arguments of the definition at this place. 0, or -errno with one. */
int fetch_arguments(struct translator *t, const struct point_definition *def,
		    const struct place *place, struct translated_place *ret);

/* Does the word begin as a fetch argument does, and not as a name? */
bool definition_is_argument(const char *word);

#endif
