/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macros of the C preprocessor: their table and their substitution. Private to preprocess*.c. */
#ifndef PANTRACE_LANG_SYNTAX_PREPROCESS_MACRO_H
#define PANTRACE_LANG_SYNTAX_PREPROCESS_MACRO_H

#include "lang/syntax/preprocess.h"

struct pp_macro {
	const char *name;
	struct span span;
	bool is_function, is_variadic;
	const char **params;
	u32 nparams;
	struct token *body;
	u32 nbody;
	/* the body is read when the macro is first used: text set until then */
	struct lexer unread;
	bool is_system; /* of a system header, or predefined */
};

/* Macros of predefined.h. */
void pp_predefine(struct preprocessor *pp);
/* The macro of this name, its body parsed; NULL if there is none. */
const struct pp_macro *pp_macro(struct preprocessor *pp, const char *name);

void pp_define_integer(struct preprocessor *pp, const char *name, s64 value);
/* The rest of a #define, #undef line; failures are reported and set pp->failed. */
void pp_define(struct preprocessor *pp, struct span at, struct lexer *line);
void pp_undef(struct preprocessor *pp, struct span at, struct lexer *line);
/* Counts a token. Too many are refused: WHAT ("macros expand to") more than N tokens. */
void pp_count(struct preprocessor *pp, const struct token *t, const char *what);
/* Appends the tokens with every macro substituted. 0 or -EINVAL with a diagnostic. */
int pp_expand(struct preprocessor *pp, const struct token_list *in, struct token_list *out);

#endif
