/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a time line, for pages that load what is looked at: all that happened in a range of
 * time, and the events beyond it where states and slices that reach into it begin and end. Where
 * there is too much in it, the shares of states in columns of time instead. In the layout of
 * page.c, with this behind it:
 *
 *	ns of the whole; its events; the range's begin and end (ns)
 *	the part's first event in the range, and the one behind its last: none is missing between
 *	of each event its number in the whole (the difference to the one before)
 *	threads: ns of each state in the whole; the first event's number; how deep slices lie
 *	CPUs: how deep slices lie
 *	columns, or 0; then of each thread, of each CPU: runs of equal columns, and of each run how
 *		many columns, and of each state (CPU: of THREAD_RUNS alone) its share of 255
 */
#include <stdlib.h>

#include "view/page/page.h"
#include "view/timeline/internal.h"

#define EVENTS_MOST  200000 /* in a part */
#define COLUMNS_MOST 4000

struct part {
	const struct timeline *whole;
	struct timeline_range range;
	u32 first, end; /* events in the range */
	bool is_coarse;
	/* [event of the whole]: at first 1 = wanted; then its number in the part + 1 */
	u32 *numbers;
	VECTOR(u32) events; /* of the whole, in order */
	struct timeline t; /* the events above alone; names and rows are the whole's */
};

/* The first event at NS or later. */
static u32 event_at(const struct timeline *t, s64 ns)
{
	u32 low = 0, high = (u32)t->events.len;

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (t->events.items[middle].ns - t->events.items[0].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Does something from event BEGIN to event END reach into the range? */
static bool reaches(const struct part *p, u32 begin, u32 end)
{
	return begin < p->end && end >= p->first;
}

/* ---- which events ---- */

static void want_changes(struct part *p, u32 *next)
{
	const struct timeline *const t = p->whole;

	for (size_t i = 0; i < t->changes.len; i++) {
		const struct timeline_change *const c = &t->changes.items[i];
		const u32 end =
			next[i] ? t->changes.items[next[i] - 1].event : (u32)t->events.len - 1;

		if (reaches(p, c->event, end))
			p->numbers[c->event] = p->numbers[end] = 1;
	}
}

static void want_slices(struct part *p)
{
	for (size_t i = 0; i < p->whole->slices.len; i++) {
		const struct timeline_slice *const s = &p->whole->slices.items[i];

		if (reaches(p, s->begin, s->end))
			p->numbers[s->begin] = p->numbers[s->end] = 1;
	}
}

/* The values in the range, and the one before it of each counter. */
static void want_values(struct part *p, u32 *before)
{
	const struct timeline *const t = p->whole;

	for (size_t i = 0; i < t->values.len && t->values.items[i].event < p->first; i++)
		before[t->values.items[i].name] = t->values.items[i].event + 1;
	for (size_t i = 0; i < t->names.len; i++)
		if (before[i])
			p->numbers[before[i] - 1] = 1;
}

/* Of each change that of the same thread behind it, + 1; malloc'ed. */
static u32 *changes_behind(const struct timeline *t)
{
	u32 *const next = xzalloc((t->changes.len + 1) * sizeof(*next));
	u32 *const last = xzalloc((t->threads.len + 1) * sizeof(*last));

	for (u32 i = (u32)t->changes.len; i-- > 0;) {
		next[i] = last[t->changes.items[i].thread];
		last[t->changes.items[i].thread] = i + 1;
	}
	free(last);
	return next;
}

static void number_events(struct part *p)
{
	for (u32 i = 0; i < p->whole->events.len; i++)
		if (p->numbers[i]) {
			vector_push(&p->events, i);
			vector_push(&p->t.events, p->whole->events.items[i]);
			p->numbers[i] = (u32)p->events.len;
		}
}

/* ---- what refers to them ---- */

/* A state that begins behind the range is not told, but that the one before it has ended. */
static void add_changes(struct part *p, const u32 *next)
{
	const struct timeline *const t = p->whole;
	u8 *const ends = xzalloc(t->changes.len + 1);

	for (size_t i = 0; i < t->changes.len; i++) {
		struct timeline_change c = t->changes.items[i];
		const u32 end =
			next[i] ? t->changes.items[next[i] - 1].event : (u32)t->events.len - 1;
		const bool is_seen = reaches(p, c.event, end);

		if (!is_seen && !ends[i])
			continue;
		c.event = p->numbers[c.event] - 1;
		c.state = is_seen ? c.state : THREAD_UNKNOWN;
		vector_push(&p->t.changes, c);
		if (is_seen && next[i])
			ends[next[i] - 1] = 1;
	}
	free(ends);
}

static void add_slices(struct part *p)
{
	for (size_t i = 0; i < p->whole->slices.len; i++) {
		struct timeline_slice s = p->whole->slices.items[i];

		if (!reaches(p, s.begin, s.end))
			continue;
		s.begin = p->numbers[s.begin] - 1;
		s.end = p->numbers[s.end] - 1;
		vector_push(&p->t.slices, s);
	}
}

/* Of a list whose items have an event: those in the range, or at any event that is told. */
#define ADD_AT_EVENTS(P, LIST)                                                         \
	for (size_t at = 0; at < (P)->whole->LIST.len; at++) {                         \
		__typeof__(*(P)->whole->LIST.items) item = (P)->whole->LIST.items[at]; \
		if (!(P)->numbers[item.event])                                         \
			continue;                                                      \
		item.event = (P)->numbers[item.event] - 1;                             \
		vector_push(&(P)->t.LIST, item);                                       \
	}

static void add_losses(struct part *p)
{
	for (size_t i = 0; i < p->whole->losses.len; i++)
		if (p->numbers[p->whole->losses.items[i]])
			vector_push(&p->t.losses, p->numbers[p->whole->losses.items[i]] - 1);
}

static void collect(struct part *p)
{
	u32 *const next = changes_behind(p->whole);
	u32 *const before = xzalloc((p->whole->names.len + 1) * sizeof(*before));

	for (u32 i = p->first; i < p->end; i++)
		p->numbers[i] = 1;
	want_changes(p, next);
	want_slices(p);
	want_values(p, before);
	number_events(p);
	add_changes(p, next);
	add_slices(p);
	ADD_AT_EVENTS(p, wakeups);
	ADD_AT_EVENTS(p, values);
	add_losses(p);
	free(before);
	free(next);
}

/* Where events are missing is always told: of several in a column the first. */
static void collect_losses(struct part *p)
{
	const struct timeline *const t = p->whole;
	const u64 width = MAX((u64)(p->range.to - p->range.from) / MAX(p->range.columns, 1u), 1u);
	s64 next = 0; /* the first time behind the column of the last one */

	for (size_t i = 0; i < t->losses.len; i++) {
		const u32 event = t->losses.items[i];
		const s64 ns = t->events.items[event].ns - t->events.items[0].ns;

		if (event < p->first || event >= p->end || ns < next)
			continue;
		p->numbers[event] = 1;
		next = ns + (s64)width;
	}
	number_events(p);
	add_losses(p);
}

/* ---- the bytes ---- */

static void add_runs(const struct part *p, struct timeline_lane lane, timeline_column *cells,
		     struct strbuf *data)
{
	const u32 n = p->range.columns, states = lane.row == TIMELINE_CPU ? 1 : THREAD_STATES,
		  first = lane.row == TIMELINE_CPU ? THREAD_RUNS : 0;
	const double width = MAX((double)(p->range.to - p->range.from) / n, 1.0);
	u8(*const shares)[THREAD_STATES] = xzalloc(n * sizeof(*shares));
	u32 runs = 1;

	timeline_columns(p->whole, lane, p->range.from, p->range.to, n, cells);
	for (u32 i = 0; i < n; i++) {
		for (u32 s = 0; s < states; s++) {
			const double share = 255 * (double)cells[i][first + s] / width;

			/* what there is, is seen */
			shares[i][s] = (u8)MIN(share > 0 ? MAX(share + 0.5, 1.0) : 0, 255.0);
		}
		runs += i && memcmp(shares[i], shares[i - 1], sizeof(*shares));
	}
	strbuf_add_leb128(data, runs);
	for (u32 i = 0, from = 0; i < n; i++) {
		if (i + 1 < n && !memcmp(shares[i], shares[i + 1], sizeof(*shares)))
			continue;
		strbuf_add_leb128(data, i + 1 - from);
		strbuf_add(data, shares[from], states);
		from = i + 1;
	}
	free(shares);
}

static void add_columns(const struct part *p, struct strbuf *data)
{
	timeline_column *const cells = xreallocarray(NULL, p->range.columns, sizeof(*cells));

	for (u32 i = 0; i < p->whole->threads.len; i++)
		add_runs(p, (struct timeline_lane){TIMELINE_THREAD, i}, cells, data);
	for (u32 i = 0; i < p->whole->cpus.len; i++)
		add_runs(p, (struct timeline_lane){TIMELINE_CPU, i}, cells, data);
	free(cells);
}

/* How many slices lie one in the other, at most, in each row. */
static void add_depths(const struct timeline *t, enum timeline_row row, size_t n,
		       struct strbuf *data)
{
	u32 *const depths = xzalloc((n + 1) * sizeof(*depths));

	for (size_t i = 0; i < t->slices.len; i++) {
		const struct timeline_slice *const s = &t->slices.items[i];

		if (s->lane.row == row)
			depths[s->lane.index] = MAX(depths[s->lane.index], s->depth + 1);
	}
	for (size_t i = 0; i < n; i++)
		strbuf_add_leb128(data, depths[i]);
	free(depths);
}

static void add_first_events(const struct timeline *t, struct strbuf *data)
{
	u32 *const first = xzalloc((t->threads.len + 1) * sizeof(*first));

	for (u32 i = (u32)t->events.len; i-- > 0;)
		if (t->events.items[i].thread != TIMELINE_NONE)
			first[t->events.items[i].thread] = i;
	for (size_t i = 0; i < t->threads.len; i++)
		strbuf_add_leb128(data, first[i]);
	free(first);
}

static void add_part(const struct part *p, struct strbuf *data)
{
	const struct timeline *const t = p->whole;

	strbuf_add_leb128(data, (u64)(vector_last(&t->events).ns - t->events.items[0].ns));
	strbuf_add_leb128(data, t->events.len);
	strbuf_add_leb128(data, (u64)p->range.from);
	strbuf_add_leb128(data, (u64)p->range.to);
	strbuf_add_leb128(data, p->is_coarse || p->first == p->end ? 0 : p->numbers[p->first] - 1);
	strbuf_add_leb128(data, p->is_coarse || p->first == p->end ? 0 : p->numbers[p->end - 1]);
	for (size_t i = 0; i < p->events.len; i++)
		strbuf_add_leb128(data, p->events.items[i] - (i ? p->events.items[i - 1] : 0));
	for (u32 s = 0; s < THREAD_STATES; s++)
		for (size_t i = 0; i < t->threads.len; i++)
			strbuf_add_leb128(data, t->threads.items[i].ns[s]);
	add_first_events(t, data);
	add_depths(t, TIMELINE_THREAD, t->threads.len, data);
	add_depths(t, TIMELINE_CPU, t->cpus.len, data);
	strbuf_add_leb128(data, p->is_coarse ? p->range.columns : 0);
	if (p->is_coarse)
		add_columns(p, data);
}

void timeline_part(const struct timeline *t, const struct timeline_options *o,
		   const struct timeline_range *range, struct strbuf *data)
{
	const s64 last = vector_last(&t->events).ns - t->events.items[0].ns;
	struct timeline_options options = *o;
	struct part p = {.whole = t, .range = *range, .t = *t};

	p.range.from = MIN(MAX(p.range.from, 0), last);
	p.range.to = MIN(MAX(p.range.to, p.range.from), last);
	p.range.columns = MIN(MAX(p.range.columns, 1u), COLUMNS_MOST);
	p.first = event_at(t, p.range.from);
	p.end = event_at(t, p.range.to + 1);
	p.is_coarse = p.end - p.first > EVENTS_MOST;
	p.numbers = xzalloc((t->events.len + 1) * sizeof(*p.numbers));
	memset(&p.t.events, 0, sizeof(p.t.events));
	memset(&p.t.changes, 0, sizeof(p.t.changes));
	memset(&p.t.wakeups, 0, sizeof(p.t.wakeups));
	memset(&p.t.slices, 0, sizeof(p.t.slices));
	memset(&p.t.values, 0, sizeof(p.t.values));
	memset(&p.t.losses, 0, sizeof(p.t.losses));
	(p.is_coarse ? collect_losses : collect)(&p);
	options.texts = NULL;
	options.flame = NULL;
	timeline_page_data(&p.t, t, &options, data);
	strbuf_add_leb128(data, 1);
	add_part(&p, data);
	vector_free(&p.t.events);
	vector_free(&p.t.changes);
	vector_free(&p.t.wakeups);
	vector_free(&p.t.slices);
	vector_free(&p.t.values);
	vector_free(&p.t.losses);
	vector_free(&p.events);
	free(p.numbers);
}
