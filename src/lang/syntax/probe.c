/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes: [label =] attach point {, attach point} [/predicate/] { body }
 *
 * An attach point is text, not tokens: uprobe:/bin/sh*:"f(int)", profile:5ms, kprobe:vfs_*+0x10. It
 * ends at a blank,
 * ',' or '{'; a '/' ends it too, unless it belongs to a path.
 */
#include "lang/syntax/internal.h"
#include "base/nearest.h"
#include "probe/probe.h"

/* May the text after this provider name, or pattern of such names, contain '/'? */
static bool has_slashes(const char *text, size_t n)
{
	char name[32];
	const struct probe_provider *p;

	if (memchr(text, '*', n) || memchr(text, '?', n) || memchr(text, '[', n))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	p = n < sizeof(name) ? probe_find_provider(name) : NULL;
	return p && (p->takes_path || p->takes_any_name);
}

/* Does the '/' at i (of the attach point that began at begin) belong to a path? */
static bool is_path_slash(const struct lexer *l, u32 begin, u32 i)
{
	const char *text = l->text + begin, *colon = memchr(text, ':', i - begin), *at;

	/* kprobe@fs/read_write.c:470, kprobe:@fs/read_write.c:470 */
	at = memrchr(text, '@', i - begin);
	if (at && !memchr(at, ':', (size_t)(text + (i - begin) - at)))
		return true;
	if (!colon)
		return false;
	if (has_slashes(text, (size_t)(colon - text)))
		return true;
	/* iter:task:/sys/fs/bpf/pin */
	colon = memrchr(text, ':', i - begin);
	return colon[1] == '/';
}

/* The end of the attach point that begins at l->pos. */
static u32 attach_point_end(struct parser *p, const struct lexer *l)
{
	bool quoted = false;
	u32 i = l->pos;

	for (; i < l->end; i++) {
		const char c = l->text[i];

		if (quoted && c == '\\' && i + 1 < l->end) {
			i++;
		} else if (c == '\n' && quoted) {
			break;
		} else if (c == '"') {
			quoted = !quoted;
		} else if (quoted) {
			continue;
		} else if (c == '$' && i + 1 < l->end && l->text[i + 1] == '{') {
			while (i + 1 < l->end && l->text[i] != '}' && !lex_is_blank(l->text[i + 1]))
				i++;
		} else if (lex_is_blank(c) || c == ',' || c == '{' || c == '}' || c == ';' ||
			   (c == '/' && !is_path_slash(l, l->pos, i))) {
			break;
		}
	}
	if (quoted)
		parse_error(p, (struct span){l->pos, i, l->file},
			    "syntax error, unterminated string in attach point");
	return i;
}

/* "$3", "${3}" -> the parameter's text; returns the number of characters after '$', 0 after an
 * error. */
static u32 substitute_positional(struct parser *p, struct span at, const char *s,
				 struct strbuf *out)
{
	const bool braces = s[1] == '{';
	const char *digits = s + 1 + braces, *end = digits;
	u64 n = 0;

	for (; lex_is_digit(*end) && n <= UINT32_MAX; end++)
		n = n * 10 + (u64)(*end - '0');
	if (lex_is_digit(*end))
		parse_error(p, at, "positional parameter is out of range: %.*s",
			    (int)strspn(digits, "0123456789"), digits);
	else if (end == digits || *digits == '0' || (braces && *end != '}'))
		parse_error(p, at,
			    "invalid trailing character for positional param: %c. Try quoting this "
			    "entire part if this is intentional e.g. \"$%c\".",
			    *digits ? *digits : ' ', *digits ? *digits : ' ');
	if (p->failed)
		return 0;
	if (n <= p->options->input.npositional)
		strbuf_addstr(out, p->options->input.positional[n - 1]);
	return (u32)(end - s) - 1 + braces;
}

struct attach_text {
	struct strbuf text, part;
	VECTOR(const char *) parts;
};

static void end_part(struct parser *p, struct attach_text *t)
{
	vector_push(&t->parts, arena_strndup(p->arena, t->part.data, t->part.len));
	strbuf_reset(&t->part);
}

/* The text of a positional parameter is split at ':', too. */
static void add_positional(struct parser *p, struct attach_text *t, const char *value)
{
	for (; *value; value++) {
		strbuf_addch(&t->text, *value);
		if (*value == ':')
			end_part(p, t);
		else
			strbuf_addch(&t->part, *value);
	}
}

static void split(struct parser *p, struct span at, const char *s, struct attach_text *t)
{
	bool quoted = false;

	for (; *s && !p->failed; s++) {
		if (*s == '$' && !quoted) {
			struct strbuf value = STRBUF_INIT;

			s += substitute_positional(p, at, s, &value);
			add_positional(p, t, value.data);
			strbuf_release(&value);
			continue;
		}
		strbuf_addch(&t->text, *s);
		if (*s == '"') {
			quoted = !quoted;
		} else if (quoted && *s == '\\' && s[1]) {
			strbuf_addch(&t->text, *++s);
			strbuf_addch(&t->part, *s);
		} else if (*s == ':' && !quoted) {
			end_part(p, t);
		} else if (*s == '@' && !quoted && !t->parts.len && t->part.len) {
			end_part(p, t); /* kprobe@SOURCE:LINE */
			strbuf_addch(&t->part, '@');
		} else {
			strbuf_addch(&t->part, *s);
		}
	}
	end_part(p, t);
}

static void parse_attach_point(struct parser *p, struct lexer *l, struct attach_point *ret)
{
	struct attach_text t = {.text = STRBUF_INIT, .part = STRBUF_INIT};
	const u32 end = attach_point_end(p, l);
	const struct span at = {l->pos, end, l->file};

	if (end == l->pos || l->text[l->pos] == '#') {
		parse_unexpected(p, "attach point");
		return;
	}
	split(p, at, arena_strndup(p->arena, l->text + l->pos, end - l->pos), &t);
	*ret = (struct attach_point){
		.span = at,
		.text = arena_strndup(p->arena, t.text.data, t.text.len),
		.count = (u32)t.parts.len,
		.parts = parse_list_done(p, t.parts.items, t.parts.len * sizeof(*t.parts.items))};
	l->pos = end;
	l->line_start = false;
	strbuf_release(&t.text);
	strbuf_release(&t.part);
	vector_free(&t.parts);
}

/* `name = attach point`: a name and a '=' that is not part of the attach point. */
static const char *parse_label(struct parser *p, struct lexer *l)
{
	u32 end = l->pos, i;

	while (end < l->end && lex_is_name(l->text[end]))
		end++;
	for (i = end; i < l->end && (l->text[i] == ' ' || l->text[i] == '\t'); i++)
		;
	if (end == l->pos || i >= l->end || l->text[i] != '=')
		return NULL;
	i = l->pos;
	l->pos = end;
	parse_expect(p, '=');
	return arena_strndup(p->arena, l->text + i, end - i);
}

static void parse_attach_points(struct parser *p, struct probe *probe)
{
	VECTOR(struct attach_point) points = {0};
	struct lexer *l = parse_as_text(p);

	do {
		struct attach_point point = {0};

		l = parse_as_text(p);
		if (!preprocess_skip_layout(&p->pp)) {
			parse_unexpected(p, "attach point");
			break;
		}
		l = preprocess_file(&p->pp);
		if (points.len && (l->text[l->pos] == '/' || l->text[l->pos] == '{'))
			break; /* a comma after the last one */
		parse_attach_point(p, l, &point);
		vector_push(&points, point);
	} while (!p->failed && parse_accept(p, ','));
	probe->nattach = (u32)points.len;
	probe->attach_points = parse_list_done(p, points.items, points.len * sizeof(*points.items));
	if (!p->failed) {
		probe->span = points.items[0].span;
		probe->span.end = points.items[points.len - 1].span.end;
	}
	vector_free(&points);
}

static struct expr *parse_predicate(struct parser *p)
{
	struct expr *e;

	if (!parse_accept(p, '/'))
		return NULL;
	p->in_predicate = true;
	e = parse_expr(p);
	p->in_predicate = false;
	if (!parse_accept(p, '/'))
		parse_unexpected(p, "'/' to close predicate");
	return e;
}

void parse_probe(struct parser *p)
{
	struct probe probe = {0};

	probe.label = parse_label(p, parse_as_text(p));
	parse_attach_points(p, &probe);
	if (p->failed)
		return;
	if (!parse_is(p, '/') && !parse_is(p, '{')) {
		static const char *const words[] = {"macro", "import", "config", "begin",
						    "end",   "struct", "let",	 "typedef"};

		parse_unexpected(p, "'{'");
		/* mcaro x($a) */
		if (probe.attach_points[0].count == 1 &&
		    !probe_find_provider(probe.attach_points[0].text))
			diag_hint_nearest(p->diag, probe.attach_points[0].text, words,
					  ARRAY_SIZE(words));
		return;
	}
	probe.predicate = parse_predicate(p);
	probe.body = p->failed ? NULL : parse_block(p, NULL);
	if (!p->failed)
		vector_push(&p->probes, probe);
}
