/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token stream of the parser: directives obeyed, macros substituted. Tokens that a macro put
 * there carry the span of its use.
 *
 * #include <...> reads the file in an -I directory, of the running kernel's headers
 * (preprocess_include.c), or in /usr/include. A header of the system that is not installed is
 * accepted silently: types come from BTF, constants from constants.c. What cannot be read of a
 * system header is passed over: only a script that needs it will miss it.
 */
#ifndef PANTRACE_LANG_SYNTAX_PREPROCESS_H
#define PANTRACE_LANG_SYNTAX_PREPROCESS_H

#include "base/hashmap.h"
#include "lang/syntax/lex.h"
#include "lang/syntax/parse.h"

#define PREPROCESS_MAX_INCLUDES 16 /* nesting of open files */
#define PREPROCESS_MAX_FILES	256 /* in all */
/* system headers, which may be opened repeatedly */
#define PREPROCESS_MAX_HEADERS	     5000
#define PREPROCESS_MAX_DEPTH	     200 /* nesting of these */
#define PREPROCESS_MAX_PASSED_OVER   2000 /* their declarations that could not be understood */
#define PREPROCESS_MAX_SYSTEM_TOKENS 5000000
#define PREPROCESS_MAX_NESTING	     64 /* macros within macros; #if within #if */

struct token_list {
	struct token *items;
	size_t len, cap;
};

struct conditional {
	struct span span; /* the #if */
	bool taken; /* a group of it has been read */
	bool in_else;
};

/* A file that an #include reads. */
struct included_file {
	const char *path;
	u16 source; /* of diag */
	const char *guard; /* its include guard, or NULL */
	bool once; /* #pragma once */
	bool is_system, is_kernel;
	u32 directory; /* of those that are searched, for #include_next */
};

struct preprocessor {
	struct arena *arena;
	struct diag *diag;
	const struct parse_options *options;
	VECTOR(struct lexer) files; /* the last one is the current file */
	struct token_list pending; /* substituted, not yet delivered */
	size_t delivered; /* of pending */
	struct hashmap macros; /* name -> struct pp_macro */
	VECTOR(struct conditional) conditionals;
	VECTOR(char *) texts; /* of included files */
	u32 tokens, opened, headers; /* opened files of the script, and of the system */
	u32 system_tokens; /* of them, those of system headers */
	bool failed;
	bool is_raw; /* macro names are not expanded: in skipped text */
	/* reading kernel headers: what the kernel's build defines is defined */
	bool in_kernel;
	bool defines; /* the word `macro` or `fn` was just delivered */
	struct hashmap included; /* path -> struct included_file */
	VECTOR(struct included_file *) by_source;
	/* that are searched for system headers: the kernel's, then the others */
	VECTOR(const char *) directories;
	u32 kernel_directories;
};

void preprocess_init(struct preprocessor *pp, struct arena *arena, struct diag *diag, u16 file,
		     const struct parse_options *options);
void preprocess_release(struct preprocessor *pp);
/* The next token. After an error always TOKEN_ERROR, at the end of the script always TOKEN_END. */
struct token preprocess_next(struct preprocessor *pp);
/* Continues reading in this file or text, then where it was. False if there is no such file. */
bool preprocess_open(struct preprocessor *pp, struct span at, const char *path);
bool preprocess_open_text(struct preprocessor *pp, struct span at, const char *name,
			  const char *text, size_t len);
/* Skips blanks, comments, directives and ends of included files. False at the end or after an
 * error. */
bool preprocess_skip_layout(struct preprocessor *pp);
/*
 * End of the logical line at pos: the newline that is neither continued nor in a comment, or end.
 */
u32 preprocess_line_end(const char *text, u32 pos, u32 end);
/* The file being read, for text that is not made of tokens (attach points). */
struct lexer *preprocess_file(struct preprocessor *pp);
/* Goes back to before this token, which came from preprocess_next(). */
void preprocess_rewind(struct preprocessor *pp, const struct token *t);

/* ---- preprocess_include.c ---- */
/* The file of a source if it was read by an #include; else NULL. */
const struct included_file *preprocess_included(const struct preprocessor *pp, u16 source);
bool preprocess_is_system(const struct preprocessor *pp, u16 source);
/* #include and #include_next of `name`; a diagnostic if it cannot be read. */
void preprocess_include(struct preprocessor *pp, struct span at, const char *name, bool quoted,
			bool next);
void preprocess_include_release(struct preprocessor *pp);
/* #pragma once in the innermost file. */
void preprocess_once(struct preprocessor *pp);
/* Leaves the innermost file: a system header that cannot be parsed further. */
void preprocess_leave_file(struct preprocessor *pp);

/* The value of a name in a constant expression; false = unknown. */
typedef bool (*constant_name_fn)(void *arg, const char *name, s64 *ret);
/*
 * The value of a constant expression of C that is exactly tokens[0..n). Integers have the types
 * that C gives them; wide: all have 64 bits, as in #if. Casts are tokens of kind TOKEN_OTHER with
 * `value` bytes. Returns 0, or -EINVAL with a diagnostic; at is the place if there are no tokens.
 */
int constant_expression(struct arena *arena, struct diag *diag, const struct token *tokens,
			size_t n, struct span at, bool wide, constant_name_fn name, void *arg,
			s64 *ret);

#endif
