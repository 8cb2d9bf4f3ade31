/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A time line as a page. Its data, read by view/page/lanes.js, are numbers and texts as in page.h;
 * a number that may be negative has its sign in the lowest bit. A list is its length, then the
 * first member of all items, then the second ..., which packs well. An event is stored as the
 * difference to the event of the item before; "x + 1" is 0 for none.
 *
 *	the files; 1 if times are as recorded; the first event's time (of the day; or as recorded)
 *	names: texts
 *	hosts' texts before rows
 *	threads: tid, pid, name + 1, host		CPUs: number, host
 *	kinds: name * 2 + (1: its events are drawn)
 *	events: ns since the one before, kind, thread + 1, CPU + 1
 *	changes: event, thread, state * 2 + (1: its end is not known)
 *	wake-ups: event, thread
 *	slices: row * 2 + (1: of a CPU), begin, length in events * 2 + (1: it has not ended), name,
 *		depth
 *	counters: event, name, value
 *	losses: event
 *	1 and a text of each event, or 0
 *	1, a tree of stacks (view/flame/page.c) and of each event its frame + 1, or 0
 *	1 and what part.c tells of a part of a time line, or 0
 */
#include <stdlib.h>
#include <time.h>

#include "base/escape.h"
#include "view/flame/flame.h"
#include "view/page/page.h"
#include "view/timeline/internal.h"

static void add_signed(struct strbuf *data, s64 v)
{
	strbuf_add_leb128(data, v < 0 ? (u64)-v << 1 | 1 : (u64)v << 1);
}

/* Each item's MEMBER, an expression over `i`, the item. */
#define ADD_COLUMN(DATA, LIST, ADD, MEMBER)                           \
	for (size_t at = 0; at < (LIST).len; at++) {                  \
		const __typeof__((LIST).items) i = &(LIST).items[at]; \
		ADD(DATA, MEMBER);                                    \
	}
/* The same for a member that rises: the difference to the item before. */
#define ADD_RISING(DATA, LIST, MEMBER) \
	ADD_COLUMN(DATA, LIST, strbuf_add_leb128, (u64)i->MEMBER - (at ? (u64)i[-1].MEMBER : 0))

/* The time of the first event: nanoseconds of the local day, or as recorded. */
static s64 clock_begin(const struct timeline *t, const struct timeline_options *o)
{
	const s64 ns = timeline_ns(t, 0);
	const time_t seconds = ns / 1000000000;
	struct tm tm;

	if (o->is_unplaced || ns < 0 || !localtime_r(&seconds, &tm))
		return ns;
	return ((tm.tm_hour * 60 + tm.tm_min) * 60 + tm.tm_sec) * 1000000000ll + ns % 1000000000;
}

static void add_rows(const struct timeline *t, struct strbuf *data)
{
	strbuf_add_leb128(data, t->hosts.len > 2 ? t->hosts.len : 0);
	for (size_t i = 0; t->hosts.len > 2 && i < t->hosts.len; i++)
		strbuf_add_leb128(data, t->hosts.items[i] + 1);
	strbuf_add_leb128(data, t->threads.len);
	ADD_COLUMN(data, t->threads, strbuf_add_leb128, (u64)i->tid);
	ADD_COLUMN(data, t->threads, strbuf_add_leb128, (u64)(i->pid + 1));
	ADD_COLUMN(data, t->threads, strbuf_add_leb128, (u32)(i->name + 1));
	ADD_COLUMN(data, t->threads, strbuf_add_leb128, i->host);
	strbuf_add_leb128(data, t->cpus.len);
	ADD_COLUMN(data, t->cpus, strbuf_add_leb128, (u64)i->number);
	ADD_COLUMN(data, t->cpus, strbuf_add_leb128, i->host);
	strbuf_add_leb128(data, t->kinds.len);
	ADD_COLUMN(data, t->kinds, strbuf_add_leb128, i->name * 2 + i->is_mark);
}

static void add_slices(const struct timeline *t, struct strbuf *data)
{
	strbuf_add_leb128(data, t->slices.len);
	ADD_COLUMN(data, t->slices, strbuf_add_leb128,
		   i->lane.index * 2 + (i->lane.row == TIMELINE_CPU));
	for (size_t i = 0; i < t->slices.len; i++) /* they rise in each row alone */
		add_signed(data, (s64)t->slices.items[i].begin -
					 (i ? (s64)t->slices.items[i - 1].begin : 0));
	ADD_COLUMN(data, t->slices, strbuf_add_leb128, (u64)(i->end - i->begin) * 2 + i->is_cut);
	ADD_COLUMN(data, t->slices, strbuf_add_leb128, i->name);
	ADD_COLUMN(data, t->slices, strbuf_add_leb128, i->depth);
}

static void add_stacks(const struct timeline *t, const struct timeline_options *o,
		       struct strbuf *data)
{
	strbuf_add_leb128(data, o->flame != NULL);
	if (!o->flame)
		return;
	flame_page_data(o->flame, "events", data);
	for (size_t i = 0; i < t->events.len; i++)
		strbuf_add_leb128(data, o->stacks[i] == TIMELINE_NONE
						? 0
						: flame_node_of_stack(o->flame, o->stacks[i]) + 1);
}

void timeline_page_data(const struct timeline *t, const struct timeline *whole,
			const struct timeline_options *o, struct strbuf *data)
{
	const s64 zero = whole->events.items[0].ns;

	page_add_text(data, o->files, strlen(o->files));
	strbuf_add_leb128(data, o->is_unplaced);
	add_signed(data, clock_begin(whole, o));
	strbuf_add_leb128(data, t->names.len);
	for (size_t i = 0; i < t->names.len; i++)
		page_add_text(data, t->names.items[i].data, t->names.items[i].len);
	add_rows(t, data);
	strbuf_add_leb128(data, t->events.len);
	ADD_COLUMN(data, t->events, strbuf_add_leb128, (u64)(i->ns - (at ? i[-1].ns : zero)));
	ADD_COLUMN(data, t->events, strbuf_add_leb128, i->kind);
	ADD_COLUMN(data, t->events, strbuf_add_leb128, (u32)(i->thread + 1));
	ADD_COLUMN(data, t->events, strbuf_add_leb128, (u32)(i->cpu + 1));
	strbuf_add_leb128(data, t->changes.len);
	ADD_RISING(data, t->changes, event);
	ADD_COLUMN(data, t->changes, strbuf_add_leb128, i->thread);
	ADD_COLUMN(data, t->changes, strbuf_add_leb128, i->state * 2u + i->is_cut);
	strbuf_add_leb128(data, t->wakeups.len);
	ADD_RISING(data, t->wakeups, event);
	ADD_COLUMN(data, t->wakeups, strbuf_add_leb128, i->thread);
	add_slices(t, data);
	strbuf_add_leb128(data, t->values.len);
	ADD_RISING(data, t->values, event);
	ADD_COLUMN(data, t->values, strbuf_add_leb128, i->name);
	ADD_COLUMN(data, t->values, add_signed, i->value);
	strbuf_add_leb128(data, t->losses.len);
	for (size_t i = 0; i < t->losses.len; i++)
		strbuf_add_leb128(data, t->losses.items[i] - (i ? t->losses.items[i - 1] : 0));
	strbuf_add_leb128(data, o->texts != NULL);
	for (size_t i = 0; o->texts && i < t->events.len; i++)
		page_add_text(data, o->texts[i].data, o->texts[i].len);
	add_stacks(t, o, data);
}

/* ---- tables ---- */

static void add_ms(struct strbuf *out, u64 ns)
{
	strbuf_addf(out, "<td data-value=\"%" PRIu64 "\">%.3f</td>", ns, (double)ns / 1e6);
}

/* What a thread did that was recorded only beside others is not known: its row says so. */
static void add_thread_times(const struct timeline_thread *of, struct strbuf *out)
{
	if (of->is_partial) {
		for (u32 i = 0; i < 5; i++)
			strbuf_addstr(out, "<td data-value=\"-1\">?</td>");
		return;
	}
	add_ms(out, of->ns[THREAD_RUNS]);
	add_ms(out, of->ns[THREAD_WOKEN] + of->ns[THREAD_PREEMPTED]);
	add_ms(out, of->ns[THREAD_SLEEPS]);
	add_ms(out, of->ns[THREAD_BLOCKED]);
	strbuf_addf(out, "<td>%" PRIu64 "</td>", of->runs);
}

static void begin_row(const struct timeline *t, struct timeline_lane lane, struct strbuf *out)
{
	struct strbuf name = STRBUF_INIT;

	timeline_row_text(t, lane, &name);
	strbuf_addf(out, "<tr data-row=\"%c%u\"><td>", lane.row == TIMELINE_CPU ? 'c' : 't',
		    lane.index);
	escape_xml(out, name.data, name.len);
	strbuf_addstr(out, "</td>");
	strbuf_release(&name);
}

static void add_threads(const struct timeline *t, struct strbuf *out)
{
	u32 *const order = timeline_by_use(t);

	strbuf_addstr(out,
		      "<h2>Threads</h2>\n<div class=\"scroll\"><table id=\"threads\"><thead><tr>"
		      "<th>Thread</th><th>Running (ms)</th><th>Runnable (ms)</th>"
		      "<th>Sleeping (ms)</th><th>Blocked (ms)</th><th>Times it ran</th>"
		      "<th>Wake-ups</th></tr></thead><tbody>\n");
	for (size_t n = 0; n < t->threads.len; n++) {
		const struct timeline_thread *const of = &t->threads.items[order[n]];

		begin_row(t, (struct timeline_lane){TIMELINE_THREAD, order[n]}, out);
		add_thread_times(of, out);
		strbuf_addf(out, "<td>%" PRIu64 "</td></tr>\n", of->wakeups);
	}
	strbuf_addstr(out, "</tbody></table></div>\n");
	if (timeline_partial(t))
		strbuf_addstr(out, "<p class=\"soft\">?: only some of its switches were "
				   "recorded.</p>\n");
	free(order);
}

static void add_cpus(const struct timeline *t, struct strbuf *out)
{
	const u64 all = (u64)(vector_last(&t->events).ns - t->events.items[0].ns);

	strbuf_addf(out,
		    "<h2>CPUs</h2>\n<div class=\"scroll\"><table id=\"cpus\"><thead><tr>"
		    "<th>CPU</th><th>In use%s (ms)</th><th>Share</th></tr></thead><tbody>\n",
		    timeline_partial(t) ? ", at least" : "");
	for (u32 i = 0; i < t->cpus.len; i++) {
		const u64 busy = t->cpus.items[i].busy_ns;
		const double share = all ? (double)busy / (double)all : 0;

		begin_row(t, (struct timeline_lane){TIMELINE_CPU, i}, out);
		add_ms(out, busy);
		strbuf_addf(out, "<td data-value=\"%.6f\">%.2f%%</td></tr>\n", share, 100 * share);
	}
	strbuf_addstr(out, "</tbody></table></div>\n");
}

static void add_kinds(const struct timeline *t, struct strbuf *out)
{
	u64 *const counts = xzalloc((t->kinds.len + 1) * sizeof(*counts));
	size_t len;

	for (size_t i = 0; i < t->events.len; i++)
		counts[t->events.items[i].kind]++;
	strbuf_addstr(out, "<h2>Events</h2>\n<div class=\"scroll\"><table id=\"kinds\"><thead><tr>"
			   "<th>Event</th><th>How many</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < t->kinds.len; i++) {
		const char *const name = timeline_name_text(t, t->kinds.items[i].name, &len);

		strbuf_addstr(out, "<tr><td>");
		escape_xml(out, name, len);
		strbuf_addf(out, "</td><td>%" PRIu64 "</td></tr>\n", counts[i]);
	}
	strbuf_addstr(out, "</tbody></table></div>\n");
	free(counts);
}

static void add_still(const struct timeline *t, const struct timeline_options *o, struct page *page)
{
	add_threads(t, &page->table);
	add_cpus(t, &page->table);
	add_kinds(t, &page->table);
	timeline_svg(t, o, &page->still);
}

void timeline_page(const struct timeline *t, const struct timeline_options *o, struct strbuf *out)
{
	struct page page = PAGE_INIT("timeline", o->title);

	timeline_page_data(t, t, o, &page.data);
	strbuf_add_leb128(&page.data, 0);
	add_still(t, o, &page);
	page_write(&page, out);
}

void timeline_served_page(const struct timeline *t, const struct timeline_options *o,
			  struct strbuf *out)
{
	struct page page = PAGE_INIT("timeline", o->title);

	page.is_served = true;
	add_still(t, o, &page);
	page_write(&page, out);
}
