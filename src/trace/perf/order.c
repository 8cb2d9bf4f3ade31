/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records in the order of their times. perf reads the ring of one CPU after the other, and ends the
 * round: what it takes in the next round is no older than what the round before had. So records are
 * held back for a round (tools/perf/util/ordered-events.c).
 *
 * A CPU that stands still between taking an event's time and recording it breaks that promise, as
 * a round of few events takes microseconds: perf script shows such events late, and counts them.
 * Rounds of a few MB make up for it.
 */
#include "trace/perf/internal.h"

#define ROUND_BYTES (4u << 20) /* at least, but in the order of perf script */
#define HELD_MAX    (512u << 20) /* of rounds that do not end */

static u64 word_at(const u8 *data, size_t size, size_t at)
{
	u64 v = 0;

	if (at <= size && size - at >= 8)
		memcpy(&v, data + at, 8);
	return v;
}

/* How many of the last words come behind the id in sample_id_all. */
static size_t id_from_end(u64 type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 8 + (type & PERF_SAMPLE_STREAM_ID ? 8 : 0) + (type & PERF_SAMPLE_CPU ? 8 : 0);
}

static u32 kind_of_record(struct perf_data *p, const u8 *data, const struct perf_head *h)
{
	u64 type;
	int at;
	size_t end;

	if (p->kinds.len < 2)
		return 0;
	type = p->kinds.items[0].attr.sample_type;
	if (h->type == PERF_RECORD_SAMPLE) {
		at = perf_sample_id_at(type);
		return at < 0 ? 0
			      : perf_kind_of(p, word_at(data, h->size, sizeof(*h) + (size_t)at));
	}
	end = p->kinds.items[0].attr.sample_id_all ? id_from_end(type) : 0;
	return end && end <= h->size ? perf_kind_of(p, word_at(data, h->size, h->size - end)) : 0;
}

/* 0: it has none, as in perf's eyes the largest, too. */
static u64 time_of_record(const struct perf_data *p, u32 kind, const u8 *data,
			  const struct perf_head *h)
{
	const struct perf_event_attr *const attr = &p->kinds.items[kind].attr;
	const u64 type = attr->sample_type;
	struct cursor body = cursor_of(data + sizeof(*h), h->size - sizeof(*h));
	struct perf_sample s = {0};
	size_t at = sizeof(*h);

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	if (h->type == PERF_RECORD_SAMPLE) {
		at += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
		at += type & PERF_SAMPLE_IP ? 8 : 0;
		at += type & PERF_SAMPLE_TID ? 8 : 0;
		s.time = word_at(data, h->size, at);
	} else if (attr->sample_id_all) {
		perf_sample_id_parse(type, &body, &s);
	}
	return s.time == UINT64_MAX ? 0 : s.time;
}

/* ---- sorting ---- */

/* Two runs side by side become one; of records of one time the first run's come first. */
static void merge(struct perf_order *o, size_t first, size_t second, size_t end)
{
	struct perf_pending *const all = o->pending.items;
	const u64 time = all[second].time;
	size_t high = second, left, next = 0;

	while (first < high) { /* what is in its place already */
		const size_t middle = first + (high - first) / 2;

		if (all[middle].time <= time)
			first = middle + 1;
		else
			high = middle;
	}
	left = second - first;
	vector_reserve(&o->spare, left);
	memcpy(o->spare.items, all + first, left * sizeof(*all));
	for (size_t to = first; next < left; to++)
		all[to] = second < end && all[second].time < o->spare.items[next].time
				  ? all[second++]
				  : o->spare.items[next++];
}

/* They are a few runs that are in order: a CPU's of each round. */
static void sort(struct perf_order *o)
{
	struct perf_pending *const all = o->pending.items;

	o->runs.len = 0;
	for (size_t i = 0; i < o->pending.len; i++)
		if (!i || all[i].time < all[i - 1].time)
			vector_push(&o->runs, i);
	while (o->runs.len > 1) {
		size_t *const runs = o->runs.items, n = o->runs.len;

		for (size_t i = 0; i + 1 < n; i += 2)
			merge(o, runs[i], runs[i + 1], i + 2 < n ? runs[i + 2] : o->pending.len);
		for (size_t i = 0; i < n; i += 2)
			runs[i / 2] = runs[i];
		o->runs.len = (n + 1) / 2;
	}
}

/* ---- holding back ---- */

static void hold(struct perf_data *p, const u8 *data)
{
	struct perf_order *const o = &p->order;
	const struct perf_head h = perf_head_of(data);
	struct perf_pending pending = {.at = o->held.len};

	if (!p->kinds.len)
		return; /* nobody knows what it is */
	pending.kind = kind_of_record(p, data, &h);
	pending.time = time_of_record(p, pending.kind, data, &h);
	o->latest = MAX(o->latest, pending.time);
	o->late += pending.time && pending.time < o->given;
	o->round_bytes += h.size;
	memcpy(perf_room(&o->held, h.size), data, h.size);
	o->held.len += h.size;
	vector_push(&o->pending, pending);
}

/* Gives up the memory of those that went, once it is the greater part. */
static void compact(struct perf_order *o)
{
	struct bytes kept = {0};

	if (!o->pending.len)
		o->held.len = o->gone = 0;
	if (o->gone <= o->held.len / 2)
		return;
	for (size_t i = 0; i < o->pending.len; i++) {
		struct perf_pending *const pending = &o->pending.items[i];
		const u8 *const data = o->held.data + pending->at;
		const size_t size = perf_head_of(data).size;

		pending->at = kept.len;
		memcpy(perf_room(&kept, size), data, size);
		kept.len += size;
	}
	free(o->held.data);
	o->held = kept;
	o->gone = 0;
}

/* Forgets those that went. */
static void forget(struct perf_order *o)
{
	if (!o->next)
		return;
	o->pending.len -= o->next;
	memmove(o->pending.items, o->pending.items + o->next,
		o->pending.len * sizeof(*o->pending.items));
	o->next = o->ready = 0;
	compact(o);
}

/* All up to this time may go; at least so many do. */
static void release(struct perf_order *o, u64 limit, size_t least)
{
	size_t n = least;

	sort(o);
	while (n < o->pending.len && o->pending.items[n].time <= limit)
		n++;
	o->ready = n;
	if (n)
		o->given = MAX(o->given, o->pending.items[n - 1].time);
}

static void end_round(struct perf_data *p)
{
	struct perf_order *const o = &p->order;

	if (!o->as_perf && o->round_bytes < ROUND_BYTES)
		return;
	release(o, o->round_last, 0);
	o->round_last = o->latest;
	o->round_bytes = 0;
}

/* Reads on until something may go. False: there is nothing more. */
static bool read_on(struct perf_data *p)
{
	struct perf_order *const o = &p->order;

	forget(o);
	while (!o->ready && !o->ended) {
		const u8 *const data = perf_raw_record(p);

		if (!data) {
			o->ended = true;
			release(o, UINT64_MAX, 0);
		} else if (perf_head_of(data).type == PERF_USER_FINISHED_ROUND) {
			end_round(p);
		} else {
			hold(p, data);
			if (o->held.len + o->pending.len * sizeof(*o->pending.items) > HELD_MAX)
				release(o, 0, o->pending.len / 2);
		}
	}
	if (p->named < p->kinds.len)
		perf_name_kinds(p);
	return o->ready;
}

void perf_data_as_perf(struct perf_data *p)
{
	p->order.as_perf = true;
}

u64 perf_data_late(const struct perf_data *p)
{
	return p->order.late;
}

bool perf_data_next(struct perf_data *p, struct perf_record *ret)
{
	struct perf_order *const o = &p->order;
	const struct perf_event_attr *attr;
	const struct perf_pending *pending;
	struct perf_sample s;
	struct perf_head h;
	const u8 *data;

	if (o->next == o->ready && !read_on(p))
		return false;
	pending = &o->pending.items[o->next++];
	data = o->held.data + pending->at;
	h = perf_head_of(data);
	o->gone += h.size;
	attr = &p->kinds.items[pending->kind].attr;
	p->counters += h.type == PERF_RECORD_READ;
	*ret = (struct perf_record){
		.type = h.type,
		.misc = h.misc,
		.kind = pending->kind,
		.time = pending->time,
		.body = cursor_of(data + sizeof(h), h.size - sizeof(h)),
	};
	if (h.type != PERF_RECORD_SAMPLE && attr->sample_id_all &&
	    perf_sample_id_parse(attr->sample_type, &ret->body, &s)) {
		ret->pid = s.pid;
		ret->tid = s.tid;
		ret->has_task = attr->sample_type & PERF_SAMPLE_TID;
	}
	return true;
}

void perf_order_release(struct perf_order *o)
{
	free(o->held.data);
	vector_free(&o->pending);
	vector_free(&o->spare);
	vector_free(&o->runs);
}
