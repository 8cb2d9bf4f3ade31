/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as SVG: for documents, and for pages where scripts are off. Widths are those of
 * flamegraph.pl for the same stacks. No style sheet: the page's policy would not let it in.
 */
#include <math.h>

#include "base/escape.h"
#include "view/flame/flame.h"

#define WIDTH	   1200
#define MARGIN	   10
#define ROW	   16 /* of a frame */
#define TITLE	   36 /* above the frames */
#define FONT	   12
#define CHAR_WIDTH 0.59 /* of the font's size: Verdana, as flamegraph.pl assumes */

static void begin(const struct flame *f, const struct flame_options *o, u32 height,
		  struct strbuf *out)
{
	strbuf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		    "viewBox=\"0 0 %d %u\" role=\"img\" font-family=\"Verdana,sans-serif\" "
		    "font-size=\"%d\" fill=\"#111\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		    "<text x=\"%d\" y=\"24\" text-anchor=\"middle\" font-size=\"17\">",
		    WIDTH, height, WIDTH, height, FONT, WIDTH / 2);
	escape_xml(out, o->title, strlen(o->title));
	strbuf_addstr(out, "</text>\n");
}

/* As many letters of the name as fit the frame; none where fewer than three fit. */
static void add_label(struct strbuf *out, const char *name, size_t len, double x, double y,
		      double width)
{
	const size_t room = (size_t)(width / (FONT * CHAR_WIDTH));
	size_t n = len;

	if (room < 3)
		return;
	if (n > room)
		for (n = room - 2; n > 0 && ((u8)name[n] & 0xc0) == 0x80;) /* a whole character */
			n--;
	strbuf_addf(out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 11.5);
	escape_xml(out, name, n);
	strbuf_addstr(out, n < len ? "..</text>" : "</text>");
}

static void add_frame(const struct flame *f, const struct flame_node *node, double x, double y,
		      double width, const struct flame_options *o, struct strbuf *out)
{
	size_t len;
	const char *name = flame_name(f, node, &len);

	strbuf_addstr(out, "<g><title>");
	escape_xml(out, name, len);
	strbuf_addstr(out, " (");
	flame_describe(f, node, o, out);
	strbuf_addf(out,
		    ")</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
		    "fill=\"#%06x\"/>",
		    x, y, width, ROW - 1, flame_colour(f, node));
	add_label(out, name, len, x, y, width);
	strbuf_addstr(out, "</g>\n");
}

/* Both ends are rounded, so that neighbours touch. */
static double tenths(double x)
{
	return floor(x * 10 + 0.5) / 10;
}

void flame_svg(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
	size_t n;
	const struct flame_node *nodes = flame_nodes(f, &n);
	const u64 all = nodes->total[FLAME_NEW];
	const double scale = all ? (double)(WIDTH - 2 * MARGIN) / (double)all : 0;
	u32 depth = 0;

	for (size_t i = 0; i < n; i++)
		if ((double)nodes[i].total[FLAME_NEW] * scale >= o->min_width)
			depth = MAX(depth, nodes[i].depth);
	begin(f, o, TITLE + (depth + 1) * ROW + MARGIN, out);
	for (size_t i = 0; all && i < n; i++) {
		const struct flame_node *node = &nodes[i];
		const double width = (double)node->total[FLAME_NEW] * scale;
		const double x = tenths(MARGIN + (double)node->start * scale);
		const double end =
			tenths(MARGIN + (double)(node->start + node->total[FLAME_NEW]) * scale);
		const u32 row = o->icicle ? node->depth : depth - node->depth;

		if (width >= o->min_width)
			add_frame(f, node, x, TITLE + row * ROW, end - x, o, out);
	}
	if (!all)
		strbuf_addf(out, "<text x=\"%d\" y=\"%d\">no %s</text>\n", MARGIN, TITLE + 12,
			    o->unit);
	strbuf_addstr(out, "</svg>\n");
}
