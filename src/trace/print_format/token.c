/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, numbers and strings of a print format. */
#include <ctype.h>
#include <stdio.h>

#include "trace/print_format/internal.h"

#define MAX_NODES 20000

static const struct pf_type type_s32 = {.value = PF_NUMBER, .size = 4, .is_signed = true};

void pf_refuse(struct pf_parser *p, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (p->refused)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->refused = arena_strdup(p->arena, text);
}

struct pf_node *pf_new(struct pf_parser *p, u8 kind, struct pf_type type)
{
	struct pf_node *n = arena_new(p->arena, struct pf_node);

	if (++p->nodes > MAX_NODES)
		pf_refuse(p, "too long");
	n->kind = kind;
	n->type = type;
	return n;
}

/* ---- tokens ---- */

void pf_skip_blanks(struct pf_parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

bool pf_accept(struct pf_parser *p, const char *token)
{
	const size_t len = strlen(token);

	pf_skip_blanks(p);
	if (strncmp(p->at, token, len))
		return false;
	p->at += len;
	return true;
}

bool pf_expect(struct pf_parser *p, const char *token)
{
	if (pf_accept(p, token))
		return true;
	pf_refuse(p, "'%s' expected before '%.20s'", token, p->at);
	return false;
}

size_t pf_word(struct pf_parser *p, const char **ret)
{
	size_t len = 0;

	pf_skip_blanks(p);
	*ret = p->at;
	if (isdigit((unsigned char)*p->at))
		return 0;
	while (pf_is_word(p->at[len]))
		len++;
	p->at += len;
	return len;
}

static char escape_of(struct pf_parser *p)
{
	static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v\0";
	const char c = *p->at++;
	const char *found;

	if (c == 'x') {
		char *end;
		const char v = (char)strtoul(p->at, &end, 16);

		p->at = end;
		return v;
	}
	if (c >= '0' && c <= '7') {
		unsigned int v = 0;

		p->at--;
		for (int i = 0; i < 3 && *p->at >= '0' && *p->at <= '7'; i++)
			v = v * 8 + (unsigned int)(*p->at++ - '0');
		return (char)v;
	}
	if (!c) {
		p->at--;
		return '\\';
	}
	found = strchr(from, c);
	return found ? to[found - from] : c;
}

char *pf_parse_string(struct pf_parser *p, u32 *ret_len)
{
	char *out;
	u32 len = 0;

	pf_skip_blanks(p);
	if (*p->at != '"')
		return NULL;
	out = arena_alloc(p->arena, strlen(p->at) + 1);
	while (*p->at == '"') {
		p->at++;
		while (*p->at && *p->at != '"') {
			char c = *p->at++;

			if (c == '\\')
				c = escape_of(p);
			out[len++] = c;
		}
		if (!*p->at) {
			pf_refuse(p, "a string does not end");
			break;
		}
		p->at++;
		pf_skip_blanks(p);
	}
	out[len] = '\0';
	*ret_len = len;
	return out;
}

struct pf_node *pf_number(struct pf_parser *p)
{
	struct pf_type t = type_s32;
	bool decimal, is_unsigned = false, is_long = false;
	struct pf_node *n;
	char *end;
	u64 v;

	decimal = p->at[0] != '0';
	v = strtoull(p->at, &end, 0);
	for (; *end && strchr("uUlL", *end); end++) {
		is_unsigned |= *end == 'u' || *end == 'U';
		is_long |= *end == 'l' || *end == 'L';
	}
	p->at = end;
	/* C11 6.4.4.1: the first type that holds it. */
	if (is_long || v > UINT32_MAX || (v > INT32_MAX && decimal && !is_unsigned))
		t.size = 8;
	t.is_signed = !is_unsigned && v <= (t.size == 8 ? (u64)INT64_MAX : (u64)INT32_MAX);
	n = pf_new(p, PF_CONST, t);
	n->number = v;
	return n;
}

struct pf_node *pf_character(struct pf_parser *p)
{
	struct pf_node *n = pf_new(p, PF_CONST, type_s32);
	char c = *++p->at;

	p->at += c != 0;
	if (c == '\\')
		c = escape_of(p);
	n->number = (u64)(s64)c;
	pf_expect(p, "'");
	return n;
}
