/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heat maps: time to the right in equal steps, upwards a value, a part of the second, or a CPU; the
 * stronger the colour the more. A page, SVG, or text. Nothing is left out: every row and column
 * between the first and the last is there, and the cells sum up to what was added.
 *
 *	struct heat *h = heat_new(HEAT_VALUES);
 *	heat_add(h, ns, 130000, 1, HEAT_NO_STACK);	// any number
 *	heat_finish(h, 0);
 *	heat_page(h, &options, out);
 */
#ifndef PANTRACE_VIEW_HEAT_HEAT_H
#define PANTRACE_VIEW_HEAT_HEAT_H

#include "view/terminal/colour.h"

enum heat_rows {
	HEAT_VALUES, /* logarithmic: four rows for each power of two */
	HEAT_OFFSETS, /* columns are seconds, rows are fiftieths of them */
	HEAT_CPUS, /* one row per CPU; points have a duration and may span columns */
};

#define HEAT_COLUMNS_MOST 10000
#define HEAT_NO_STACK	  UINT32_MAX

struct heat;

struct heat_point {
	s64 ns;
	u64 weight;
	u32 row, stack;
	u32 number; /* in the order of heat_add() */
};

struct heat_options {
	const char *title;
	const char *unit; /* of the rows: "ns", "bytes"; see heatmap.h */
	const char *counted; /* what cells count: "events", "ns" */
	const char *files; /* the recordings, as report takes them */
	bool is_unplaced; /* the wall clock is unknown: times count from the first event */
	const struct flame *flame; /* the stacks of the points; NULL = none */
	const char *stacks_of; /* the kind of events that have them */
	/* for pages: each point's event, in the order of heat_add(); NULL = they are not told */
	const struct strbuf *texts;
	u32 columns; /* of text */
	enum colours colours; /* of text */
};

struct heat *heat_new(enum heat_rows rows);
void heat_release(struct heat *h);
/*
 * value: HEAT_VALUES: any; HEAT_OFFSETS: not used; HEAT_CPUS: the CPU. weight: a count, or a
 * duration in ns. stack: the number that flame_last() of options.flame gave.
 */
void heat_add(struct heat *h, s64 ns, u64 value, u64 weight, u32 stack);
/*
 * step_ns: width of a column; 0 = chosen by the range. -E2BIG: there would be more than
 * HEAT_COLUMNS_MOST columns; nothing was done.
 */
int heat_finish(struct heat *h, u64 step_ns);

/* ---- of a finished one ---- */

struct heat_grid {
	s64 begin_ns;
	u64 step_ns;
	u32 columns, rows;
	bool by_second; /* columns are seconds, rows parts of them: time goes up, too */
	const u64 *counts; /* [column * rows + row], the lowest row first */
	u64 total, most; /* of a cell */
	u64 full; /* the count of a full cell; 0 = cells have no maximum */
	size_t filled; /* cells that are not 0 */
};

const struct heat_grid *heat_grid(const struct heat *h);
/* The lowest value of the row. row == rows: the upper end of the last one. */
u64 heat_row_begin(const struct heat *h, u32 row);
/* "1.02 ms", at the lower edge; of a CPU "CPU 3". */
void heat_row_tick(const struct heat *h, const struct heat_options *o, u32 row, struct strbuf *out);
/* "1.02 ms to 1.28 ms" */
void heat_row_text(const struct heat *h, const struct heat_options *o, u32 row, struct strbuf *out);
/* When the column begins: "12:34:56.5", or "+1.5 s". */
void heat_column_text(const struct heat *h, const struct heat_options *o, u32 column,
		      struct strbuf *out);
/* 0xrrggbb on a light ground; on a dark one */
u32 heat_colour(const struct heat_grid *g, u64 count, bool is_dark);
/* For pages: the points of a cell by their stacks; not of HEAT_CPUS. */
const struct heat_point *heat_points(const struct heat *h, u32 column, u32 row, size_t *ret_n);

void heat_svg(const struct heat *h, const struct heat_options *o, struct strbuf *out);
void heat_text(const struct heat *h, const struct heat_options *o, struct strbuf *out);
void heat_page(const struct heat *h, const struct heat_options *o, struct strbuf *out);

#endif
