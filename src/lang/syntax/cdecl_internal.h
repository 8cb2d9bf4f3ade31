/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the parser of definitions share: cdecl.c, cdecl_record.c, cdecl_constant.c. */
#ifndef PANTRACE_LANG_SYNTAX_CDECL_INTERNAL_H
#define PANTRACE_LANG_SYNTAX_CDECL_INTERNAL_H

#include "lang/syntax/cdecl.h"

/* A declarator: its name and what it makes of the base type. */
struct c_declarator {
	const char *name;
	const struct type *type;
	struct span span;
};

/* ---- cdecl.c ---- */
bool cdecl_is_word(const struct token *t, const char *word);
/* To the end of brackets; the current token is the opening one. */
void cdecl_skip_brackets(struct parser *p);
/* The same for braces whose inside does not matter, not even its macros. */
void cdecl_skip_body(struct parser *p);
bool cdecl_begins_type_name(struct parser *p, u32 ahead);
/* The type before declarators, `struct x`, `unsigned long`; NULL after an error. */
const struct type *cdecl_specifier(struct parser *p, struct c_attributes *attributes);
void cdecl_declarator(struct parser *p, const struct type *base, struct c_declarator *ret);

/* ---- cdecl_record.c ---- */
/* All attributes that stand here. */
void cdecl_attributes(struct parser *p, struct c_attributes *a);
bool cdecl_is_incomplete(struct parser *p, const struct type *t);
/* struct|union|enum [attributes] [tag] [{ ... }] [attributes] */
const struct type *cdecl_tagged(struct parser *p);

/* ---- cdecl_constant.c ---- */
/* The value of an expression that one of these characters ends; 0 after an error. */
s64 cdecl_constant(struct parser *p, const char *terminators);
/* `type` in parentheses; NULL if it is none (no error), or after an error. The ')' is consumed. */
const struct type *cdecl_type_in_parens(struct parser *p);
/* `((type *)0)->member`; NULL if it is none, or after an error. */
const struct type *cdecl_null_member(struct parser *p);

#endif
