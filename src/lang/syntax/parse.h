/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Script text -> syntax tree. The C parts at its head (#define, #ifdef, #include, struct, union,
 * enum, typedef) are handled by preprocess.c and cdecl.c on the way: object-like and simple
 * function-like macros are substituted, definitions go into the type store.
 *
 * Limits (LANG_MAX_*): bytes of a script, nesting depth, tokens from macros. Beyond them: a
 * diagnostic, never a crash.
 */
#ifndef PANTRACE_LANG_SYNTAX_PARSE_H
#define PANTRACE_LANG_SYNTAX_PARSE_H

#include "base/options.h"
#include "lang/syntax/ast.h"

#define LANG_MAX_SOURCE (1u << 20) /* bytes */
#define LANG_MAX_DEPTH	200 /* nested expressions or blocks */
#define LANG_MAX_TOKENS 2000000 /* after macro substitution */

/*
 * A file that a script reads (#include, import), taken along: its name as the script's own place
 * makes it, and its text.
 */
struct script_file {
	const char *name, *text;
};

/* What came with a script. */
struct script_input {
	const char *const *positional; /* $1 ... $N */
	u32 npositional;
	/* --name=value for getopt(); positional may hold such words, too */
	const char *const *named;
	u32 nnamed;
	struct string_list include_dirs; /* -I */
	/* these are the only files; NULL = use the file system */
	const struct script_file *files;
	u32 nfiles;
};

struct parse_options {
	struct script_input input;
	bool have_btf; /* predefine BPFTRACE_HAVE_BTF */
	bool system_headers; /* #include reads those that are installed */
	/* Kernel header trees; NULL = those of the running kernel. */
	const char *kernel_source, *kernel_build;
	/*
	 * The tree of the text as it stands, to lay it out anew (lang/fmt/script.h): directives are
	 * skipped, imports and definitions of C not looked into, no macro is expanded, spans
	 * include the parentheses around an expression, ast.items is filled in.
	 */
	bool as_written;
};

/* Parses diag->sources[file]. Returns 0, or -EINVAL with diagnostics. */
int parse_script(struct arena *arena, struct type_store *types, struct diag *diag, u16 file,
		 const struct parse_options *options, struct ast *ret);
/*
 * Parses diag->sources[file] as one expression, as it is written (parse_options): names stay names,
 * and ~ stays an operator. Returns 0, or -EINVAL with a diagnostic.
 */
int parse_expression(struct arena *arena, struct diag *diag, u16 file, struct expr **ret);

#endif
