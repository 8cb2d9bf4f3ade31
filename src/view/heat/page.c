/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heat map as a page. Its data, read by view/page/heatmap.js (numbers and texts as page.h has
 * them):
 *
 *	what cells count, the recordings' names, a cell that is full (0: none), the step in ns
 *	how many columns, how many rows; 1 if columns are seconds, and rows parts of them
 *	of each column its text; of each row its tick, its text
 *	the cells: column by column, the lowest row first
 *	1 if there are stacks; 1 if there are events
 *	with stacks: of which events, their tree (view/flame/page.c)
 *	of each cell that is not 0: with stacks: how many, each its frame as the difference to the
 *	one before, and its weight; with events: of each its number among all as the difference to
 *	the one before, and its text
 */
#include <stdlib.h>

#include "base/escape.h"
#include "base/vector.h"
#include "view/flame/flame.h"
#include "view/heat/heat.h"
#include "view/page/page.h"

#define STILL_CELLS 20000 /* above this the SVG would be too large for a browser */

static void add_text(struct strbuf *data, const struct strbuf *text)
{
	page_add_text(data, text->data, text->len);
}

/* Of a cell: a frame and a weight for each run of points with the same frame. */
static void add_cell_stacks(const struct flame *flame, const struct heat_point *points, size_t n,
			    struct strbuf *data)
{
	VECTOR(u64) stacks = {0};
	u64 before = 0;

	for (size_t i = 0; i < n; i++) {
		const u64 node = points[i].stack == HEAT_NO_STACK
					 ? 0
					 : flame_node_of_stack(flame, points[i].stack);

		if (points[i].stack == HEAT_NO_STACK)
			continue;
		if (stacks.len && stacks.items[stacks.len - 2] == node) {
			stacks.items[stacks.len - 1] += points[i].weight;
			continue;
		}
		vector_push(&stacks, node);
		vector_push(&stacks, points[i].weight);
	}
	strbuf_add_leb128(data, stacks.len / 2);
	for (size_t i = 0; i < stacks.len; i += 2) {
		/* signed differences: the lowest bit is the sign */
		const u64 node = stacks.items[i];

		strbuf_add_leb128(data,
				  node < before ? (before - node) * 2 + 1 : (node - before) * 2);
		strbuf_add_leb128(data, stacks.items[i + 1]);
		before = node;
	}
	vector_free(&stacks);
}

static int by_number(const void *a, const void *b)
{
	return (*(const u32 *)a > *(const u32 *)b) - (*(const u32 *)a < *(const u32 *)b);
}

/* Of a cell: each point's number as the difference to the one before, and its text. */
static void add_cell_events(const struct strbuf *texts, const struct heat_point *points, size_t n,
			    struct strbuf *data)
{
	u32 *const numbers = xreallocarray(NULL, n, sizeof(*numbers));

	for (size_t i = 0; i < n; i++)
		numbers[i] = points[i].number;
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++) {
		strbuf_add_leb128(data, numbers[i] - (i ? numbers[i - 1] : 0));
		add_text(data, &texts[numbers[i]]);
	}
	free(numbers);
}

static void add_cells(const struct heat *h, const struct heat_options *o, struct strbuf *data)
{
	const struct heat_grid *const g = heat_grid(h);
	const struct heat_point *points;
	size_t n;

	for (u32 column = 0; column < g->columns; column++)
		for (u32 row = 0; row < g->rows; row++) {
			if (!g->counts[(size_t)column * g->rows + row])
				continue;
			points = heat_points(h, column, row, &n);
			if (o->flame)
				add_cell_stacks(o->flame, points, n, data);
			if (o->texts)
				add_cell_events(o->texts, points, n, data);
		}
}

static void add_data(const struct heat *h, const struct heat_options *o, struct strbuf *data)
{
	const struct heat_grid *const g = heat_grid(h);
	struct strbuf text = STRBUF_INIT;

	page_add_text(data, o->counted, strlen(o->counted));
	page_add_text(data, o->files, strlen(o->files));
	strbuf_add_leb128(data, g->full);
	strbuf_add_leb128(data, g->step_ns);
	strbuf_add_leb128(data, g->columns);
	strbuf_add_leb128(data, g->rows);
	strbuf_add_leb128(data, g->by_second);
	for (u32 column = 0; column <= g->columns; column++) {
		strbuf_reset(&text);
		heat_column_text(h, o, column, &text);
		add_text(data, &text);
	}
	for (u32 row = 0; row < g->rows; row++) {
		strbuf_reset(&text);
		heat_row_tick(h, o, row, &text);
		add_text(data, &text);
		strbuf_reset(&text);
		heat_row_text(h, o, row, &text);
		add_text(data, &text);
	}
	for (size_t i = 0; i < (size_t)g->columns * g->rows; i++)
		strbuf_add_leb128(data, g->counts[i]);
	strbuf_add_leb128(data, o->flame != NULL);
	strbuf_add_leb128(data, o->texts != NULL);
	if (o->flame) {
		page_add_text(data, o->stacks_of, strlen(o->stacks_of));
		flame_page_data(o->flame, o->counted, data);
	}
	if (o->flame || o->texts)
		add_cells(h, o, data);
	strbuf_release(&text);
}

/* ---- tables ---- */

static void begin_table(const char *title, const char *first, const char *counted,
			struct strbuf *out)
{
	strbuf_addf(out,
		    "<h2>%s</h2>\n<div class=\"scroll\"><table><thead><tr><th>%s</th><th>%s</th>"
		    "<th>Share</th></tr></thead><tbody>\n",
		    title, first, counted);
}

static void add_row(const struct strbuf *name, u32 at, u64 count, u64 all, struct strbuf *out)
{
	strbuf_addf(out, "<tr><td data-value=\"%09u\">", at);
	escape_xml(out, name->data, name->len);
	strbuf_addf(out, "</td><td>%llu</td><td data-value=\"%.6f\">%.2f%%</td></tr>\n",
		    (unsigned long long)count, all ? (double)count / (double)all : 0,
		    all ? 100.0 * (double)count / (double)all : 0);
}

static void add_tables(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	const struct heat_grid *const g = heat_grid(h);
	struct strbuf text = STRBUF_INIT;

	begin_table("Rows", "Row", o->counted, out);
	for (u32 row = g->rows; row-- > 0;) {
		u64 sum = 0;

		for (u32 column = 0; column < g->columns; column++)
			sum += g->counts[(size_t)column * g->rows + row];
		strbuf_reset(&text);
		heat_row_text(h, o, row, &text);
		add_row(&text, row, sum, g->total, out);
	}
	strbuf_addstr(out, "</tbody></table></div>\n");
	begin_table("Columns", "From", o->counted, out);
	for (u32 column = 0; column < g->columns; column++) {
		u64 sum = 0;

		for (u32 row = 0; row < g->rows; row++)
			sum += g->counts[(size_t)column * g->rows + row];
		strbuf_reset(&text);
		heat_column_text(h, o, column, &text);
		add_row(&text, column, sum, g->total, out);
	}
	strbuf_addstr(out, "</tbody></table></div>\n");
	strbuf_release(&text);
}

void heat_page(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	struct page page = PAGE_INIT("heatmap", o->title);

	add_data(h, o, &page.data);
	add_tables(h, o, &page.table);
	if (heat_grid(h)->filled <= STILL_CELLS)
		heat_svg(h, o, &page.still);
	else
		strbuf_addstr(&page.still,
			      "<p>The picture needs JavaScript; the tables do not.</p>");
	page_write(&page, out);
}
