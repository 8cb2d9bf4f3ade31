/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"
#include "view/sink.h"

static void cell(struct sink *s, const struct sink_column *c, const struct sink_value *v)
{
	const size_t start = s->out->len;
	int len, room;

	if (v->shown)
		strbuf_addstr(s->out, v->shown);
	else if (v->text)
		escape_line(s->out, v->text, v->len);
	else
		strbuf_addf(s->out, "%" PRIu64, v->number);
	len = (int)(s->out->len - start);
	room = MAX(abs(c->width) - len, 0);
	strbuf_addchars(s->out, ' ', room);
	if (c->width < 0) {
		memmove(s->out->data + start + room, s->out->data + start, (size_t)len);
		memset(s->out->data + start, ' ', (size_t)room);
	}
	if (c[1].key || c[1].title)
		strbuf_addch(s->out, ' ');
}

static void row(struct sink *s, const struct sink_value *values)
{
	if (s->indent)
		strbuf_addstr(s->out, s->indent);
	for (const struct sink_column *c = s->columns; c->key || c->title; c++, values++)
		if (c->title)
			cell(s, c, values);
	strbuf_addch(s->out, '\n');
}

static void header(struct sink *s)
{
	struct sink_value titles[32] = {0};

	for (u32 i = 0; i < ARRAY_SIZE(titles) && (s->columns[i].key || s->columns[i].title); i++)
		titles[i].shown = s->columns[i].title;
	row(s, titles);
}

const struct sink_format sink_as_text = {.header = header, .row = row};
