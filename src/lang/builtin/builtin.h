/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each function or variable of the language is one row with its signature, check, lowering and
 * documentation. Help, the reference page and shell completion come from the rows. One file per
 * family: lang/builtin/process.c, string.c, map.c ...
 */
#ifndef PANTRACE_LANG_BUILTIN_BUILTIN_H
#define PANTRACE_LANG_BUILTIN_BUILTIN_H

#include "lang/syntax/ast.h"

struct check;
struct lower;
struct value;

enum builtin_flags {
	BUILTIN_VARIABLE = 1 << 0, /* may be written without parentheses */
	BUILTIN_CALL = 1 << 1, /* may be written with parentheses */
	BUILTIN_UNSAFE = 1 << 2, /* needs --unsafe */
	BUILTIN_AGGREGATION = 1 << 3, /* only as `@m = f(...)` */
	BUILTIN_STATEMENT = 1 << 4, /* gives no value: only as a statement */
	/* bpftrace has it in its library: other words where it is refused */
	BUILTIN_LIBRARY = 1 << 6,
	BUILTIN_LIVE = 1 << 7, /* of the running machine: no recording holds it */
	/* the same, but at any time, not at an event: --engine user has it */
	BUILTIN_MACHINE = 1 << 9,
	BUILTIN_OF_THREAD = 1 << 8, /* of the thread that has the event */
	/* check() is called before its arguments were checked (maps, type names) */
	BUILTIN_RAW_ARGS = 1 << 5,
};

struct builtin {
	const char *name;
	const char *signature; /* "str(char *p [, uint64 n])", as documented */
	const char *doc; /* one or two sentences */
	const char *kernel; /* first kernel where it works, "" = 4.9 and later */
	u32 flags;
	u8 min_args, max_args; /* 255 = any number */
	/*
	 * Sets call->type (and annotation). Errors are reported through check_error(). Arguments
	 * are already checked unless RAW_ARGS.
	 */
	void (*check)(struct check *c, struct expr *call);
	/* Emits code; *ret describes the value (VALUE_NONE for statements). */
	void (*lower)(struct lower *l, struct expr *call, struct value *ret);
	/*
	 * Aggregations: updates the map element in place; element = address of the per-CPU value.
	 */
};

struct builtin_family {
	const struct builtin *rows; /* the last one's name is NULL */
	const char *title;
};

extern const struct builtin_family builtin_families[]; /* the last one's rows are NULL */
const struct builtin *builtin_find(const char *name);
/* All names, for "did you mean". */
const char *const *builtin_names(size_t *ret_count);

#endif
