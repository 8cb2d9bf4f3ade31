/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of text that are put together bottom up. */
#include "base/vector.h"
#include "lang/fmt/internal.h"

static struct format_line *last(const struct format_lines *l)
{
	return &vector_last(l);
}

static size_t columns(const struct format_line *line)
{
	return (size_t)line->indent + line->text.len;
}

void lines_init(struct format_lines *l)
{
	*l = (struct format_lines){0};
	vector_push(l, (struct format_line){.text = STRBUF_INIT});
}

void lines_release(struct format_lines *l)
{
	for (size_t i = 0; i < l->len; i++)
		strbuf_release(&l->items[i].text);
	vector_free(l);
}

void lines_addn(struct format_lines *l, const char *text, size_t n)
{
	strbuf_add(&last(l)->text, text, n);
}

void lines_add(struct format_lines *l, const char *text)
{
	strbuf_addstr(&last(l)->text, text);
}

void lines_addf(struct format_lines *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&last(l)->text, fmt, ap);
	va_end(ap);
}

void lines_break(struct format_lines *l)
{
	vector_push(l, (struct format_line){.text = STRBUF_INIT});
}

bool lines_last_empty(const struct format_lines *l)
{
	return !last(l)->text.len;
}

size_t lines_count(const struct format_lines *l)
{
	return l->len - lines_last_empty(l);
}

size_t lines_width(const struct format_lines *l)
{
	size_t width = 0;

	for (size_t i = 0; i < l->len; i++)
		if (l->items[i].text.len)
			width = MAX(width, columns(&l->items[i]));
	return width;
}

void lines_settle(struct format_lines *l)
{
	for (size_t i = 0; i < l->len; i++)
		l->items[i].is_kept = false;
}

static void append(struct format_lines *l, struct format_lines *other, int indent)
{
	const size_t n = lines_count(other);

	l->must_break |= other->must_break;
	for (size_t i = 0; i < n; i++) {
		struct format_line *from = &other->items[i];

		if (i)
			lines_break(l);
		if (lines_last_empty(l)) {
			strbuf_release(&last(l)->text);
			*last(l) = *from;
			last(l)->indent += from->is_kept ? 0 : indent;
			from->text = (struct strbuf)STRBUF_INIT;
		} else {
			strbuf_add(&last(l)->text, from->text.data, from->text.len);
		}
	}
	lines_release(other);
}

void lines_append(struct format_lines *l, struct format_lines *other)
{
	append(l, other, lines_last_empty(l) ? 0 : (int)columns(last(l)));
}

void lines_append_loose(struct format_lines *l, struct format_lines *other)
{
	append(l, other, 0);
}

void lines_append_indented(struct format_lines *l, struct format_lines *other)
{
	if (!lines_count(other)) {
		lines_release(other);
		return;
	}
	lines_break(l);
	append(l, other, FORMAT_INDENT);
	lines_break(l);
}

void lines_print(const struct format_lines *l, struct strbuf *out)
{
	const size_t n = lines_count(l);

	for (size_t i = 0; i < n; i++) {
		const struct format_line *line = &l->items[i];
		size_t len = line->text.len;

		while (len && !line->flush_left && strchr(" \t\r\f\v", line->text.data[len - 1]))
			len--;
		if (len && !line->flush_left)
			strbuf_addchars(out, ' ', line->indent);
		strbuf_add(out, line->text.data, len);
		strbuf_addch(out, '\n');
	}
}
