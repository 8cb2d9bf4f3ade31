/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/name_filter.h"

#include <ctype.h>

#include "base/glob.h"
#include "base/strbuf.h"

enum { MAX_DEPTH = 100 };

struct name_filter {
	enum { FILTER_NAME, FILTER_ALL, FILTER_ANY } kind;
	bool negated;
	const char *glob; /* FILTER_NAME */
	struct name_filter *first, *next; /* for other kinds: the operands */
};

struct parser {
	struct arena *arena;
	struct diag *diag;
	const char *text, *at;
	u16 source;
	int depth;
};

static struct name_filter *fail(struct parser *p, const char *what)
{
	const u32 at = (u32)(p->at - p->text);

	if (p->diag)
		diag_error(p->diag, (struct span){at, at + 1, p->source}, "%s", what);
	p->diag = NULL;
	return NULL;
}

static char peek(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
	return *p->at;
}

static bool ends_name(char c)
{
	return !c || isspace((unsigned char)c) || strchr("!&|()", c);
}

/* The length of a class "[...]", which hides operators; 0: not a class. */
static size_t class_length(const char *s)
{
	const char *p = s + 1 + (s[1] == '!' || s[1] == '^');
	const char *end = *s == '[' && *p ? strchr(p + 1, ']') : NULL;

	return end ? (size_t)(end - s) + 1 : 0;
}

/* A name as a wildcard of base/glob.h, which has no escapes: "\*" becomes "[*]". */
static struct name_filter *parse_name(struct parser *p)
{
	struct name_filter *f = arena_new(p->arena, struct name_filter);
	struct strbuf glob = STRBUF_INIT;
	size_t n;

	while (!ends_name(*p->at)) {
		n = class_length(p->at);
		if (*p->at == '\\' && p->at[1]) {
			strbuf_addf(&glob, strchr("*?[", p->at[1]) ? "[%c]" : "%c", p->at[1]);
			p->at += 2;
		} else {
			n = MAX(n, (size_t)1);
			strbuf_add(&glob, p->at, n);
			p->at += n;
		}
	}
	f->glob = arena_strndup(p->arena, glob.data, glob.len);
	strbuf_release(&glob);
	return f;
}

static struct name_filter *parse_any(struct parser *p);

static struct name_filter *parse_one(struct parser *p)
{
	struct name_filter *f;
	bool negated = false;

	for (; peek(p) == '!'; p->at++)
		negated = !negated;
	if (*p->at == '(') {
		if (++p->depth > MAX_DEPTH)
			return fail(p, "too many parentheses");
		p->at++;
		f = parse_any(p);
		if (f && peek(p) != ')')
			return fail(p, "this filter misses a ')'");
		p->at += f != NULL;
		p->depth--;
	} else if (ends_name(*p->at)) {
		return fail(p, "a name or wildcard is missing in this filter");
	} else {
		f = parse_name(p);
	}
	if (f)
		f->negated ^= negated;
	return f;
}

/* Parses operands joined by one kind of operator; a single operand is returned itself. */
static struct name_filter *parse_joined(struct parser *p, char joint,
					struct name_filter *(*parse)(struct parser *p))
{
	struct name_filter *f = parse(p), *last = f, *all;

	if (!f || peek(p) != joint)
		return f;
	all = arena_new(p->arena, struct name_filter);
	all->kind = joint == '&' ? FILTER_ALL : FILTER_ANY;
	all->first = f;
	while (peek(p) == joint) {
		p->at++;
		last->next = parse(p);
		last = last->next;
		if (!last)
			return NULL;
	}
	return all;
}

static struct name_filter *parse_all(struct parser *p)
{
	return parse_joined(p, '&', parse_one);
}

static struct name_filter *parse_any(struct parser *p)
{
	return parse_joined(p, '|', parse_all);
}

const struct name_filter *name_filter_parse(struct arena *a, struct diag *d, const char *text)
{
	struct parser p = {.arena = a, .diag = d, .text = text, .at = text};
	const struct name_filter *f;

	p.source = diag_add_source(d, "filter", text, strlen(text));
	f = parse_any(&p);
	return f && peek(&p) ? fail(&p, "this filter misses '&' or '|' here") : f;
}

bool name_filter_match(const struct name_filter *f, const char *name)
{
	bool yes = f->kind != FILTER_ANY;

	if (f->kind == FILTER_NAME)
		yes = glob_match(f->glob, name);
	for (const struct name_filter *c = f->first; c; c = c->next)
		if (name_filter_match(c, name) != yes) {
			yes = !yes;
			break;
		}
	return yes != f->negated;
}
