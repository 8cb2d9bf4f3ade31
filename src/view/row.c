/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/row.h"

#include <ctype.h>
#include <stdio.h>

#include "base/escape.h"
#include "view/printf_text.h"
#include "view/width.h"

#define MAX_COLUMNS 32

struct column {
	char name[32];
	/*
	 * its parts of the format (a range), without the name, and the width that is the column's
	 * own
	 */
	struct format format;
	int width;
	bool has_width, left, hidden, is_matched, is_stack;
};

struct columns {
	struct column list[MAX_COLUMNS];
	u32 count;
};

/* A format as this reader wants it printed: parsed once, used for each row. */
struct row_layout {
	const struct format *format;
	struct columns columns;
	u32 last; /* the last column that is seen */
	struct format_part *parts;
};

/* Where "NAME=" begins at the end of a literal; -1 if the literal does not name a column. */
static int name_start(const struct format_part *part)
{
	int i = (int)part->len - 1;

	if (part->kind != CONVERSION_LITERAL || i < 1 || part->text[i] != '=')
		return -1;
	while (i > 0 &&
	       (isalnum((unsigned char)part->text[i - 1]) || strchr("_:-", part->text[i - 1])))
		i--;
	return isupper((unsigned char)part->text[i]) || str_starts(part->text + i, "--=") ? i : -1;
}

static bool is_hidden(const struct row_style *s, const char *name)
{
	for (size_t i = 0; i < s->hidden.len; i++)
		if (str_eq(s->hidden.items[i], name))
			return true;
	return false;
}

static void begin_column(struct columns *c, const struct row_style *s, const char *name, size_t len)
{
	struct column *col = &c->list[c->count++];

	*col = (struct column){0};
	snprintf(col->name, sizeof(col->name), "%.*s", (int)len, name);
	col->is_stack = str_eq(col->name, "STACK");
	col->hidden = col->is_stack || is_hidden(s, col->name);
}

/* Text before the next name, other than blanks ("%% NEXT="), belongs to the column before it. */
static void keep_unit(struct columns *c, struct format_part *part, int len)
{
	struct column *last;

	while (len > 0 && part->text[len - 1] == ' ')
		len--;
	if (!len || !c->count)
		return;
	last = &c->list[c->count - 1];
	part->len = (u32)len;
	if (!last->format.nparts++)
		last->format.parts = part;
}

/* parts: a copy of the format's, which the columns point into. */
static void split_columns(struct columns *c, const struct row_style *s, const struct format *f,
			  struct format_part *parts)
{
	c->count = 0;
	for (u32 i = 0; i < f->nparts; i++) {
		struct format_part *part = &parts[i];
		const char *text = part->text;
		const size_t len = part->len;
		int start = name_start(part);
		struct column *col;

		if (start >= 0) {
			if (c->count == MAX_COLUMNS)
				return;
			keep_unit(c, part, start);
			begin_column(c, s, text + start, len - 1 - (size_t)start);
			continue;
		}
		if (!c->count)
			continue;
		col = &c->list[c->count - 1];
		if (!col->format.nparts++)
			col->format.parts = part;
		/* The first width is the column's; the others belong to their numbers ("%u.%03u").
		 */
		if (part->kind == CONVERSION_ARGUMENT && !col->has_width) {
			col->has_width = true;
			col->width = part->width > 0 ? part->width : 0;
			col->left = part->left;
			part->width = -1;
		}
	}
}

static u32 last_visible(const struct columns *c)
{
	u32 last = 0;

	for (u32 i = 0; i < c->count; i++)
		if (!c->list[i].hidden)
			last = i;
	return last;
}

static struct row_layout *layout_of(struct row_style *s, const struct format *f)
{
	struct row_layout *l = s->last_layout;
	bool is_new;
	void **place;

	if (l && l->format == f)
		return l;
	place = hashmap_put(&s->layouts, &f, sizeof(f), &is_new);
	if (is_new) {
		l = xzalloc(sizeof(*l));
		l->format = f;
		l->parts = xreallocarray(NULL, f->nparts + 1, sizeof(*l->parts));
		memcpy(l->parts, f->parts, f->nparts * sizeof(*l->parts));
		split_columns(&l->columns, s, f, l->parts);
		l->last = last_visible(&l->columns);
		for (size_t i = 0; i < s->matches.len; i++)
			for (u32 k = 0; k < l->columns.count; k++)
				if (str_eq(l->columns.list[k].name, s->matches.items[i].column))
					l->columns.list[k].is_matched = true;
		*place = l;
	}
	s->last_layout = *place;
	return *place;
}

const char *row_style_match(struct row_style *s, const char *column, const char *expression)
{
	struct row_match m = {.column = column};
	static char message[128];
	int rc = regcomp(&m.regex, expression, REG_EXTENDED | REG_NOSUB);

	if (rc) {
		regerror(rc, &m.regex, message, sizeof(message));
		return message;
	}
	vector_push(&s->matches, m);
	return NULL;
}

void row_style_release(struct row_style *s)
{
	for (size_t i = 0; i < s->matches.len; i++)
		regfree(&s->matches.items[i].regex);
	vector_free(&s->matches);
	vector_free(&s->hidden);
	hashmap_each (&s->layouts, e) {
		struct row_layout *l = e->value;

		free(l->parts);
		free(l);
	}
	hashmap_release(&s->layouts);
	strbuf_release(&s->cell);
	strbuf_release(&s->report_time);
	s->last_layout = NULL;
}

/* Pads the text in out that begins at `start` to the column's width. */
static void pad(struct strbuf *out, const struct column *c, size_t start, bool is_last)
{
	size_t len = out->len - start;
	int fill = c->width - (int)len;

	if (fill <= 0 || (c->left && is_last))
		return;
	strbuf_addchars(out, ' ', fill);
	if (!c->left) {
		memmove(out->data + start + fill, out->data + start, len);
		memset(out->data + start, ' ', (size_t)fill);
	}
}

void row_header(struct row_style *s, struct output *out, const struct format *f)
{
	const size_t begin = out->text.len;
	const struct row_layout *l;
	bool first = true;

	if (s->header_done || out->is_json)
		return;
	s->header_done = true;
	l = layout_of(s, f);
	for (u32 i = 0; i < l->columns.count; i++) {
		const struct column *c = &l->columns.list[i];
		size_t start;

		if (c->hidden)
			continue;
		if (!first)
			strbuf_addch(&out->text, ' ');
		first = false;
		start = out->text.len;
		strbuf_addstr(&out->text, c->name);
		pad(&out->text, c, start, i == l->last);
	}
	strbuf_addch(&out->text, '\n');
	text_fit(&out->text, begin, s->width);
}

/* Cuts an argument list after `limit` NUL-separated words. payload is a private copy. */
static void limit_arguments(const struct row_style *s, const struct column *c, const struct type *t,
			    u8 *payload)
{
	for (u32 i = 0; i < c->format.nparts; i++) {
		const struct format_part *part = &c->format.parts[i];
		u8 *buffer;
		u32 len, words = 0;

		if (part->kind != CONVERSION_ARGUMENT || part->conversion != 'a')
			continue;
		buffer = payload + t->members[part->argument].offset;
		memcpy(&len, buffer, sizeof(len));
		len = MIN(len, t->members[part->argument].type->size - 4);
		for (u32 k = 0; k < len; k++)
			if (!buffer[4 + k] && ++words == s->limit) {
				static const char more[] = "[...]";

				if (k + 1 < len && k + 1 + sizeof(more) <= len) {
					memcpy(buffer + 4 + k + 1, more, sizeof(more));
					k += sizeof(more);
				}
				len = k + 1;
			}
		memcpy(buffer, &len, sizeof(len));
	}
}

static bool passes(const struct row_style *s, const char *column, const char *text)
{
	for (size_t i = 0; i < s->matches.len; i++)
		if (str_eq(s->matches.items[i].column, column) &&
		    regexec(&s->matches.items[i].regex, text, 0, NULL, 0))
			return false;
	return true;
}

static void json_name(struct json *j, const char *name)
{
	char lower[sizeof(((struct column *)0)->name)];
	size_t n = 0;

	for (; name[n]; n++)
		lower[n] = (char)tolower((unsigned char)name[n]);
	json_key_bytes(j, lower, n);
}

/* The words of an argument list. */
static void json_words(struct json *j, const u8 *data, u32 len)
{
	u32 begin = 0;

	json_array(j);
	for (u32 i = 0; i < len; i++)
		if (!data[i] || i == len - 1) {
			json_string(j, (const char *)data + begin, i - begin + (data[i] ? 1 : 0));
			begin = i + 1;
		}
	json_end(j, ']');
}

/* The frames, which are lines of a text. */
static void json_frames(struct json *j, const char *text)
{
	json_array(j);
	while (*text) {
		const char *frame = text + strspn(text, " \t");
		const size_t n = strcspn(frame, "\n");

		if (n)
			json_string(j, frame, n);
		text = frame + n + (frame[n] == '\n');
	}
	json_end(j, ']');
}

/* Is the text of a column of integers, like "%u.%03u" or "%d.%d%%", a number in JSON? */
static bool is_number_text(const struct column *c, const struct type *t, const char *text)
{
	const char *point = strchr(text, '.');
	size_t digits;

	for (u32 i = 0; i < c->format.nparts; i++) {
		const struct format_part *part = &c->format.parts[i];

		if (part->kind == CONVERSION_ARGUMENT &&
		    (!type_is_integer(t->members[part->argument].type) ||
		     !strchr("duT", part->conversion)))
			return false;
	}
	text += *text == '-';
	digits = strspn(text, "0123456789.");
	return isdigit((unsigned char)*text) &&
	       (text[0] != '0' || !isdigit((unsigned char)text[1])) &&
	       (!text[digits] || str_eq(text + digits, "%")) &&
	       (!point || (isdigit((unsigned char)point[1]) && !strchr(point + 1, '.')));
}

static void json_column(struct value_printer *p, struct json *j, const struct column *c,
			const struct type *t, const u8 *payload, const char *text, size_t len)
{
	const struct format_part *only = c->format.parts;
	const struct type_member *m;

	json_name(j, c->name);
	if (c->is_stack) {
		json_frames(j, text);
		return;
	}
	if (c->format.nparts == 1 && only->kind == CONVERSION_ARGUMENT) {
		m = &t->members[only->argument];
		if (type_is(m->type, TYPE_BUFFER) && only->conversion == 'a') {
			u32 n;

			memcpy(&n, payload + m->offset, sizeof(n));
			json_words(j, payload + m->offset + 4, MIN(n, m->type->size - 4));
			return;
		}
		if (type_is_integer(m->type) && only->conversion != 'T') {
			value_json(p, j, m->type, payload + m->offset);
			return;
		}
	}
	if (is_number_text(c, t, text))
		json_decimal(j, text, strcspn(text, "%")); /* of "99.7%" the number */
	else
		json_string(j, text, len);
}

/* Expressions are matched against the kernel's strings, not against their escaped form. */
static bool row_passes(struct row_style *s, struct value_printer *p, const struct columns *c,
		       const struct type *t, const u8 *payload)
{
	bool all = true;

	p->raw = true;
	for (u32 i = 0; i < c->count && all; i++) {
		if (!c->list[i].is_matched)
			continue;
		strbuf_reset(&s->cell);
		format_text(p, &s->cell, &c->list[i].format, t, payload);
		all = passes(s, c->list[i].name, s->cell.data);
	}
	p->raw = false;
	return all;
}

static void text_row(const struct row_style *s, struct value_printer *p, struct strbuf *out,
		     const struct row_layout *l, const struct type *t, const u8 *payload)
{
	const size_t begin = out->len;
	bool first = true;

	p->one_line = true;
	for (u32 i = 0; i < l->columns.count; i++) {
		const struct column *c = &l->columns.list[i];
		size_t start;

		if (c->hidden)
			continue;
		if (!first)
			strbuf_addch(out, ' ');
		first = false;
		start = out->len;
		format_text(p, out, &c->format, t, payload);
		pad(out, c, start, i == l->last);
	}
	p->one_line = false;
	strbuf_addch(out, '\n');
	for (u32 i = 0; i < l->columns.count; i++)
		if (l->columns.list[i].is_stack) {
			format_text(p, out, &l->columns.list[i].format, t, payload);
			strbuf_addch(out, '\n');
		}
	text_fit(out, begin, s->width);
}

static void json_row(struct row_style *s, struct value_printer *p, struct strbuf *out,
		     const struct columns *c, const struct type *t, const u8 *payload)
{
	struct json j = JSON_INIT(out);

	p->raw = true;
	json_object(&j);
	for (u32 i = 0; i < c->count; i++) {
		strbuf_reset(&s->cell);
		format_text(p, &s->cell, &c->list[i].format, t, payload);
		json_column(p, &j, &c->list[i], t, payload, s->cell.data, s->cell.len);
	}
	json_end(&j, '}');
	json_end_line(&j);
	p->raw = false;
}

void row_print(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct type *payload_type, const u8 *payload)
{
	const struct row_layout *l = layout_of(s, f);
	u8 *copy = NULL;

	row_header(s, out, f);
	if (s->matches.len && !row_passes(s, p, &l->columns, payload_type, payload))
		return;
	if (s->limit && s->limited_column) {
		copy = xmalloc(payload_type->size);
		memcpy(copy, payload, payload_type->size);
		for (u32 i = 0; i < l->columns.count; i++)
			if (str_eq(l->columns.list[i].name, s->limited_column))
				limit_arguments(s, &l->columns.list[i], payload_type, copy);
		payload = copy;
	}
	if (out->is_json)
		json_row(s, p, &out->text, &l->columns, payload_type, payload);
	else
		text_row(s, p, &out->text, l, payload_type, payload);
	free(copy);
}

/* The function alone of "uprobe:/bin/bash:readline": the rest stands above the table. */
static void table_probe(struct value_printer *p, const struct medium *to, const u8 *key)
{
	struct strbuf name = STRBUF_INIT;
	const char *last;

	value_text(p, &name, type_simple(TYPE_PROBE_NAME), key);
	last = strrchr(name.data, ':');
	last = last ? last + 1 : name.data;
	if (to->json)
		json_text(to->json, last);
	else
		strbuf_addstr(to->out, last);
	strbuf_release(&name);
}

static u32 table_keys(const struct map_view *m)
{
	if (type_is(m->key, TYPE_NONE))
		return 0;
	return m->key_is_list && type_is(m->key, TYPE_TUPLE) ? m->key->count : 1;
}

/* One cell of a table: the n-th part of the key, or the value behind the last. */
static void table_cell(struct value_printer *p, const struct medium *to, const struct map_view *m,
		       const struct map_row *row, u32 n)
{
	const bool is_part = m->key_is_list && type_is(m->key, TYPE_TUPLE);
	const u32 nkeys = table_keys(m);
	const struct type *t = is_part && n < nkeys ? m->key->members[n].type : m->key;
	const u8 *data = is_part && n < nkeys ? row->key + m->key->members[n].offset : row->key;

	if (n >= nkeys)
		map_value_add(p, to, m->value, row, 0);
	else if (!is_part && type_is(t, TYPE_PROBE_NAME))
		table_probe(p, to, data);
	else
		value_add(p, to, t, data);
}

static void table_text(const struct row_style *s, struct value_printer *p, struct strbuf *out,
		       const struct columns *c, const struct map_view *m, const struct map_row *row)
{
	const size_t begin = out->len;

	p->one_line = true;
	for (u32 k = 0; k < c->count; k++) {
		size_t start;

		if (k)
			strbuf_addch(out, ' ');
		start = out->len;
		table_cell(p, &(struct medium){.out = out}, m, row, k);
		pad(out, &c->list[k], start, k == c->count - 1);
	}
	p->one_line = false;
	strbuf_addch(out, '\n');
	text_fit(out, begin, s->width);
}

void row_report_time(struct row_style *s, struct json *j)
{
	if (s->report_time.len)
		json_member_string(j, "time", s->report_time.data, s->report_time.len);
}

static void table_json(struct row_style *s, struct value_printer *p, struct strbuf *out,
		       const struct columns *c, const struct map_view *m, const struct map_row *row)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	row_report_time(s, &j);
	for (u32 k = 0; k < c->count; k++) {
		json_name(&j, c->list[k].name);
		table_cell(p, &(struct medium){.json = &j}, m, row, k);
	}
	json_end(&j, '}');
	json_end_line(&j);
}

void row_table(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct map_view *m, u64 top)
{
	const struct columns *c = &layout_of(s, f)->columns;

	row_header(s, out, f);
	for (size_t i = top && m->nrows > top ? m->nrows - top : 0; i < m->nrows; i++) {
		if (out->is_json)
			table_json(s, p, &out->text, c, m, &m->rows[i]);
		else
			table_text(s, p, &out->text, c, m, &m->rows[i]);
	}
}
