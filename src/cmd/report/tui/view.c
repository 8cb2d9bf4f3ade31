/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table's rows as a tree: folded, sorted, filtered, searched. */
#include "cmd/report/tui/tui.h"

void view_release(struct view *v)
{
	table_release(&v->table);
	vector_free(&v->rows);
	vector_free(&v->shown);
	vector_free(&v->lines.items);
	arena_release(&v->text);
	free(v);
}

const char *view_name(const struct table_row *row)
{
	return row->names[row->depth];
}

/* Rows stand before those below them. */
static void find_tree(struct view *v)
{
	VECTOR(u32) above = {0};

	for (u32 i = 0; i < v->table.rows.len; i++) {
		const struct table_row *const row = v->table.rows.items[i];
		const u32 depth = v->table.is_flat ? 0 : row->depth;

		while (above.len > depth)
			v->rows.items[above.items[--above.len]].end = i;
		vector_push(&v->rows,
			    ((struct view_row){.row = row,
					       .parent = above.len ? vector_last(&above) + 1 : 0}));
		vector_push(&above, i);
	}
	while (above.len)
		v->rows.items[above.items[--above.len]].end = (u32)v->rows.len;
	vector_free(&above);
}

static void measure(struct view *v)
{
	struct strbuf text = STRBUF_INIT;
	u32 n = 0;

	for (const struct table_column *c = v->table.columns; c->key || c->title; c++, n++) {
		v->widths[n] = c->title ? screen_width(c->title) : 0;
		for (size_t i = 0; c->title && i < v->rows.len; i++) {
			strbuf_reset(&text);
			table_value_text(v->rows.items[i].row->values[n], c->unit, &v->style,
					 &text);
			v->widths[n] = MAX(v->widths[n], screen_width(text.data));
		}
	}
	strbuf_release(&text);
}

void view_begin(struct view *v)
{
	const struct arguments *const a = v->asked.arguments;
	/* as much as there is to see without losing the overview */
	const u32 opened = a->annotate ? 0 : a->calls ? 1 : v->table.nr_keys - 1;

	v->style = (struct table_style){.utc = a->selection.utc, .as_recorded = v->asked.style};
	v->sort = VIEW_UNSORTED;
	find_tree(v);
	measure(v);
	for (size_t i = 0; i < v->rows.len; i++)
		v->rows.items[i].is_open = v->rows.items[i].row->depth < opened;
	view_arrange(v);
}

/* ---- what is shown ---- */

static bool matches(const struct view_row *r, const char *text)
{
	return strcasestr(view_name(r->row), text);
}

static void mark_above(struct view *v, u32 row)
{
	for (u32 p = v->rows.items[row].parent; p && !v->rows.items[p - 1].passes;
	     p = v->rows.items[p - 1].parent) {
		v->rows.items[p - 1].passes = true;
		v->rows.items[p - 1].is_open = true;
	}
}

static void filter(struct view *v)
{
	u32 below = 0; /* rows up to here are below one that matches */

	for (u32 i = 0; i < v->rows.len; i++)
		v->rows.items[i].passes = !*v->filter;
	for (u32 i = 0; i < v->rows.len && *v->filter; i++) {
		struct view_row *const r = &v->rows.items[i];

		if (matches(r, v->filter)) {
			mark_above(v, i);
			below = MAX(below, r->end);
		}
		r->passes |= i < below;
	}
}

static bool is_signed(enum table_unit unit)
{
	return unit == TABLE_SIGNED || unit == TABLE_POINTS || unit == TABLE_TIME;
}

static int compare(const void *a, const void *b, void *arg)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const struct view *const v = arg;
	const u64 p = v->rows.items[x].row->values[v->sort],
		  q = v->rows.items[y].row->values[v->sort];
	const bool is_less = is_signed(v->table.columns[v->sort].unit) ? (s64)p < (s64)q : p < q;

	if (p == q)
		return x < y ? -1 : 1;
	return is_less == v->is_ascending ? -1 : 1;
}

/* Rows [from, to), siblings and what is below them; all: folded ones, too. */
static void add(struct view *v, u32 from, u32 to, bool all)
{
	VECTOR(u32) siblings = {0};

	for (u32 i = from; i < to; i = v->rows.items[i].end)
		if (v->rows.items[i].passes)
			vector_push(&siblings, i);
	if (siblings.len && v->sort != VIEW_UNSORTED)
		qsort_r(siblings.items, siblings.len, sizeof(*siblings.items), compare, v);
	for (size_t i = 0; i < siblings.len; i++) {
		const u32 row = siblings.items[i];

		vector_push(&v->shown, row);
		if (all || v->rows.items[row].is_open)
			add(v, row + 1, v->rows.items[row].end, all);
	}
	vector_free(&siblings);
}

/* A row that was folded away or filtered out: the one above it, or the first. */
static void keep_selection(struct view *v)
{
	while (view_place(v) == v->shown.len && v->shown.len) {
		const u32 parent = v->rows.items[v->selected].parent;

		v->selected = parent ? parent - 1 : v->shown.items[0];
	}
}

void view_arrange(struct view *v)
{
	filter(v);
	v->shown.len = 0;
	add(v, 0, (u32)v->rows.len, false);
	keep_selection(v);
}

size_t view_place(const struct view *v)
{
	size_t i = 0;

	while (i < v->shown.len && v->shown.items[i] != v->selected)
		i++;
	return i;
}

/* ---- search ---- */

static void open_above(struct view *v, u32 row)
{
	for (u32 p = v->rows.items[row].parent; p; p = v->rows.items[p - 1].parent)
		v->rows.items[p - 1].is_open = true;
}

bool view_find(struct view *v, const char *text, bool also_here)
{
	bool found = false;
	size_t from;

	v->shown.len = 0;
	add(v, 0, (u32)v->rows.len, true);
	from = view_place(v) + !also_here;
	for (size_t i = 0; i < v->shown.len && !found; i++) {
		const u32 row = v->shown.items[(from + i) % v->shown.len];

		found = matches(&v->rows.items[row], text);
		if (!found)
			continue;
		v->selected = row;
		open_above(v, row);
	}
	view_arrange(v);
	return found;
}
