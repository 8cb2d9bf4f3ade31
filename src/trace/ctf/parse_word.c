/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens and values of TSDL. */
#include <stdio.h>

#include "trace/ctf/parse.h"

void tsdl_advance(struct tsdl_parser *p)
{
	p->token = p->next;
	ctf_lex(&p->lexer, &p->next);
}

void *tsdl_fail(struct tsdl_parser *p, const char *fmt, ...)
{
	va_list ap;
	char message[256];

	if (!p->failed) {
		va_start(ap, fmt);
		vsnprintf(message, sizeof(message), fmt, ap);
		va_end(ap);
		diag_error(p->d, NO_SPAN, "%s:%u: %s", p->file, p->token.line, message);
	}
	p->failed = true;
	return NULL;
}

bool tsdl_is_char(const struct tsdl_parser *p, char c)
{
	return p->token.kind == CTF_TOKEN_CHAR && p->token.c == c;
}

bool tsdl_is_word(const struct tsdl_parser *p, const char *word)
{
	return p->token.kind == CTF_TOKEN_WORD && str_eq(p->token.text, word);
}

bool tsdl_take_char(struct tsdl_parser *p, char c)
{
	if (!tsdl_is_char(p, c))
		return false;
	tsdl_advance(p);
	return true;
}

bool tsdl_want_char(struct tsdl_parser *p, char c)
{
	if (tsdl_take_char(p, c))
		return true;
	tsdl_fail(p, "'%c' expected", c);
	return false;
}

bool tsdl_take_word(struct tsdl_parser *p, const char *word)
{
	if (!tsdl_is_word(p, word))
		return false;
	tsdl_advance(p);
	return true;
}

/* ---- values: 5, -5, "text", true, clock.monotonic.value ---- */

const char *tsdl_dotted(struct tsdl_parser *p)
{
	const char *text = p->token.text;

	if (p->token.kind != CTF_TOKEN_WORD)
		return tsdl_fail(p, "a name expected");
	tsdl_advance(p);
	while ((tsdl_is_char(p, '.') || p->token.kind == CTF_TOKEN_ARROW) &&
	       p->next.kind == CTF_TOKEN_WORD && strlen(text) < 1024) {
		text = arena_printf(&p->m->arena, "%s.%s", text, p->next.text);
		tsdl_advance(p);
		tsdl_advance(p);
	}
	return text;
}

struct tsdl_value tsdl_value(struct tsdl_parser *p)
{
	struct tsdl_value v = {0};
	const bool minus = tsdl_take_char(p, '-');

	if (!minus)
		tsdl_take_char(p, '+');
	if (p->token.kind == CTF_TOKEN_NUMBER) {
		v.is_number = true;
		v.number = (s64)(minus ? 0 - p->token.number : p->token.number);
		tsdl_advance(p);
	} else if (p->token.kind == CTF_TOKEN_TEXT) {
		v.text = p->token.text;
		tsdl_advance(p);
	} else {
		v.text = tsdl_dotted(p);
	}
	return v;
}

bool tsdl_truth(struct tsdl_parser *p, const struct tsdl_value *v)
{
	if (v->is_number)
		return v->number != 0;
	return v->text && (str_eq(v->text, "true") || str_eq(v->text, "TRUE"));
}

enum ctf_byte_order tsdl_order(struct tsdl_parser *p, const struct tsdl_value *v)
{
	if (v->text && (str_eq(v->text, "be") || str_eq(v->text, "network")))
		return CTF_BIG;
	if (v->text && str_eq(v->text, "le"))
		return CTF_LITTLE;
	if (!v->text || !str_eq(v->text, "native"))
		tsdl_fail(p, "byte_order is le, be, network or native");
	return CTF_NATIVE;
}

u32 tsdl_align(struct tsdl_parser *p, const struct tsdl_value *v)
{
	if (!v->is_number || v->number < 1 || v->number > 1 << 20 ||
	    (v->number & (v->number - 1))) {
		tsdl_fail(p, "an alignment is a power of two");
		return 1;
	}
	return (u32)v->number;
}
