/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. */
#ifndef PANTRACE_PROBE_DEFINITION_INTERNAL_H
#define PANTRACE_PROBE_DEFINITION_INTERNAL_H

#include "binary/debug/variable.h"
#include "kernel/tracefs/command.h"
#include "probe/definition/definition.h"
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
#define ARGUMENTS_MAX 128 /* kernel/trace/trace_probe.h, MAX_TRACE_ARGS */

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

/* ---- definition.c, by_source.c ---- */

/* One for ftrace, and what becomes of it. */
struct definition {
	struct kernel *kernel;
	struct diag *diag;
	struct dynamic_events *set; /* NULL: only the text is wanted */
	const struct definition_request *request;
	struct definition_result *result;
	struct arena arena;
	struct type_store types;
	struct probe_env env;
	struct words words;
	u16 file; /* the definition as a source of the diag */
	bool is_return;
	const char *modifier; /* "10" of "r10:" */
	struct definition_word name; /* text NULL = none given */
	struct definition_word place;
	size_t first_argument;
};

/* Says what is wrong there, and how definitions look. -EINVAL. */
int definition_malformed(struct definition *f, struct span at, const char *what);
/* An offset in a file, as ftrace takes it, as the address of the same place; others as they are. */
const char *definition_address(struct definition *f, const char *file, const char *number);
bool definition_has_variables(const struct definition *f);
/*
 * Makes the events of a definition in terms of the source. 0, -errno with a diagnostic, or 1: it is
 * none, or nothing is installed that tells of the source; newer kernels know the parameters of
 * their functions by name.
 */
int definition_by_source(struct definition *f);

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
	const char *module; /* its name; NULL = none */
	bool is_user;
};

/*
 * The types of the running kernel's functions, where no debug information is known: in t->env.
 * False: there are none either.
 */
bool translator_find_btf(struct translator *t);

/* Where a probe of a point goes. */
struct place {
	u64 address; /* virtual, in the file; without a file that of the running kernel, or 0 */
	const char *symbol; /* that contains it; NULL = none */
	u64 into; /* bytes behind its beginning */
	u64 bias; /* of programs: what the virtual address is more than the offset in the file */
	const char *module; /* NULL = none, or a program */
	const char *function; /* as the source calls it; an inlined one where it is that */
	const char *scope; /* whose variables are meant, as struct debug_point has it; or NULL */
	bool at_entry; /* the first instruction of a function */
	struct usdt_note sdt; /* name NULL: it is no SDT event */
};

struct places {
	VECTOR(struct place) list;
	u32 skipped; /* matched by a wildcard, but cannot be probed */
};

/* All places of a point; at least one. 0, or -errno with a diagnostic. */
int places_find(struct translator *t, const struct point_definition *def, struct places *ret);
/*
 * Unoptimised functions store their parameters first. Where a definition wants variables at such a
 * function's beginning, the place goes behind that.
 */
void place_skip_prologue(struct translator *t, const struct point_definition *def,
			 struct place *place);

/* An argument as it is fetched at one place. */
struct fetched {
	const struct point_argument *from;
	const char *name; /* NULL = the kernel shall number it */
	const char *text; /* what stands behind "NAME="; NULL: it cannot be fetched here */
	const char *type; /* of the text; NULL = none */
	const char *why, *hint; /* it cannot be: the reason; hint may be NULL */
	struct span at; /* what the reason is about */
	bool is_one_of_many; /* of $params or $vars */
};

struct fetched_list {
	VECTOR(struct fetched) list;
};

/* All arguments of the definition at this place; what cannot be fetched says why. 0 or -errno. */
int fetch_arguments(struct translator *t, const struct point_definition *def,
		    const struct place *place, struct fetched_list *ret);

/* ---- fetch_value.c ---- */

/* A variable or a part of it, and how the kernel gets there. */
struct fetch_value {
	const struct type *type;
	bool is_place; /* it lies at base + offset; else it is what they say */
	enum { BASE_TEXT, BASE_STATIC, BASE_CONSTANT } kind;
	const char *base; /* BASE_TEXT: "%di", "+8(%bp)" */
	const char *symbol; /* BASE_STATIC of the kernel */
	s64 offset; /* BASE_STATIC: the virtual address; BASE_CONSTANT: the number */
	u8 bit_offset, bit_size; /* bit_size 0 = no bit-field */
};

struct fetch_maker {
	struct translator *translator;
	const struct place *place;
	struct fetched *result; /* why and hint are written */
};

/* False: *m->result says why. */
bool fetch_value_of(struct fetch_maker *m, const struct debug_variable *v, struct fetch_value *ret);
bool fetch_value_step(struct fetch_maker *m, const struct debug_variable *v,
		      const struct point_step *s, bool is_user, struct fetch_value *value);
/* The text and the type of the fetch argument. cast: as the user wrote it; NULL = by its type. */
bool fetch_value_text(struct fetch_maker *m, const struct fetch_value *value, const char *cast,
		      bool is_user);

/* Does the word begin as a fetch argument does, and not as a name? */
bool definition_is_argument(const char *word);
/* Is the argument a variable of the source, $params or $vars? */
bool definition_is_variable(const char *word);

#endif
