/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values with a separator between them, quoted where they need it (RFC 4180); no line of titles. */
#include "view/sink.h"

/* Controls would break the line for who reads it by lines, and reach a terminal raw. */
static void add_text(struct sink *s, const char *text, size_t len)
{
	const bool quoted =
		memmem(text, len, s->separator, strlen(s->separator)) || memchr(text, '"', len);

	if (quoted)
		strbuf_addch(s->out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			strbuf_addch(s->out, '"');
		strbuf_addch(s->out, (u8)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]);
	}
	if (quoted)
		strbuf_addch(s->out, '"');
}

static void value(struct sink *s, const struct sink_value *v)
{
	struct json j = JSON_INIT(s->out);

	if (v->text)
		add_text(s, v->text, v->len);
	else if (v->parts)
		v->parts(v->arg, &j);
	else
		strbuf_addf(s->out, "%" PRIu64, v->number);
}

static void row(struct sink *s, const struct sink_value *values)
{
	bool first = true;

	for (const struct sink_column *c = s->columns; c->key || c->title; c++, values++) {
		if (!c->key)
			continue;
		if (!first)
			strbuf_addstr(s->out, s->separator);
		value(s, values);
		first = false;
	}
	strbuf_addch(s->out, '\n');
}

static void header(struct sink *s)
{
}

const struct sink_format sink_as_csv = {.header = header, .row = row};
