/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/table.h"

#include <ctype.h>

#include "base/escape.h"
#include "cmd/report/time.h"

/* ---- rows ---- */

struct table_row *table_add(struct report_table *t, u32 depth, const char *const *names)
{
	struct table_row *row = arena_new(&t->arena, struct table_row);

	row->depth = depth;
	row->names = names;
	vector_push(&t->rows, row);
	return row;
}

struct table_row *table_add_flat(struct report_table *t, const char *name)
{
	const char **names = arena_new_array(&t->arena, const char *, 1);

	*names = arena_strdup(&t->arena, name);
	return table_add(t, 0, names);
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct table_row *x = *(struct table_row *const *)a;
	const struct table_row *y = *(struct table_row *const *)b;
	const u32 column = *(const u32 *)arg;

	if (x->values[column] != y->values[column])
		return x->values[column] < y->values[column] ? 1 : -1;
	return strcmp(x->names[0], y->names[0]);
}

void table_sort(struct report_table *t)
{
	if (t->rows.len)
		qsort_r(t->rows.items, t->rows.len, sizeof(*t->rows.items), by_value, &t->main);
}

void table_release(struct report_table *t)
{
	vector_free(&t->rows);
	arena_release(&t->arena);
}

/* ---- values ---- */

static void add_decimal(struct strbuf *out, u64 value, u64 unit, int digits)
{
	strbuf_addf(out, "%" PRIu64 ".%0*" PRIu64, value / unit, digits, value % unit);
}

static u64 add_sign(struct strbuf *out, u64 value, enum table_unit unit)
{
	const bool is_negative = (s64)value < 0;

	if (is_negative || unit == TABLE_POINTS)
		strbuf_addch(out, is_negative ? '-' : '+');
	return is_negative ? -value : value;
}

void table_value_text(u64 value, enum table_unit unit, const struct table_style *style,
		      struct strbuf *out)
{
	if (unit != TABLE_COUNT && unit != TABLE_TIME)
		value = add_sign(out, value, unit);
	switch (unit) {
	case TABLE_COUNT:
	case TABLE_SIGNED:
		strbuf_addf(out, "%" PRIu64, value);
		break;
	case TABLE_POINTS:
	case TABLE_PERCENT:
		add_decimal(out, value, 100, 2);
		strbuf_addch(out, '%');
		break;
	case TABLE_MILLI:
		add_decimal(out, value, 1000, 3);
		break;
	case TABLE_MS: /* to the nearest microsecond */
		add_decimal(out, (value + 500) / 1000, 1000, 3);
		break;
	case TABLE_US:
		add_decimal(out, value, 1000, 3);
		break;
	case TABLE_TIME:
		if (value)
			report_time_text((s64)value, style->utc, style->as_recorded, out);
		else
			strbuf_addch(out, '-');
		break;
	}
}

/* In JSON and CSV, times and durations are in nanoseconds. */
struct number {
	u64 value;
	enum table_unit unit;
};

static void add_number(const void *arg, struct json *j)
{
	const struct number *const n = arg;
	const u64 part = n->unit == TABLE_MILLI ? 1000 : 100;
	const int digits = n->unit == TABLE_MILLI ? 3 : 2;
	struct strbuf text = STRBUF_INIT;

	switch (n->unit) {
	case TABLE_COUNT:
		json_u64(j, n->value);
		break;
	case TABLE_PERCENT:
	case TABLE_POINTS:
	case TABLE_MILLI:
		if ((s64)n->value < 0)
			strbuf_addch(&text, '-');
		add_decimal(&text, (u64)llabs((s64)n->value), part, digits);
		json_decimal(j, text.data, text.len);
		break;
	default:
		json_s64(j, (s64)n->value);
	}
	strbuf_release(&text);
}

/* ---- printing ---- */

struct printer {
	const struct report_table *table;
	const struct table_style *style;
	struct arena arena;
	struct sink sink;
	struct sink_column columns[TABLE_COLUMNS + TABLE_KEYS + 2];
	u32 nr_columns; /* the numbers; the names come after them */
	bool is_text;
};

/* The lines of a name (a call chain, innermost first) become a list. */
static void add_lines(const void *arg, struct json *j)
{
	const char *line = arg;

	json_array(j);
	for (const char *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		json_string(j, line, (size_t)(end - line));
	}
	json_end(j, ']');
}

/* -g: the row's path in the call tree, from its root. */
struct frames {
	const struct report_table *table;
	const struct table_row *row;
};

static void add_frames(const void *arg, struct json *j)
{
	const struct frames *const f = arg;

	json_array(j);
	for (u32 i = f->table->nr_keys; i <= f->row->depth; i++)
		json_string(j, f->row->names[i], strlen(f->row->names[i]));
	json_end(j, ']');
}

static bool has_frames(const struct report_table *t)
{
	for (size_t i = 0; i < t->rows.len; i++)
		if (t->rows.items[i]->depth >= t->nr_keys)
			return true;
	return false;
}

static const char *title_of_names(struct printer *p)
{
	struct strbuf title = STRBUF_INIT;
	const char *ret;

	for (u32 i = 0; i < p->table->nr_keys; i++)
		strbuf_addf(&title, "%s%s", i ? ", " : "", p->table->keys[i]);
	for (size_t i = 0; i < title.len; i++)
		title.data[i] = (char)toupper((u8)title.data[i]);
	ret = arena_strdup(&p->arena, title.data);
	strbuf_release(&title);
	return ret;
}

static const char *upper(struct arena *a, const char *text)
{
	char *const copy = arena_strdup(a, text);

	for (char *c = copy; *c; c++)
		*c = (char)toupper((u8)*c);
	return copy;
}

static void fill_columns(struct printer *p)
{
	const struct report_table *const t = p->table;
	u32 n = 0;

	for (const struct table_column *c = t->columns; c->key || c->title; c++)
		p->columns[n++] = (struct sink_column){c->key, c->title,
						       c->title ? -(int)strlen(c->title) : 0};
	p->nr_columns = n;
	if (p->is_text && !t->is_flat) {
		p->columns[n++] = (struct sink_column){.title = title_of_names(p)};
		return;
	}
	for (u32 i = 0; i < t->nr_keys; i++) {
		const char *const title = upper(&p->arena, t->keys[i]);

		p->columns[n++] = (struct sink_column){t->keys[i], title, (int)strlen(title)};
	}
	if (!p->is_text && has_frames(t))
		p->columns[n++] = (struct sink_column){.key = "frames"};
}

static const char *shown(struct printer *p, u64 value, enum table_unit unit)
{
	struct strbuf text = STRBUF_INIT;
	const char *ret;

	table_value_text(value, unit, p->style, &text);
	ret = arena_strdup(&p->arena, text.data);
	strbuf_release(&text);
	return ret;
}

/* Makes each column as wide as its widest value. */
static void fit(struct printer *p)
{
	const struct report_table *const t = p->table;

	for (size_t r = 0; r < t->rows.len; r++) {
		for (u32 i = 0; i < p->nr_columns; i++) {
			const char *text =
				shown(p, t->rows.items[r]->values[i], t->columns[i].unit);

			p->columns[i].width = MIN(p->columns[i].width, -(int)strlen(text));
		}
		for (u32 i = 0; t->is_flat && i + 1 < t->nr_keys; i++)
			p->columns[p->nr_columns + i].width =
				MAX(p->columns[p->nr_columns + i].width,
				    MIN((int)strlen(t->rows.items[r]->names[i]), 60));
	}
	p->columns[p->nr_columns + (t->is_flat ? t->nr_keys - 1 : 0)].width = 0;
}

/* Lines after the first are printed below it. */
static const char *tree_name(struct printer *p, const char *name, u32 depth)
{
	int indent = 2 * (int)depth;
	struct strbuf text = STRBUF_INIT;
	const char *ret, *end;

	strbuf_addchars(&text, ' ', indent);
	for (u32 i = 0; i < p->nr_columns; i++)
		indent += p->columns[i].title ? 1 - p->columns[i].width : 0;
	for (bool is_first = true;; is_first = false, name = end + 1) {
		end = strchrnul(name, '\n');
		if (!is_first) {
			strbuf_addch(&text, '\n');
			strbuf_addchars(&text, ' ', indent + 2);
		}
		escape_line(&text, name, (size_t)(end - name));
		if (!*end)
			break;
	}
	ret = arena_strdup(&p->arena, text.data);
	strbuf_release(&text);
	return ret;
}

static void print_text_row(struct printer *p, const struct table_row *row, bool only_sums)
{
	const struct report_table *const t = p->table;
	struct sink_value values[ARRAY_SIZE(p->columns)] = {0};
	u32 n = 0;

	for (; n < p->nr_columns; n++) {
		const bool is_sum = t->columns[n].grows || t->columns[n].unit == TABLE_PERCENT;

		values[n] = SINK_SHOWN(
			!only_sums || is_sum ? shown(p, row->values[n], t->columns[n].unit) : "");
	}
	if (t->is_flat && !only_sums)
		for (u32 i = 0; i < row->depth; i++)
			values[n++] = SINK_TEXT(row->names[i]);
	values[n++] = SINK_SHOWN(tree_name(p, row->names[row->depth], t->is_flat ? 0 : row->depth));
	while (n < ARRAY_SIZE(values))
		values[n++] = SINK_SHOWN("");
	p->sink.format->row(&p->sink, values);
}

/* JSON and CSV have only leaf rows: sums over others are left out. */
static void print_data_row(struct printer *p, const struct table_row *row)
{
	const struct report_table *const t = p->table;
	struct sink_value values[ARRAY_SIZE(p->columns)] = {0};
	struct number numbers[TABLE_COLUMNS];
	const struct frames frames = {t, row};
	u32 n = 0;

	if (row->depth + 1 < t->nr_keys)
		return;
	for (; n < p->nr_columns; n++) {
		numbers[n] = (struct number){row->values[n], t->columns[n].unit};
		values[n] = SINK_PARTS(add_number, &numbers[n]);
	}
	for (u32 i = 0; i < t->nr_keys; i++)
		values[n++] = p->style->format == TABLE_JSON && str_eq(t->keys[i], "stack")
				      ? SINK_PARTS(add_lines, row->names[i])
				      : SINK_TEXT(row->names[i]);
	values[n] = SINK_PARTS(add_frames, &frames);
	p->sink.format->row(&p->sink, values);
}

/* Prints "(12 more)" with the sums of the row at `at` and the rows after it on its level. */
static void print_rest(struct printer *p, size_t at)
{
	const struct report_table *const t = p->table;
	const u32 depth = t->rows.items[at]->depth;
	struct table_row sum = {.depth = depth};
	const char **const names = arena_new_array(&p->arena, const char *, depth + 1);
	u64 n = 0;

	for (; at < t->rows.len && t->rows.items[at]->depth >= depth; at++) {
		if (t->rows.items[at]->depth > depth)
			continue;
		for (u32 i = 0; i < p->nr_columns; i++)
			sum.values[i] += t->rows.items[at]->values[i];
		n++;
	}
	sum.names = names;
	names[depth] = arena_printf(&p->arena, "(%" PRIu64 " more)", n);
	print_text_row(p, &sum, true);
}

static void print_rows(struct printer *p)
{
	const struct report_table *const t = p->table;
	VECTOR(u64) printed = {0}; /* by depth */

	for (size_t i = 0; i < t->rows.len; i++) {
		const struct table_row *const row = t->rows.items[i];
		const bool is_over = p->style->limit && printed.len > row->depth &&
				     printed.items[row->depth] >= p->style->limit;

		if (is_over) {
			if (p->is_text)
				print_rest(p, i);
			while (i + 1 < t->rows.len && t->rows.items[i + 1]->depth >= row->depth)
				i++;
			continue;
		}
		while (printed.len <= row->depth)
			vector_push(&printed, 0);
		printed.items[row->depth]++;
		printed.len = row->depth + 1;
		if (p->is_text)
			print_text_row(p, row, false);
		else
			print_data_row(p, row);
	}
	vector_free(&printed);
}

/* The sink prints no CSV header. */
static void print_csv_titles(struct printer *p, struct strbuf *out)
{
	bool is_first = true;

	for (const struct sink_column *c = p->columns; c->key || c->title; c++) {
		if (!c->key)
			continue;
		strbuf_addf(out, "%s%s", is_first ? "" : ",", c->key);
		is_first = false;
	}
	strbuf_addch(out, '\n');
}

void table_print(const struct report_table *t, const struct table_style *style, struct strbuf *out)
{
	struct printer p = {.table = t, .style = style, .is_text = style->format == TABLE_TEXT};

	p.sink = (struct sink){.format = p.is_text		       ? &sink_as_text
					 : style->format == TABLE_JSON ? &sink_as_json
								       : &sink_as_csv,
			       .columns = p.columns,
			       .out = out,
			       .separator = ","};
	fill_columns(&p);
	if (p.is_text) {
		fit(&p);
		sink_header(&p.sink);
	}
	if (style->format == TABLE_CSV)
		print_csv_titles(&p, out);
	print_rows(&p);
	arena_release(&p.arena);
}
