/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the reader of TSDL: words and values (trace/ctf/parse_word.c), types
 * (trace/ctf/parse_type.c), blocks (trace/ctf/parse.c). The first error is said and sticks:
 * `failed` ends every loop, what is returned then is NULL or false.
 */
#ifndef PANTRACE_TRACE_CTF_PARSE_H
#define PANTRACE_TRACE_CTF_PARSE_H

#include "base/hashmap.h"
#include "trace/ctf/lex.h"
#include "trace/ctf/metadata.h"

struct tsdl_scope;

struct tsdl_parser {
	struct ctf_metadata *m;
	struct ctf_lexer lexer;
	struct ctf_token token, next;
	struct hashmap names; /* "uint32_t", "struct x", "enum x", "variant x" -> struct ctf_type */
	struct diag *d;
	const char *file;
	bool failed;
	int depth;
	const struct tsdl_scope *scope;
	/* the last word of "unsigned int x" when it was read with the type */
	const char *declarator;
};

/* 5, -5, "text", true, clock.monotonic.value */
struct tsdl_value {
	bool is_number;
	s64 number;
	const char *text;
};

/* ---- words ---- */

void tsdl_advance(struct tsdl_parser *p);
/* Says the first error, with the line. Always NULL. */
void *tsdl_fail(struct tsdl_parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool tsdl_is_char(const struct tsdl_parser *p, char c);
bool tsdl_is_word(const struct tsdl_parser *p, const char *word);
/* Goes on if it stands there. */
bool tsdl_take_char(struct tsdl_parser *p, char c);
bool tsdl_take_word(struct tsdl_parser *p, const char *word);
/* Fails if it does not. */
bool tsdl_want_char(struct tsdl_parser *p, char c);
/* "a.b.c"; an arrow counts as a dot. */
const char *tsdl_dotted(struct tsdl_parser *p);

/* ---- values ---- */

struct tsdl_value tsdl_value(struct tsdl_parser *p);
bool tsdl_truth(struct tsdl_parser *p, const struct tsdl_value *v);
enum ctf_byte_order tsdl_order(struct tsdl_parser *p, const struct tsdl_value *v);
/* Bits, a power of two. */
u32 tsdl_align(struct tsdl_parser *p, const struct tsdl_value *v);

/* ---- types ---- */

struct ctf_type *tsdl_new_type(struct tsdl_parser *p, enum ctf_kind kind);
/* what: "struct", "enum", "variant" or "". */
void tsdl_name_put(struct tsdl_parser *p, const char *what, const char *name, struct ctf_type *t);
/*
 * A type in place or by name. declarator_follows: of several words the last one is the field's name
 * (p->declarator).
 */
struct ctf_type *tsdl_type(struct tsdl_parser *p, bool declarator_follows);
/* The rest of "typealias TYPE := NAME;" and "typedef TYPE NAME;". */
void tsdl_typealias(struct tsdl_parser *p);
void tsdl_typedef(struct tsdl_parser *p);

#endif
