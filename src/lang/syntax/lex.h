/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Script text -> raw tokens, one at a time. The lexer knows nothing of macros (preprocess.c) and
 * nothing of attach points, whose text the parser takes straight from the source
 * (lang/syntax/probe.c).
 */
#ifndef PANTRACE_LANG_SYNTAX_LEX_H
#define PANTRACE_LANG_SYNTAX_LEX_H

#include "base/diag.h"

enum token_kind {
	TOKEN_END,
	TOKEN_ERROR, /* reported; the text after it is not looked at */
	TOKEN_NAME, /* text */
	TOKEN_INTEGER, /* value, is_unsigned; text as written (tuple indexes) */
	TOKEN_STRING, /* text, len: escapes resolved */
	TOKEN_VARIABLE, /* text without '$'; "$x" for $$x */
	TOKEN_MAP, /* text without '@'; "" for @ */
	TOKEN_POSITIONAL, /* value = n of $n */
	TOKEN_COUNT, /* $# */
	TOKEN_PUNCT, /* punct: PUNCT('+', '=') */
	/* of a system header only: what the language has not, such as 1.5; text as written */
	TOKEN_OTHER,
};

/* A punctuator of up to three characters as one number; a single character is itself. */
#define PUNCT(a, b)	((u32)(u8)(a) | (u32)(u8)(b) << 8)
#define PUNCT3(a, b, c) (PUNCT(a, b) | (u32)(u8)(c) << 16)

struct token {
	enum token_kind kind;
	struct span span; /* of the use, also for tokens that a macro put there */
	u32 punct;
	u32 len;
	const char *text;
	u64 value;
	bool is_unsigned;
	bool is_painted; /* the name of a macro inside its own expansion: not expanded again */
	bool line_start; /* first on its line */
	bool space_before;
};

struct lexer {
	struct arena *arena;
	struct diag *diag;
	const char *text; /* NUL-terminated */
	u32 pos, end;
	u16 file;
	bool line_start; /* nothing but blanks since the last newline */
	bool is_header; /* of the system: all that C has is passed on */
};

struct lexer lexer_of(struct arena *arena, struct diag *diag, u16 file);
/* Blanks, comments and continued lines. Returns false after a diagnostic (unterminated comment). */
bool lex_skip_layout(struct lexer *l);
struct token lex_next(struct lexer *l);
/* How an error message calls a token: "name 'foo'", "end of file", "'+='". */
const char *token_describe(struct arena *arena, const struct token *t);

static inline bool lex_is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool lex_is_name(char c)
{
	return lex_is_name_start(c) || lex_is_digit(c);
}

static inline bool lex_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

#endif
