/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A time line for the terminal. A column shows the state that took most of its time. */
#include <stdlib.h>

#include "base/escape.h"
#include "view/terminal/screen.h"
#include "view/timeline/internal.h"

#define LABEL	      22 /* columns */
#define LABEL_END     9 /* columns of a shortened one, with the thread's number */
#define COLUMNS_PLAIN 100 /* where the output is no terminal */
#define ROWS_MOST     40

static const char letters[THREAD_STATES] = {
	[THREAD_UNKNOWN] = ' ',	  [THREAD_RUNS] = '#',	 [THREAD_WOKEN] = '+',
	[THREAD_PREEMPTED] = '+', [THREAD_SLEEPS] = '.', [THREAD_BLOCKED] = 'D',
	[THREAD_STOPPED] = 'T',	  [THREAD_ENDED] = ' '};

/* The use of a CPU, in tenths. */
static void add_cpu(u64 used, double width, enum colours colours, struct strbuf *out)
{
	const u32 tenths = MIN((u32)((double)used / width * 10 + 0.5), 10u);

	if (colours && tenths)
		colour_background(out, timeline_colour(THREAD_RUNS, true), colours);
	strbuf_addch(out, !tenths ? ' ' : tenths == 10 ? '#' : (char)('0' + tenths));
	if (colours && tenths)
		strbuf_addstr(out, "\033[0m");
}

static void add_thread(const timeline_column c, enum colours colours, struct strbuf *out)
{
	u32 most = THREAD_UNKNOWN;

	for (u32 i = 0; i < THREAD_STATES; i++)
		if (c[i] > c[most])
			most = i;
	if (colours && most)
		colour_background(out, timeline_colour(most, true), colours);
	strbuf_addch(out, letters[most]);
	if (colours && most)
		strbuf_addstr(out, "\033[0m");
}

void timeline_shorten(struct strbuf *label, u32 columns)
{
	const u32 width = screen_width(label->data);
	const char *end;
	char *text;

	if (width <= columns)
		return;
	end = label->data + screen_fit(label->data, width - LABEL_END);
	text = xasprintf("%.*s~%s", (int)screen_fit(label->data, columns - 1 - screen_width(end)),
			 label->data, end);
	strbuf_reset(label);
	strbuf_addstr(label, text);
	free(text);
}

static void add_row(const struct timeline *t, const struct timeline_options *o,
		    struct timeline_lane lane, u32 columns, timeline_column *cells,
		    struct strbuf *out)
{
	const double all = (double)(vector_last(&t->events).ns - t->events.items[0].ns);
	struct strbuf name = STRBUF_INIT, label = STRBUF_INIT;

	timeline_row_text(t, lane, &name);
	escape_line(&label, name.data, name.len);
	timeline_shorten(&label, LABEL);
	strbuf_addf(out, "%s%*s |", label.data, (int)(LABEL - screen_width(label.data)), "");
	timeline_columns(t, lane, 0, timeline_length(t), columns, cells);
	for (u32 i = 0; i < columns; i++)
		if (lane.row == TIMELINE_CPU)
			add_cpu(cells[i][THREAD_RUNS], MAX(all / columns, 1), o->colours, out);
		else
			add_thread(cells[i], o->colours, out);
	strbuf_addstr(out, "|\n");
	strbuf_release(&name);
	strbuf_release(&label);
}

void timeline_text(const struct timeline *t, const struct timeline_options *o, struct strbuf *out)
{
	const u32 room = o->columns ? o->columns : COLUMNS_PLAIN;
	const u32 columns = room > LABEL + 13 ? room - LABEL - 3 : 10;
	const size_t shown = MIN(t->threads.len - timeline_partial(t), (size_t)ROWS_MOST);
	timeline_column *const cells = xreallocarray(NULL, columns, sizeof(*cells));
	u32 *const order = timeline_by_use(t);

	escape_line(out, o->title, strlen(o->title));
	strbuf_addch(out, '\n');
	for (u32 i = 0; i < t->cpus.len; i++)
		add_row(t, o, (struct timeline_lane){TIMELINE_CPU, i}, columns, cells, out);
	for (size_t i = 0; i < shown; i++)
		add_row(t, o, (struct timeline_lane){TIMELINE_THREAD, order[i]}, columns, cells,
			out);
	strbuf_addf(out, "%*s  ", LABEL, "");
	timeline_time_text(o, timeline_ns(t, 0), out);
	strbuf_addstr(out, " to ");
	timeline_time_text(o, vector_last(&t->events).ns, out);
	strbuf_addf(out,
		    "\nCPUs: tenths in use. Threads, most of a column: # running, + waiting for a "
		    "CPU, . sleeping, D blocked, T stopped\n");
	if (shown < t->threads.len)
		strbuf_addf(
			out,
			"%zu more thread%s, which ran less or are known in part, %s not shown\n",
			t->threads.len - shown, plural(t->threads.len - shown),
			is_are(t->threads.len - shown));
	free(cells);
	free(order);
}
