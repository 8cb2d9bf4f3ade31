/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters as ftrace takes them (Documentation/trace/events.rst, "Event filtering"):
 *
 *	prev_pid != 0 && (next_comm ~ "kworker*" || prev_prio & 0x8)
 */
#include <ctype.h>

#include "base/strbuf.h"
#include "cmd/tools/tools.h"

struct filter {
	struct arena *arena;
	const char *p;
	const char *why;
	struct strbuf out;
	const char *operand; /* the last name, as it is in the script */
};

static const char *field_of(struct arena *a, const char *name)
{
	static const char *const words[][2] = {
		{"common_pid", "tid"}, {"comm", "args.comm"}, {"COMM", "comm"},
		{"CPU", "cpu"},	       {"cpu", "args.cpu"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i][0], name))
			return words[i][1];
	return arena_printf(a, "args.%s", name);
}

/* The word inside quotes, without them. */
static const char *take_string(struct filter *f)
{
	const char quote = *f->p, *begin = f->p + 1, *end = begin;

	while (*end && *end != quote && *end != '\\' && *end != '\n')
		end++;
	if (*end != quote) {
		f->why = "the string does not end";
		return NULL;
	}
	f->p = end + 1;
	return arena_strndup(f->arena, begin, (size_t)(end - begin));
}

/* `name ~ "*text*"` */
static void add_glob(struct filter *f)
{
	const char *glob, *text;
	size_t len, operand = f->operand ? strlen(f->operand) : 0;
	bool head, tail;

	f->p++;
	f->p += strspn(f->p, " \t");
	if (!operand || (*f->p != '"' && *f->p != '\'')) {
		f->why = "~ stands between a field and a pattern in quotes";
		return;
	}
	glob = take_string(f);
	if (!glob)
		return;
	len = strlen(glob);
	head = len && glob[0] == '*';
	tail = len > 1 && glob[len - 1] == '*';
	text = arena_strndup(f->arena, glob + head, len - head - tail);
	if (strpbrk(text, "*?[")) {
		f->why = "a pattern has '*' only at its beginning and its end";
		return;
	}
	while (f->out.len && f->out.data[f->out.len - 1] == ' ')
		f->out.len--;
	f->out.len -= operand; /* written again below */
	if (head && !tail) {
		f->why = "a pattern that begins with '*' ends with '*', too";
		return;
	}
	if (!*text)
		strbuf_addstr(&f->out, "1");
	else if (head)
		strbuf_addf(&f->out, "strcontains(%s, \"%s\")", f->operand, text);
	else if (tail)
		strbuf_addf(&f->out, "strncmp(%s, \"%s\", %zu) == 0", f->operand, text,
			    strlen(text));
	else
		strbuf_addf(&f->out, "%s == \"%s\"", f->operand, text);
}

static void add_word(struct filter *f)
{
	const char *begin = f->p;

	while (isalnum((unsigned char)*f->p) || *f->p == '_')
		f->p++;
	begin = arena_strndup(f->arena, begin, (size_t)(f->p - begin));
	if (isdigit((unsigned char)*begin)) {
		strbuf_addstr(&f->out, begin);
		return;
	}
	/* Already in our own spelling: args.field. */
	if (str_eq(begin, "args") && *f->p == '.') {
		f->p++;
		f->operand = NULL;
		return;
	}
	f->operand = field_of(f->arena, begin);
	strbuf_addstr(&f->out, f->operand);
}

const char *tool_filter(struct arena *a, const char *text, const char **ret_why)
{
	struct filter f = {.arena = a, .p = text, .out = STRBUF_INIT};
	const char *result = NULL, *s;
	int depth = 0;

	while (*f.p && !f.why) {
		if (isalnum((unsigned char)*f.p) || *f.p == '_') {
			add_word(&f);
		} else if (*f.p == '"' || *f.p == '\'') {
			s = take_string(&f);
			if (s)
				strbuf_addf(&f.out, "\"%s\"", s);
		} else if (*f.p == '~') {
			add_glob(&f);
		} else if (strchr("=!<>&|()- \t", *f.p)) {
			depth += *f.p == '(' ? 1 : *f.p == ')' ? -1 : 0;
			if (depth < 0)
				f.why = "')' without '('";
			strbuf_addch(&f.out, *f.p++);
		} else {
			f.why = arena_printf(a, "'%c' has no place in a filter", *f.p);
		}
	}
	if (!f.why && depth)
		f.why = "'(' without ')'";
	if (!f.why && !f.out.len)
		f.why = "it is empty";
	if (!f.why)
		result = arena_printf(a, "(%s)", f.out.data);
	*ret_why = f.why;
	strbuf_release(&f.out);
	return result;
}
