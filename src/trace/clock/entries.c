/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/clock/entries.h"

#define SLICE_NS   1000000000 /* in which the distance is looked for */
#define PARTS	   10 /* and then again, more closely */
#define PART_NS	   (SLICE_NS / PARTS)
#define SPACING_NS (SLICE_NS / 4096) /* of events that are looked at */
#define WIDEST_NS  (SLICE_NS / 2) /* of the messages' bounds: there it is not looked for */
#define VCPUS_MOST 1024
/* In a hundred: a record that interrupted another one has that one's time. */
#define CONTRADICTING_MOST 1

/* From FROM to TO. */
struct range {
	s64 from, to;
};

typedef VECTOR(struct range) ranges;

struct guest_event {
	u32 cpu;
	s64 ns;
};

struct vcpu {
	ranges ran; /* by time; the last one has no end yet while it runs */
	s64 last_ns; /* its last entry or exit */
	bool runs;
};

struct clock_entries {
	struct clock_relation *relation;
	clock_entries_fn *found;
	void *arg;
	VECTOR(struct vcpu) vcpus;
	VECTOR(struct guest_event) events; /* that wait until all entries around them were told */
	ranges allowed, next;
	struct clock_entries_count count;
};

struct clock_entries *clock_entries_new(struct clock_relation *r, clock_entries_fn *found,
					void *arg)
{
	struct clock_entries *const e = xzalloc(sizeof(*e));

	e->relation = r;
	e->found = found;
	e->arg = arg;
	return e;
}

static void swap(ranges *a, ranges *b)
{
	const ranges was = *a;

	*a = *b;
	*b = was;
}

/* ---- which distances the events allow ---- */

/* Clocks drift: how far the distance may have moved between two times of the guest. */
static s64 moved(s64 a, s64 b)
{
	return (a > b ? a - b : b - a) / 1000000 * CLOCK_DRIFT_MOST + CLOCK_DRIFT_MOST;
}

/* The first that ends at or behind NS. */
static size_t first_behind(const ranges *list, s64 ns)
{
	size_t low = 0, high = list->len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list->items[middle].to < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_range(ranges *to, s64 from, s64 until)
{
	if (to->len && from <= vector_last(to).to)
		vector_last(to).to = MAX(vector_last(to).to, until);
	else
		vector_push(to, (struct range){from, until});
}

/* NULL: nothing was ever told of it. */
static const ranges *ran(const struct clock_entries *e, u32 cpu)
{
	return cpu < e->vcpus.len && e->vcpus.items[cpu].ran.len ? &e->vcpus.items[cpu].ran : NULL;
}

/* Of the distances at time AT those that this event allows. False: none, and all stay. */
static bool allow(struct clock_entries *e, const struct guest_event *event, s64 at)
{
	const ranges *const list = ran(e, event->cpu);
	const s64 slack = moved(event->ns, at);

	if (!list)
		return true;
	e->next.len = 0;
	for (size_t i = 0; i < e->allowed.len; i++) {
		const struct range a = e->allowed.items[i];
		size_t n = first_behind(list, event->ns + a.from - slack);

		for (; n < list->len && list->items[n].from <= event->ns + a.to + slack; n++)
			add_range(&e->next, MAX(a.from, list->items[n].from - event->ns - slack),
				  MIN(a.to, list->items[n].to - event->ns + slack));
	}
	if (!e->next.len)
		return false;
	swap(&e->allowed, &e->next);
	return true;
}

/* All events of the array. False: they contradict each other. */
static bool allow_all(struct clock_entries *e, const struct guest_event *events, size_t n, s64 at)
{
	size_t contradicting = 0;

	for (size_t i = 0; i < n; i++)
		contradicting += !allow(e, &events[i], at);
	return contradicting * 100 <= n * CONTRADICTING_MOST;
}

static bool is_outside(struct clock_entries *e, const struct guest_event *event)
{
	const s64 ns = event->ns + clock_relation_offset(e->relation, event->ns, NULL);
	const ranges *const list = ran(e, event->cpu);
	const size_t n = list ? first_behind(list, ns) : 0;

	return list && (n == list->len || list->items[n].from > ns);
}

/* ---- slices ---- */

static void tell(struct clock_entries *e, s64 at)
{
	const s64 least = e->allowed.items[0].from, most = vector_last(&e->allowed).to;
	u64 known;

	clock_relation_offset(e->relation, at, &known);
	if ((u64)(most - least) < known)
		e->found(e->arg, &(struct clock_exchange){.sent = (u64)(at + least),
							  .received = (u64)at,
							  .answered = (u64)at,
							  .back = (u64)(at + most),
							  .means = CLOCK_ENTRIES});
}

/* Once more for a part of the slice whose distances at time WHOLE_AT are these. */
static void look_at_part(struct clock_entries *e, const ranges *whole, s64 whole_at, s64 at,
			 const struct guest_event *events, size_t n)
{
	const s64 slack = moved(whole_at, at);

	e->allowed.len = 0;
	for (size_t i = 0; i < whole->len; i++)
		add_range(&e->allowed, whole->items[i].from - slack, whole->items[i].to + slack);
	if (n && allow_all(e, events, n, at))
		tell(e, at);
}

static void look_at_slice(struct clock_entries *e, s64 begin, const struct guest_event *events,
			  size_t n)
{
	const s64 at = begin + SLICE_NS / 2;
	ranges whole = {0};
	size_t done = 0;
	u64 known;
	const s64 offset = clock_relation_offset(e->relation, at, &known);

	if (known > WIDEST_NS || clock_relation_jumps(e->relation, begin, begin + SLICE_NS))
		return;
	e->allowed.len = 0;
	add_range(&e->allowed, offset - (s64)known, offset + (s64)known);
	if (!allow_all(e, events, n, at)) {
		e->count.dropped += n;
		return;
	}
	e->count.events += n;
	for (size_t i = 0; i < n; i++)
		e->count.outside += is_outside(e, &events[i]);
	swap(&whole, &e->allowed);
	for (s64 part = begin; part < begin + SLICE_NS; part += PART_NS) {
		const size_t first = done;

		while (done < n && events[done].ns < part + PART_NS)
			done++;
		look_at_part(e, &whole, at, part + PART_NS / 2, events + first, done - first);
	}
	vector_free(&whole);
}

/* What no event can be in any more; the last one stays, so that it is known that it ran. */
static void forget(struct clock_entries *e, s64 before_ns)
{
	for (size_t i = 0; i < e->vcpus.len; i++) {
		ranges *const list = &e->vcpus.items[i].ran;
		const size_t n = MIN(first_behind(list, before_ns), list->len - !!list->len);

		memmove(list->items, list->items + n, (list->len - n) * sizeof(*list->items));
		list->len -= n;
	}
}

/* Looks at the oldest events, if all around them was told by now. */
static bool look(struct clock_entries *e, s64 now)
{
	const s64 begin = e->events.items[0].ns, end = begin + SLICE_NS;
	size_t n = 0;
	u64 known;
	const s64 offset = clock_relation_offset(e->relation, end, &known);

	if (now < end + offset || (u64)(now - end - offset) < MIN(known, (u64)WIDEST_NS) + PART_NS)
		return false;
	while (n < e->events.len && e->events.items[n].ns < end)
		n++;
	look_at_slice(e, begin, e->events.items, n);
	e->events.len -= n;
	memmove(e->events.items, e->events.items + n, e->events.len * sizeof(*e->events.items));
	forget(e, end + offset - WIDEST_NS - PART_NS);
	return true;
}

/* ---- what is told ---- */

static struct vcpu *vcpu_at(struct clock_entries *e, u32 number, s64 now)
{
	while (e->events.len && look(e, now))
		;
	if (number >= VCPUS_MOST)
		return NULL;
	while (e->vcpus.len <= number)
		vector_push(&e->vcpus, (struct vcpu){0});
	return &e->vcpus.items[number];
}

void clock_entries_entry(struct clock_entries *e, u32 vcpu, s64 ns)
{
	struct vcpu *const v = vcpu_at(e, vcpu, ns);

	if (!v)
		return;
	if (!v->ran.len) /* before the first one it may have run */
		vector_push(&v->ran, (struct range){INT64_MIN / 2, ns});
	if (!v->runs)
		vector_push(&v->ran, (struct range){ns, INT64_MAX / 2});
	v->runs = true;
	v->last_ns = ns;
}

void clock_entries_exit(struct clock_entries *e, u32 vcpu, s64 ns)
{
	struct vcpu *const v = vcpu_at(e, vcpu, ns);

	if (!v)
		return;
	if (!v->runs)
		vector_push(&v->ran, (struct range){v->ran.len ? v->last_ns : INT64_MIN / 2, ns});
	vector_last(&v->ran).to = ns;
	v->runs = false;
	v->last_ns = ns;
}

void clock_entries_event(struct clock_entries *e, u32 cpu, s64 machine_ns)
{
	/* the guest's buffers may be read a little out of order */
	if (!e->events.len || machine_ns >= vector_last(&e->events).ns + SPACING_NS)
		vector_push(&e->events, (struct guest_event){cpu, machine_ns});
}

struct clock_entries_count clock_entries_end(struct clock_entries *e)
{
	struct clock_entries_count count;

	for (size_t i = 0; i < e->vcpus.len; i++) {
		struct vcpu *const v = &e->vcpus.items[i];

		if (v->ran.len && !v->runs) /* behind the last one it may run */
			vector_push(&v->ran, (struct range){v->last_ns, INT64_MAX / 2});
	}
	while (e->events.len)
		look(e, INT64_MAX);
	count = e->count;
	for (size_t i = 0; i < e->vcpus.len; i++)
		vector_free(&e->vcpus.items[i].ran);
	vector_free(&e->vcpus);
	vector_free(&e->events);
	vector_free(&e->allowed);
	vector_free(&e->next);
	free(e);
	return count;
}
