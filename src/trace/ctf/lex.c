/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>

#include "trace/ctf/lex.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_blank(struct ctf_lexer *l)
{
	while (l->at < l->end) {
		const char *at = l->at;
		const size_t left = (size_t)(l->end - at);

		if (isspace((unsigned char)*at)) {
			l->line += *at == '\n';
			l->at++;
		} else if (left >= 2 && at[0] == '/' && at[1] == '/') {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else if (left >= 2 && at[0] == '/' && at[1] == '*') {
			for (l->at += 2; l->at < l->end &&
					 !(l->at[0] == '/' && l->at[-1] == '*' && l->at > at + 2);
			     l->at++)
				l->line += *l->at == '\n';
			if (l->at < l->end)
				l->at++;
		} else {
			return;
		}
	}
}

static char escape(struct ctf_lexer *l)
{
	static const char from[] = "abfnrtv\\\"'?", to[] = "\a\b\f\n\r\t\v\\\"'?";
	const char c = *l->at++;
	const char *found = c ? strchr(from, c) : NULL;
	unsigned int value = 0;

	if (found)
		return to[found - from];
	if (c == 'x') {
		for (int i = 0; i < 2 && l->at < l->end && isxdigit((unsigned char)*l->at);
		     i++, l->at++)
			value = value * 16 + (unsigned int)(isdigit((unsigned char)*l->at)
								    ? *l->at - '0'
								    : (*l->at | 32) - 'a' + 10);
		return (char)value;
	}
	if (c >= '0' && c <= '7') {
		value = (unsigned int)(c - '0');
		for (int i = 0; i < 2 && l->at < l->end && *l->at >= '0' && *l->at <= '7'; i++)
			value = value * 8 + (unsigned int)(*l->at++ - '0');
		return (char)value;
	}
	return c;
}

static void text(struct ctf_lexer *l, struct ctf_token *ret)
{
	strbuf_reset(&l->scratch);
	for (l->at++; l->at < l->end && *l->at != '"' && *l->at != '\n';) {
		if (*l->at == '\\' && l->end - l->at >= 2) {
			l->at++;
			strbuf_addch(&l->scratch, escape(l));
		} else {
			strbuf_addch(&l->scratch, *l->at++);
		}
	}
	ret->kind = l->at < l->end && *l->at == '"' ? CTF_TOKEN_TEXT : CTF_TOKEN_BAD;
	l->at += ret->kind == CTF_TOKEN_TEXT;
	ret->text = arena_strndup(l->arena, l->scratch.data, l->scratch.len);
}

static void number(struct ctf_lexer *l, struct ctf_token *ret)
{
	unsigned int base = 10;
	bool any = false, over = false;
	u64 value = 0;

	ret->kind = CTF_TOKEN_NUMBER;
	if (*l->at == '0' && l->end - l->at >= 2) {
		const char next = l->at[1];

		base = next == 'x' || next == 'X'     ? 16
		       : next == 'b' || next == 'B'   ? 2
		       : isdigit((unsigned char)next) ? 8
						      : 10;
		l->at += base == 16 || base == 2 ? 2 : 0;
	}
	for (; l->at < l->end && isalnum((unsigned char)*l->at); l->at++) {
		const char c = *l->at;
		const unsigned int digit = isdigit((unsigned char)c)
						   ? (unsigned int)(c - '0')
						   : (unsigned int)((c | 32) - 'a' + 10);

		if (digit >= base)
			break;
		over |= __builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value);
		any = true;
	}
	while (l->at < l->end && strchr("uUlL", *l->at))
		l->at++;
	if (!any || over || (l->at < l->end && is_word(*l->at)))
		ret->kind = CTF_TOKEN_BAD;
	ret->number = value;
}

void ctf_lex(struct ctf_lexer *l, struct ctf_token *ret)
{
	const char *start;
	size_t left;

	skip_blank(l);
	*ret = (struct ctf_token){.line = l->line};
	if (l->at >= l->end)
		return;
	start = l->at;
	left = (size_t)(l->end - start);
	if (*start == '"') {
		text(l, ret);
	} else if (isdigit((unsigned char)*start)) {
		number(l, ret);
	} else if (is_word(*start)) {
		while (l->at < l->end && is_word(*l->at))
			l->at++;
		ret->kind = CTF_TOKEN_WORD;
		ret->text = arena_strndup(l->arena, start, (size_t)(l->at - start));
	} else if (left >= 2 && start[0] == ':' && start[1] == '=') {
		ret->kind = CTF_TOKEN_ASSIGN;
		l->at += 2;
	} else if (left >= 2 && start[0] == '-' && start[1] == '>') {
		ret->kind = CTF_TOKEN_ARROW;
		l->at += 2;
	} else if (left >= 3 && !memcmp(start, "...", 3)) {
		ret->kind = CTF_TOKEN_DOTS;
		l->at += 3;
	} else {
		ret->kind = CTF_TOKEN_CHAR;
		ret->c = *start;
		l->at++;
	}
}
