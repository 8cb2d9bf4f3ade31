/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token stream of the parser: directives obeyed, macros substituted. Tokens that a macro put
 * there carry the span of its use. #include <...> of a system header is accepted silently: types
 * come from BTF, constants from constants.c; a file that exists in an -I directory or beside the
 * script is read.
 */
#ifndef PANTRACE_LANG_PREPROCESS_H
#define PANTRACE_LANG_PREPROCESS_H

#include "base/hashmap.h"
#include "lang/lex.h"
#include "lang/parse.h"

#define PREPROCESS_MAX_INCLUDES 16 /* files open within each other */
#define PREPROCESS_MAX_FILES	256 /* in all */
#define PREPROCESS_MAX_NESTING	64 /* macros within macros; #if within #if */

struct token_list {
	struct token *items;
	size_t len, cap;
};

struct conditional {
	struct span span; /* the #if */
	bool taken; /* a group of it was read */
	bool in_else;
};

struct preprocessor {
	struct arena *arena;
	struct diag *diag;
	const struct parse_options *options;
	VECTOR(struct lexer) files; /* the last one is being read */
	struct token_list pending; /* substituted, not yet delivered */
	size_t delivered; /* of pending */
	struct hashmap macros; /* name -> struct pp_macro */
	VECTOR(struct conditional) conditionals;
	VECTOR(char *) texts; /* of included files */
	u32 tokens, opened;
	bool failed;
	bool has_constants; /* a system header was included */
};

void preprocess_init(struct preprocessor *pp, struct arena *arena, struct diag *diag, u16 file,
		     const struct parse_options *options);
void preprocess_release(struct preprocessor *pp);
/* After an error: TOKEN_ERROR for ever. At the end of the script: TOKEN_END for ever. */
struct token preprocess_next(struct preprocessor *pp);
/* Reads on in this file or text, then where it was. False if there is no such file. */
bool preprocess_open(struct preprocessor *pp, struct span at, const char *path);
bool preprocess_open_text(struct preprocessor *pp, struct span at, const char *name, const char *text,
			  size_t len);
/* Skips blanks, comments, directives and ends of included files. False at the end or after an
 * error. */
bool preprocess_skip_layout(struct preprocessor *pp);
/* End of the logical line at pos: the newline that is neither continued nor in a comment, or end. */
u32 preprocess_line_end(const char *text, u32 pos, u32 end);
/* The file being read, for text that is not made of tokens (attach points). */
struct lexer *preprocess_file(struct preprocessor *pp);
/* Reading goes on before this token, which came from preprocess_next(). */
void preprocess_rewind(struct preprocessor *pp, const struct token *t);

/* What a name stands for in a constant expression; false = unknown. */
typedef bool (*constant_name_fn)(void *arg, const char *name, s64 *ret);
/*
 * The value of a constant expression of C that is exactly tokens[0..n). Returns 0, or -EINVAL with
 * a diagnostic; at is the place if there are no tokens.
 */
int constant_expression(struct arena *arena, struct diag *diag, const struct token *tokens,
			size_t n, struct span at, constant_name_fn name, void *arg, s64 *ret);

#endif
