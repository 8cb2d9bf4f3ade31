/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/heat/heat.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vector.h"
#include "view/heatmap.h"
#include "view/value.h"

#define SECOND	       1000000000ull
#define OFFSET_ROWS    50
#define COLUMNS_WANTED 120 /* the default aims at about this many */

struct heat {
	enum heat_rows kind;
	VECTOR(struct heat_point) points;
	u32 low, high; /* the rows that hold points */
	s64 first_ns, last_ns; /* last: the end of the last point */
	u32 first_row;
	struct heat_grid grid;
	u64 *counts;
	size_t *cells; /* index of each cell's first point, once they are sorted */
};

struct heat *heat_new(enum heat_rows rows)
{
	struct heat *h = xzalloc(sizeof(*h));

	h->kind = rows;
	h->low = UINT32_MAX;
	return h;
}

void heat_release(struct heat *h)
{
	if (!h)
		return;
	vector_free(&h->points);
	free(h->counts);
	free(h->cells);
	free(h);
}

/* Right for times before 1970, too. */
static u64 in_second(s64 ns)
{
	const s64 rest = ns % (s64)SECOND;

	return (u64)(rest < 0 ? rest + (s64)SECOND : rest);
}

static u32 row_of(const struct heat *h, s64 ns, u64 value)
{
	return h->kind == HEAT_VALUES	 ? heatmap_row(value)
	       : h->kind == HEAT_OFFSETS ? (u32)(in_second(ns) / (SECOND / OFFSET_ROWS))
					 : (u32)MIN(value, 65535ull);
}

void heat_add(struct heat *h, s64 ns, u64 value, u64 weight, u32 stack)
{
	const u32 row = row_of(h, ns, value);
	const s64 end = h->kind == HEAT_CPUS ? ns + (s64)weight - (weight > 0) : ns;
	const u32 number = (u32)h->points.len;

	if (!h->points.len || ns < h->first_ns)
		h->first_ns = ns;
	if (!h->points.len || end > h->last_ns)
		h->last_ns = end;
	h->low = MIN(h->low, row);
	h->high = MAX(h->high, row);
	vector_push(&h->points, (struct heat_point){ns, weight, row, stack, number});
}

/* ---- the grid ---- */

/* 1, 2 or 5 times a power of ten. */
static u64 round_step(u64 least)
{
	u64 ten = 1;

	while (ten * 10 <= least && ten < UINT64_MAX / 100)
		ten *= 10;
	return least <= ten	  ? ten
	       : least <= 2 * ten ? 2 * ten
	       : least <= 5 * ten ? 5 * ten
				  : 10 * ten;
}

static s64 floor_to(s64 ns, u64 step)
{
	const s64 rest = ns % (s64)step;

	return ns - (rest < 0 ? rest + (s64)step : rest);
}

/* Values: whole powers of two, so that the axis has labels. Offsets: all parts of a second. */
static void choose_rows(struct heat *h)
{
	struct heat_grid *const g = &h->grid;

	if (h->kind == HEAT_OFFSETS) {
		g->rows = OFFSET_ROWS;
	} else if (h->kind == HEAT_CPUS) {
		g->rows = h->points.len ? h->high + 1 : 1;
	} else {
		h->first_row = h->points.len ? h->low / 4 * 4 : 0;
		g->rows = (h->points.len ? h->high / 4 * 4 + 4 : 4) - h->first_row;
	}
}

static u32 column_of(const struct heat_grid *g, s64 ns)
{
	return (u32)((u64)(ns - g->begin_ns) / g->step_ns);
}

static void count(struct heat *h, u32 column, u32 row, u64 weight)
{
	struct heat_grid *const g = &h->grid;
	u64 *const cell = &h->counts[(size_t)column * g->rows + row];

	g->filled += !*cell && weight;
	*cell += weight;
	g->total += weight;
	g->most = MAX(g->most, *cell);
}

/* A point with a duration is counted in every column that it overlaps, with its share there. */
static void count_lasting(struct heat *h, const struct heat_point *p)
{
	const struct heat_grid *const g = &h->grid;
	u64 left = p->weight;
	s64 at = p->ns;

	while (left) {
		const u32 column = column_of(g, at);
		const s64 end = g->begin_ns + (s64)(column + 1) * (s64)g->step_ns;
		const u64 part = MIN(left, (u64)(end - at));

		count(h, column, p->row, part);
		left -= part;
		at = end;
	}
}

static size_t cell_of(const struct heat *h, const struct heat_point *p)
{
	return (size_t)column_of(&h->grid, p->ns) * h->grid.rows + p->row - h->first_row;
}

static int compare_points(const void *a, const void *b, void *arg)
{
	const struct heat_point *x = a, *y = b;
	const size_t cx = cell_of(arg, x), cy = cell_of(arg, y);

	return cx != cy		      ? (cx > cy) - (cx < cy)
	       : x->stack != y->stack ? (x->stack > y->stack) - (x->stack < y->stack)
				      : (x->number > y->number) - (x->number < y->number);
}

/* Sorts the points by cell and stack, and notes where each cell's points begin. */
static void sort_points(struct heat *h)
{
	const size_t n = (size_t)h->grid.columns * h->grid.rows;
	size_t at = 0;

	if (h->points.len)
		qsort_r(h->points.items, h->points.len, sizeof(*h->points.items), compare_points,
			h);
	h->cells = xreallocarray(NULL, n + 1, sizeof(*h->cells));
	for (size_t cell = 0; cell <= n; cell++) {
		while (at < h->points.len && cell_of(h, &h->points.items[at]) < cell)
			at++;
		h->cells[cell] = at;
	}
}

int heat_finish(struct heat *h, u64 step_ns)
{
	struct heat_grid *const g = &h->grid;
	const u64 range = (u64)(h->last_ns - h->first_ns);

	if (h->kind == HEAT_OFFSETS)
		step_ns = SECOND;
	g->step_ns = step_ns ?: round_step(range / COLUMNS_WANTED);
	g->begin_ns = floor_to(h->first_ns, g->step_ns);
	if ((u64)(h->last_ns - g->begin_ns) / g->step_ns >= HEAT_COLUMNS_MOST)
		return -E2BIG;
	g->columns = column_of(g, h->last_ns) + 1;
	g->by_second = h->kind == HEAT_OFFSETS;
	choose_rows(h);
	h->counts = xzalloc((size_t)g->columns * g->rows * sizeof(*h->counts));
	g->counts = h->counts;
	for (size_t i = 0; i < h->points.len; i++) {
		const struct heat_point *const p = &h->points.items[i];

		if (h->kind == HEAT_CPUS)
			count_lasting(h, p);
		else
			count(h, column_of(g, p->ns), p->row - h->first_row, p->weight);
	}
	if (h->kind == HEAT_CPUS)
		g->full = g->step_ns;
	else
		sort_points(h);
	return 0;
}

const struct heat_grid *heat_grid(const struct heat *h)
{
	return &h->grid;
}

const struct heat_point *heat_points(const struct heat *h, u32 column, u32 row, size_t *ret_n)
{
	const size_t cell = (size_t)column * h->grid.rows + row;

	*ret_n = h->cells[cell + 1] - h->cells[cell];
	return h->points.items + h->cells[cell];
}

/* ---- texts ---- */

u64 heat_row_begin(const struct heat *h, u32 row)
{
	return h->kind == HEAT_VALUES	 ? heatmap_row_begin(h->first_row + row)
	       : h->kind == HEAT_OFFSETS ? row * (SECOND / OFFSET_ROWS)
					 : row;
}

void heat_row_tick(const struct heat *h, const struct heat_options *o, u32 row, struct strbuf *out)
{
	if (h->kind == HEAT_CPUS)
		strbuf_addf(out, "CPU %u", row);
	else if (h->kind == HEAT_OFFSETS)
		strbuf_addf(out, "%u ms", row * (u32)(1000 / OFFSET_ROWS));
	else
		heatmap_add_value(out, o->unit, heat_row_begin(h, row));
}

void heat_row_text(const struct heat *h, const struct heat_options *o, u32 row, struct strbuf *out)
{
	heat_row_tick(h, o, row, out);
	if (h->kind == HEAT_CPUS)
		return;
	strbuf_addstr(out, " to ");
	heat_row_tick(h, o, row + 1, out);
}

void heat_column_text(const struct heat *h, const struct heat_options *o, u32 column,
		      struct strbuf *out)
{
	const s64 ns = h->grid.begin_ns + (s64)column * (s64)h->grid.step_ns;
	const char *const format = h->grid.step_ns % SECOND == 0    ? "%H:%M:%S"
				   : h->grid.step_ns % 1000000 == 0 ? "%H:%M:%S.%l"
				   : h->grid.step_ns % 1000 == 0    ? "%H:%M:%S.%f"
								    : "%H:%M:%S.%k";

	if (o->is_unplaced || ns < 0)
		strbuf_addf(out, "+%.9g s", (double)(column * h->grid.step_ns) / 1e9);
	else
		time_text(out, format, (u64)ns);
}

/* ---- colours ---- */

/*
 * Colours from the lowest to the highest count, on a light and on a dark background. Between the
 * four colours there are three linear gradients.
 */
static const u8 ramps[2][4][3] = {
	{{254, 236, 206}, {253, 174, 97}, {215, 72, 39}, {90, 10, 50}},
	{{62, 30, 60}, {150, 44, 80}, {237, 105, 60}, {252, 230, 150}},
};

/*
 * By the square root of the count, so that rare events are visible. Where a cell has a maximum: by
 * the share of it.
 */
u32 heat_colour(const struct heat_grid *g, u64 count_, bool is_dark)
{
	const double part = g->full   ? (double)count_ / (double)g->full
			    : g->most ? sqrt((double)count_ / (double)g->most)
				      : 0;
	const double at = MIN(part, 1.0) * 3;
	const u32 from = MIN((u32)at, 2u);
	u32 rgb = 0;

	for (u32 i = 0; i < 3; i++) {
		const double a = ramps[is_dark][from][i], b = ramps[is_dark][from + 1][i];

		rgb = rgb << 8 | (u32)(a + (b - a) * (at - from) + 0.5);
	}
	return rgb;
}
