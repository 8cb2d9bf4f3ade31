/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heat map for the terminal: neighbouring columns are one where there is no room for all. */
#include <math.h>

#include "base/escape.h"
#include "view/heat/heat.h"

#define LABEL	      22
#define COLUMNS_PLAIN 100 /* where the output is no terminal */

static const char shades[] = " .:-=+*#%@";

/* The same grid with fewer columns. */
static struct heat_grid narrow(const struct heat_grid *g, u32 most, u64 **ret_counts)
{
	const u32 by = (g->columns + most - 1) / most;
	struct heat_grid n = *g;
	u64 *counts;

	n.columns = (g->columns + by - 1) / by;
	n.step_ns = g->step_ns * by;
	n.full = g->full * by;
	n.most = 0;
	counts = xzalloc((size_t)n.columns * n.rows * sizeof(*counts));
	for (u32 column = 0; column < g->columns; column++)
		for (u32 row = 0; row < g->rows; row++) {
			u64 *const cell = &counts[(size_t)(column / by) * n.rows + row];

			*cell += g->counts[(size_t)column * g->rows + row];
			n.most = MAX(n.most, *cell);
		}
	n.counts = *ret_counts = counts;
	return n;
}

static char shade(const struct heat_grid *g, u64 count)
{
	const u32 last = sizeof(shades) - 2;
	const double part =
		g->full ? (double)count / (double)g->full : sqrt((double)count / (double)g->most);

	return count ? shades[1 + MIN((u32)(part * last), last - 1)] : ' ';
}

static void add_cell(const struct heat_grid *g, u64 count, enum colours colours, struct strbuf *out)
{
	const u32 rgb = heat_colour(g, count, true);

	if (!colours || !count) {
		strbuf_addch(out, shade(g, count));
		return;
	}
	colour_background(out, rgb, colours);
	/* Eight colours are too few to tell counts: the shade stays. */
	strbuf_addch(out, colours == COLOURS_16 ? shade(g, count) : ' ');
	strbuf_addstr(out, "\033[0m");
}

void heat_text(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	const u32 room = o->columns ? o->columns : COLUMNS_PLAIN;
	u64 *counts;
	const struct heat_grid g =
		narrow(heat_grid(h), room > LABEL + 10 ? room - LABEL - 2 : 10, &counts);
	struct strbuf label = STRBUF_INIT;

	escape_line(out, o->title, strlen(o->title));
	strbuf_addch(out, '\n');
	for (u32 row = g.rows; row-- > 0;) {
		strbuf_reset(&label);
		heat_row_text(h, o, row, &label);
		strbuf_addf(out, "%*s |", LABEL, label.data);
		for (u32 column = 0; column < g.columns; column++)
			add_cell(&g, g.counts[(size_t)column * g.rows + row], o->colours, out);
		strbuf_addstr(out, "|\n");
	}
	strbuf_reset(&label);
	heat_column_text(h, o, 0, &label);
	strbuf_addstr(&label, " to ");
	heat_column_text(h, o, heat_grid(h)->columns, &label);
	strbuf_addf(out, "%*s  %s, %.6g s a column; %llu %s, most in a cell: %llu\n", LABEL, "",
		    label.data, (double)g.step_ns / 1e9, (unsigned long long)g.total, o->counted,
		    (unsigned long long)g.most);
	strbuf_release(&label);
	free(counts);
}
