/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A time line as SVG: for documents, and for pages where scripts are off. A column of a row is
 * filled from below by the shares of its states; equal neighbours become one shape.
 */
#include <stdlib.h>

#include "base/escape.h"
#include "view/timeline/internal.h"

#define LEFT	  170
#define TOP	  44
#define BOTTOM	  66
#define RIGHT	  24
#define COLUMNS	  450
#define STEP	  2 /* a column's width */
#define WIDTH	  (COLUMNS * STEP)
#define PITCH	  18 /* from row to row */
#define HEIGHT	  14
#define ROWS_MOST 30
#define LABEL	  24 /* characters */
#define TICKS	  5

/* From the bottom up; other states are not drawn. */
static const enum thread_state drawn[] = {THREAD_RUNS,	  THREAD_WOKEN,	  THREAD_PREEMPTED,
					  THREAD_BLOCKED, THREAD_STOPPED, THREAD_SLEEPS};

static void add_text(double x, double y, const char *anchor, const struct strbuf *text,
		     struct strbuf *out)
{
	strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	escape_xml(out, text->data, text->len);
	strbuf_addstr(out, "</text>\n");
}

/* The upper edge of each state, in pixels; sleep is a thin line, not a share. */
static void edges_of(const timeline_column c, double width, u32 ret[ARRAY_SIZE(drawn)])
{
	double at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(drawn); i++) {
		if (drawn[i] == THREAD_SLEEPS)
			at = c[THREAD_SLEEPS] && at < 1 ? 1 : at;
		else
			at += (double)c[drawn[i]] / width * HEIGHT;
		ret[i] = MIN((u32)(at + 0.5), (u32)HEIGHT);
	}
}

static void add_shape(u32 from, u32 to, u32 y, const u32 *edges, struct strbuf *out)
{
	u32 below = 0;

	for (size_t i = 0; i < ARRAY_SIZE(drawn); i++) {
		if (edges[i] > below)
			strbuf_addf(out,
				    "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
				    "fill=\"#%06x\"/>\n",
				    LEFT + from * STEP, y + HEIGHT - edges[i], (to - from) * STEP,
				    edges[i] - below, timeline_colour(drawn[i], false));
		below = edges[i];
	}
}

static void add_row(const struct timeline *t, struct timeline_lane lane, u32 y,
		    timeline_column *cells, struct strbuf *out)
{
	const u64 all = (u64)(vector_last(&t->events).ns - t->events.items[0].ns);
	u32 edges[2][ARRAY_SIZE(drawn)] = {{0}}, from = 0;
	struct strbuf name = STRBUF_INIT;

	timeline_row_text(t, lane, &name);
	strbuf_addstr(out, "<g><title>");
	escape_xml(out, name.data, name.len);
	strbuf_addstr(out, "</title>\n");
	timeline_shorten(&name, LABEL);
	add_text(LEFT - 8, y + 11, "end", &name, out);
	timeline_columns(t, lane, 0, timeline_length(t), COLUMNS, cells);
	for (u32 i = 0; i < COLUMNS; i++) {
		edges_of(cells[i], MAX((double)all, 1) / COLUMNS, edges[1]);
		if (!memcmp(edges[0], edges[1], sizeof(*edges)))
			continue;
		add_shape(from, i, y, edges[0], out);
		memcpy(edges[0], edges[1], sizeof(*edges));
		from = i;
	}
	add_shape(from, COLUMNS, y, edges[0], out);
	strbuf_addstr(out, "</g>\n");
	strbuf_release(&name);
}

static void add_ticks(const struct timeline *t, const struct timeline_options *o, u32 y,
		      struct strbuf *out)
{
	const s64 begin = timeline_ns(t, 0), all = vector_last(&t->events).ns - begin;
	struct strbuf text = STRBUF_INIT;

	timeline_time_text(o, begin, &text);
	add_text(LEFT, y + 16, "start", &text, out);
	for (u32 i = 1; i <= TICKS; i++) {
		strbuf_reset(&text);
		strbuf_addf(&text, "+%.4g ms", (double)all / TICKS * i / 1e6);
		add_text(LEFT + (double)WIDTH / TICKS * i, y + 16, i < TICKS ? "middle" : "end",
			 &text, out);
	}
	strbuf_release(&text);
}

static void add_legend(u32 y, size_t hidden, struct strbuf *out)
{
	u32 x = LEFT;

	for (size_t i = 0; i < ARRAY_SIZE(drawn); i++, x += 92)
		strbuf_addf(out,
			    "<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" fill=\"#%06x\"/>\n"
			    "<text x=\"%u\" y=\"%u\">%s</text>\n",
			    x, y - 9, timeline_colour(drawn[i], false), x + 14, y,
			    timeline_state_text(drawn[i]));
	if (hidden)
		strbuf_addf(
			out,
			"<text x=\"%u\" y=\"%u\">%zu more thread%s, which ran less or are known "
			"in part, %s not shown</text>\n",
			LEFT, y + 18, hidden, plural(hidden), is_are(hidden));
}

void timeline_svg(const struct timeline *t, const struct timeline_options *o, struct strbuf *out)
{
	const u32 shown = MIN((u32)(t->threads.len - timeline_partial(t)), (u32)ROWS_MOST),
		  width = LEFT + WIDTH + RIGHT;
	const u32 bottom = TOP + ((u32)t->cpus.len + shown) * PITCH, height = bottom + BOTTOM;
	timeline_column *const cells = xreallocarray(NULL, COLUMNS, sizeof(*cells));
	u32 *const order = timeline_by_use(t);

	strbuf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		    "viewBox=\"0 0 %u %u\" role=\"img\" font-family=\"Verdana,sans-serif\" "
		    "font-size=\"11\" fill=\"#111\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		    "<text x=\"%u\" y=\"26\" text-anchor=\"middle\" font-size=\"17\">",
		    width, height, width, height, width / 2);
	escape_xml(out, o->title, strlen(o->title));
	strbuf_addstr(out, "</text>\n");
	for (u32 i = 0; i < t->cpus.len; i++)
		add_row(t, (struct timeline_lane){TIMELINE_CPU, i}, TOP + i * PITCH, cells, out);
	for (u32 i = 0; i < shown; i++)
		add_row(t, (struct timeline_lane){TIMELINE_THREAD, order[i]},
			TOP + ((u32)t->cpus.len + i) * PITCH, cells, out);
	strbuf_addf(out,
		    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\" fill=\"none\" "
		    "stroke=\"#bbb\"/>\n",
		    LEFT, TOP - 3, WIDTH, bottom - TOP + 2);
	add_ticks(t, o, bottom, out);
	add_legend(bottom + 38, t->threads.len - shown, out);
	strbuf_addstr(out, "</svg>\n");
	free(cells);
	free(order);
}
