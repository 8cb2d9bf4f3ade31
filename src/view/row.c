/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/row.h"

#include <ctype.h>
#include <stdio.h>

#include "base/escape.h"

#define MAX_COLUMNS 32
#define MAX_PARTS   128 /* of one column: conversions and the text between them */

struct column {
	char name[32];
	struct format format; /* a range of the whole format's parts, the name cut off */
	int width;
	bool left, hidden;
};

struct columns {
	struct column list[MAX_COLUMNS];
	u32 count;
};

/* Where "NAME=" begins at the end of a literal; -1 if the literal does not name a column. */
static int name_start(const struct format_part *part)
{
	int i = (int)part->len - 1;

	if (part->kind != CONVERSION_LITERAL || i < 1 || part->text[i] != '=')
		return -1;
	while (i > 0 && (isalnum((unsigned char)part->text[i - 1]) || strchr("_:-", part->text[i - 1])))
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
	col->hidden = is_hidden(s, col->name);
}

static void split_columns(struct columns *c, const struct row_style *s, const struct format *f)
{
	c->count = 0;
	for (u32 i = 0; i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];
		int start = name_start(part);
		struct column *col;

		if (start >= 0) {
			if (c->count == MAX_COLUMNS)
				return;
			begin_column(c, s, part->text + start, part->len - 1 - (size_t)start);
			continue;
		}
		if (!c->count)
			continue;
		col = &c->list[c->count - 1];
		if (part->kind == CONVERSION_ARGUMENT && !col->width) {
			col->width = part->width > 0 ? part->width : 0;
			col->left = part->left;
		}
		if (!col->format.nparts++)
			col->format.parts = f->parts + i;
	}
}

bool row_style_match(struct row_style *s, const char *column, const char *expression)
{
	struct row_match m = {.column = column};
	char message[128];
	int rc = regcomp(&m.regex, expression, REG_EXTENDED | REG_NOSUB);

	if (rc) {
		regerror(rc, &m.regex, message, sizeof(message));
		fprintf(stderr, "pantrace: bad expression '%s': %s\n", expression, message);
		return false;
	}
	vector_push(&s->matches, m);
	return true;
}

void row_style_release(struct row_style *s)
{
	for (size_t i = 0; i < s->matches.len; i++)
		regfree(&s->matches.items[i].regex);
	vector_free(&s->matches);
	vector_free(&s->hidden);
}

static void pad(struct strbuf *out, const struct column *c, const char *text, size_t len,
		bool is_last)
{
	int fill = c->width - (int)len;

	if (!c->left)
		strbuf_addchars(out, ' ', fill);
	strbuf_add(out, text, len);
	if (c->left && !is_last)
		strbuf_addchars(out, ' ', fill);
}

static u32 last_visible(const struct columns *c)
{
	u32 last = 0;

	for (u32 i = 0; i < c->count; i++)
		if (!c->list[i].hidden)
			last = i;
	return last;
}

void row_header(struct row_style *s, struct output *out, const struct format *f)
{
	struct columns c;
	bool first = true;

	if (s->header_done || out->is_json)
		return;
	s->header_done = true;
	split_columns(&c, s, f);
	for (u32 i = 0; i < c.count; i++) {
		if (c.list[i].hidden)
			continue;
		if (!first)
			strbuf_addch(&out->text, ' ');
		first = false;
		pad(&out->text, &c.list[i], c.list[i].name, strlen(c.list[i].name),
		    i == last_visible(&c));
	}
	strbuf_addch(&out->text, '\n');
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

static void json_name(struct strbuf *out, const char *name)
{
	strbuf_addch(out, '"');
	for (const char *p = name; *p; p++)
		strbuf_addch(out, (char)tolower((unsigned char)*p));
	strbuf_addstr(out, "\":");
}

/* The words of an argument list as a JSON array. */
static void json_words(struct strbuf *out, const u8 *data, u32 len)
{
	u32 begin = 0;

	strbuf_addch(out, '[');
	for (u32 i = 0; i < len; i++)
		if (!data[i] || i == len - 1) {
			if (begin)
				strbuf_addch(out, ',');
			json_string(out, (const char *)data + begin, i - begin + (data[i] ? 1 : 0));
			begin = i + 1;
		}
	strbuf_addch(out, ']');
}

/* A column made of integers, like "%u.%03u", that reads as a number. */
static bool is_number_text(const struct column *c, const struct type *t, const char *text)
{
	const char *point = strchr(text, '.');

	for (u32 i = 0; i < c->format.nparts; i++) {
		const struct format_part *part = &c->format.parts[i];

		if (part->kind == CONVERSION_ARGUMENT &&
		    (!type_is_integer(t->members[part->argument].type) || !strchr("duT", part->conversion)))
			return false;
	}
	text += *text == '-';
	return isdigit((unsigned char)*text) && (text[0] != '0' || !isdigit((unsigned char)text[1])) &&
	       strspn(text, "0123456789.") == strlen(text) && (!point || (point[1] && !strchr(point + 1, '.')));
}

static void json_column(struct value_printer *p, struct strbuf *out, const struct column *c,
			const struct type *t, const u8 *payload, const char *text, size_t len)
{
	const struct format_part *only = c->format.parts;
	const struct type_member *m;

	json_name(out, c->name);
	if (c->format.nparts == 1 && only->kind == CONVERSION_ARGUMENT) {
		m = &t->members[only->argument];
		if (type_is(m->type, TYPE_BUFFER) && only->conversion == 'a') {
			u32 n;

			memcpy(&n, payload + m->offset, sizeof(n));
			json_words(out, payload + m->offset + 4, MIN(n, m->type->size - 4));
			return;
		}
		if (type_is_integer(m->type) && only->conversion != 'T') {
			value_json(p, out, m->type, payload + m->offset);
			return;
		}
	}
	if (is_number_text(c, t, text))
		strbuf_add(out, text, len);
	else
		json_string(out, text, len);
}

/* Text of one column without the padding of its conversions. */
static void column_text(struct value_printer *p, struct strbuf *out, const struct column *c,
			const struct type *t, const u8 *payload)
{
	struct format_part parts[MAX_PARTS];
	struct format bare = {.parts = parts, .nparts = MIN(c->format.nparts, MAX_PARTS)};

	memcpy(parts, c->format.parts, bare.nparts * sizeof(parts[0]));
	/* The first width is the column's; the others belong to their numbers ("%u.%03u"). */
	for (u32 i = 0; i < bare.nparts; i++)
		if (parts[i].kind == CONVERSION_ARGUMENT) {
			parts[i].width = -1;
			break;
		}
	format_text(p, out, &bare, t, payload);
}

static void print_columns(struct row_style *s, struct value_printer *p, struct output *out,
			  const struct columns *c, const struct type *t, const u8 *payload)
{
	struct strbuf line = STRBUF_INIT, cell = STRBUF_INIT;
	u32 last = last_visible(c);
	bool first = true;

	p->raw = out->is_json;
	if (out->is_json)
		strbuf_addch(&line, '{');
	for (u32 i = 0; i < c->count; i++) {
		const struct column *col = &c->list[i];

		strbuf_reset(&cell);
		column_text(p, &cell, col, t, payload);
		if (!passes(s, col->name, cell.data))
			goto out;
		if (col->hidden && !out->is_json)
			continue;
		if (!first)
			strbuf_addch(&line, out->is_json ? ',' : ' ');
		first = false;
		if (out->is_json)
			json_column(p, &line, col, t, payload, cell.data, cell.len);
		else
			pad(&line, col, cell.data, cell.len, i == last);
	}
	strbuf_addstr(&line, out->is_json ? "}\n" : "\n");
	strbuf_add(&out->text, line.data, line.len);
out:
	p->raw = false;
	strbuf_release(&line);
	strbuf_release(&cell);
}

void row_print(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct type *payload_type, const u8 *payload)
{
	struct columns c;
	u8 *copy = NULL;

	row_header(s, out, f);
	split_columns(&c, s, f);
	if (s->limit && s->limited_column) {
		copy = xmalloc(payload_type->size);
		memcpy(copy, payload, payload_type->size);
		for (u32 i = 0; i < c.count; i++)
			if (str_eq(c.list[i].name, s->limited_column))
				limit_arguments(s, &c.list[i], payload_type, copy);
	}
	print_columns(s, p, out, &c, payload_type, copy ? copy : payload);
	free(copy);
}

/* Of "uprobe:/bin/bash:readline" only the function: a table says the rest above it. */
static void table_probe(struct value_printer *p, struct strbuf *out, const u8 *key, bool as_json)
{
	struct strbuf name = STRBUF_INIT;
	const char *last;

	value_text(p, &name, type_simple(TYPE_PROBE_NAME), key);
	last = strrchr(name.data, ':');
	last = last ? last + 1 : name.data;
	if (as_json)
		json_string(out, last, strlen(last));
	else
		strbuf_addstr(out, last);
	strbuf_release(&name);
}

/* One cell of a table: the n-th part of the key, or the value behind the last. */
static void table_cell(struct value_printer *p, struct strbuf *out, const struct map_view *m,
		       const struct map_row *row, u32 n, u32 nkeys, bool as_json)
{
	void (*print)(struct value_printer *, struct strbuf *, const struct type *, const void *) =
		as_json ? value_json : value_text;

	if (n >= nkeys) {
		(as_json ? map_value_json : map_value_text)(p, out, m->value, row, 0);
		return;
	}
	if (m->key_is_list && type_is(m->key, TYPE_TUPLE))
		print(p, out, m->key->members[n].type, row->key + m->key->members[n].offset);
	else if (type_is(m->key, TYPE_PROBE_NAME))
		table_probe(p, out, row->key, as_json);
	else
		print(p, out, m->key, row->key);
}

void row_table(struct row_style *s, struct value_printer *p, struct output *out,
	       const struct format *f, const struct map_view *m, u64 top)
{
	u32 nkeys = type_is(m->key, TYPE_NONE)			    ? 0
		    : m->key_is_list && type_is(m->key, TYPE_TUPLE) ? m->key->count
								    : 1;
	struct strbuf cell = STRBUF_INIT;
	struct columns c;

	row_header(s, out, f);
	split_columns(&c, s, f);
	for (size_t i = top && m->nrows > top ? m->nrows - top : 0; i < m->nrows; i++) {
		for (u32 k = 0; k < c.count; k++) {
			strbuf_reset(&cell);
			table_cell(p, &cell, m, &m->rows[i], k, nkeys, out->is_json);
			if (out->is_json) {
				strbuf_addch(&out->text, k ? ',' : '{');
				json_name(&out->text, c.list[k].name);
				strbuf_add(&out->text, cell.data, cell.len);
			} else {
				if (k)
					strbuf_addch(&out->text, ' ');
				pad(&out->text, &c.list[k], cell.data, cell.len, k == c.count - 1);
			}
		}
		strbuf_addstr(&out->text, out->is_json ? "}\n" : "\n");
	}
	strbuf_release(&cell);
}
