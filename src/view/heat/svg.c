/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heat map as SVG: for documents, and for pages where scripts are off. No style sheet. */
#include "base/escape.h"
#include "view/heat/heat.h"

#define LEFT	 84
#define TOP	 40
#define BOTTOM	 46
#define RIGHT	 24
#define WIDTH	 1080 /* of the cells */
#define LABEL	 84 /* room for a label of a column */
#define ROW_MOST 16
#define HEIGHT	 520

static u32 row_height(const struct heat_grid *g)
{
	return MIN(MAX(HEIGHT / g->rows, 3u), (u32)ROW_MOST);
}

static void add_cell(const struct heat *h, const struct heat_options *o, u32 column, u32 row,
		     struct strbuf *out)
{
	const struct heat_grid *const g = heat_grid(h);
	const u64 count = g->counts[(size_t)column * g->rows + row];
	const double width = (double)WIDTH / g->columns;
	struct strbuf what = STRBUF_INIT;

	heat_column_text(h, o, column, &what);
	strbuf_addstr(&what, ", ");
	heat_row_text(h, o, row, &what);
	strbuf_addf(&what, ": %llu %s", (unsigned long long)count, o->counted);
	if (count == 1 && str_eq(o->counted, "events"))
		what.data[--what.len] = '\0';
	strbuf_addf(out,
		    "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"#%06x\"><title>",
		    LEFT + column * width, TOP + (g->rows - 1 - row) * row_height(g), width,
		    row_height(g), heat_colour(g, count, false));
	escape_xml(out, what.data, what.len);
	strbuf_addstr(out, "</title></rect>\n");
	strbuf_release(&what);
}

static void add_label(double x, double y, const char *anchor, struct strbuf *text,
		      struct strbuf *out)
{
	strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	escape_xml(out, text->data, text->len);
	strbuf_addstr(out, "</text>\n");
	strbuf_reset(text);
}

static void add_axes(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	const struct heat_grid *const g = heat_grid(h);
	const u32 height = row_height(g);
	const u32 every = g->rows <= 24 ? 1 : 4;
	const u32 step = (u32)((double)LABEL * g->columns / WIDTH) + 1;
	struct strbuf text = STRBUF_INIT;

	for (u32 row = 0; row < g->rows; row += every) {
		heat_row_tick(h, o, row, &text);
		add_label(LEFT - 6, TOP + (g->rows - row) * height - 1, "end", &text, out);
	}
	for (u32 column = 0; column < g->columns; column += step) {
		heat_column_text(h, o, column, &text);
		add_label(LEFT + (double)column * WIDTH / g->columns, TOP + g->rows * height + 16,
			  "start", &text, out);
	}
	strbuf_addf(&text, "%llu %s; most in a cell: %llu", (unsigned long long)g->total,
		    o->counted, (unsigned long long)g->most);
	add_label(LEFT, TOP + g->rows * height + 34, "start", &text, out);
	strbuf_release(&text);
}

void heat_svg(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	const struct heat_grid *const g = heat_grid(h);
	const u32 width = LEFT + WIDTH + RIGHT, height = TOP + g->rows * row_height(g) + BOTTOM;

	strbuf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		    "viewBox=\"0 0 %u %u\" role=\"img\" font-family=\"Verdana,sans-serif\" "
		    "font-size=\"11\" fill=\"#111\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		    "<text x=\"%u\" y=\"24\" text-anchor=\"middle\" font-size=\"17\">",
		    width, height, width, height, width / 2);
	escape_xml(out, o->title, strlen(o->title));
	strbuf_addf(out,
		    "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\" fill=\"none\" "
		    "stroke=\"#bbb\"/>\n",
		    LEFT, TOP, WIDTH, g->rows * row_height(g));
	for (u32 column = 0; column < g->columns; column++)
		for (u32 row = 0; row < g->rows; row++)
			if (g->counts[(size_t)column * g->rows + row])
				add_cell(h, o, column, row, out);
	add_axes(h, o, out);
	strbuf_addstr(out, "</svg>\n");
}
