/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time lines: what is added, and what follows from it. */
#include <stdlib.h>

#include "view/timeline/internal.h"
#include "view/value.h"

/* ---- numbers for things ---- */

/* The number of a key. *ret_new: it is new, and the caller adds the item. */
static u32 number_of(struct hashmap *map, const void *key, size_t len, bool *ret_new)
{
	void **at = hashmap_put(map, key, len, ret_new);

	if (*ret_new)
		*at = (void *)(uintptr_t)map->len;
	return (u32)(uintptr_t)*at - 1;
}

u32 timeline_name(struct timeline *t, const char *name, size_t len)
{
	bool is_new;
	const u32 n = number_of(&t->name_numbers, name, len, &is_new);

	if (is_new)
		vector_push(&t->names, (struct timeline_text){t->name_numbers.entries[n].key, len});
	return n;
}

u32 timeline_thread(struct timeline *t, u32 host, s64 tid)
{
	const s64 key[2] = {host, tid};
	bool is_new;
	const u32 n = number_of(&t->thread_numbers, key, sizeof(key), &is_new);

	if (is_new)
		vector_push(&t->threads,
			    (struct timeline_thread){
				    .tid = tid, .pid = -1, .host = host, .name = TIMELINE_NONE});
	return n;
}

u32 timeline_cpu(struct timeline *t, u32 host, s64 cpu)
{
	const s64 key[2] = {host, cpu};
	bool is_new;
	const u32 n = number_of(&t->cpu_numbers, key, sizeof(key), &is_new);

	if (is_new)
		vector_push(&t->cpus, (struct timeline_cpu){.number = cpu, .host = host});
	return n;
}

u32 timeline_kind(struct timeline *t, const char *name, bool is_mark)
{
	bool is_new;
	const u32 n = number_of(&t->kind_numbers, name, strlen(name), &is_new);

	if (is_new)
		vector_push(&t->kinds,
			    (struct timeline_kind){timeline_name(t, name, strlen(name)), is_mark});
	return n;
}

void timeline_name_thread(struct timeline *t, u32 thread, s64 pid, const char *comm, size_t len)
{
	struct timeline_thread *const to = &t->threads.items[thread];
	const struct timeline_text *known =
		to->name == TIMELINE_NONE ? NULL : &t->names.items[to->name];

	if (pid >= 0)
		to->pid = pid;
	if (comm && (!known || known->len != len || memcmp(known->data, comm, len)))
		to->name = timeline_name(t, comm, len);
}

void timeline_name_host(struct timeline *t, u32 host, const char *name)
{
	while (t->hosts.len <= host)
		vector_push(&t->hosts, TIMELINE_NONE);
	if (*name)
		t->hosts.items[host] = timeline_name(t, name, strlen(name));
}

/* ---- events ---- */

static u32 now(const struct timeline *t)
{
	return (u32)t->events.len - 1;
}

u32 timeline_event(struct timeline *t, s64 ns, u32 kind, u32 thread, u32 cpu)
{
	const s64 last = t->events.len ? vector_last(&t->events).ns : ns;

	if (ns < last) {
		t->moved++;
		t->moved_most_ns = MAX(t->moved_most_ns, (u64)last - (u64)ns);
		ns = last;
	}
	vector_push(&t->events, (struct timeline_event){ns, kind, thread, cpu});
	return now(t);
}

static bool has_state(const struct timeline *t, u32 thread)
{
	const u32 change = t->threads.items[thread].change;

	return change && t->changes.items[change - 1].state != THREAD_UNKNOWN;
}

void timeline_state(struct timeline *t, u32 thread, enum thread_state state, bool is_cut)
{
	struct timeline_thread *const of = &t->threads.items[thread];
	const bool was_known = has_state(t, thread);

	if (of->change && is_cut) {
		of->odd += was_known;
		t->changes.items[of->change - 1].is_cut = true;
	}
	if (!was_known)
		vector_push(&t->known, thread);
	of->changes++;
	vector_push(&t->changes, (struct timeline_change){now(t), thread, (u8)state, false});
	of->change = (u32)t->changes.len;
}

void timeline_wakeup(struct timeline *t, u32 thread)
{
	t->threads.items[thread].wakeups++;
	vector_push(&t->wakeups, (struct timeline_wakeup){now(t), thread});
}

void timeline_slice(struct timeline *t, struct timeline_lane lane, u32 begun, bool is_cut, u32 name)
{
	vector_push(&t->slices, (struct timeline_slice){.lane = lane,
							.begin = begun,
							.end = now(t),
							.name = name,
							.is_cut = is_cut});
}

void timeline_counter(struct timeline *t, u32 name, s64 value)
{
	vector_push(&t->values, (struct timeline_value){now(t), name, value});
}

void timeline_lost(struct timeline *t)
{
	vector_push(&t->losses, now(t));
	for (size_t i = 0; i < t->known.len; i++) {
		const u32 thread = t->known.items[i];

		if (!has_state(t, thread))
			continue;
		timeline_state(t, thread, THREAD_UNKNOWN, true);
		t->threads.items[thread].odd--; /* a loss, not a contradiction */
	}
	t->known.len = 0;
}

/* ---- spans ---- */

/* Spans are stored row by row. counts: of each row; becomes the index of its first. */
static void place_spans(struct timeline *t, enum timeline_row row, size_t n, size_t *counts)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t count = counts[i];

		*(row == TIMELINE_THREAD ? &t->threads.items[i].first : &t->cpus.items[i].first) =
			counts[i] = at;
		at += count;
	}
	t->spans[row] = xreallocarray(NULL, at + 1, sizeof(**t->spans));
	t->span_counts[row] = at;
}

static u64 length(const struct timeline *t, u32 begin, u32 end)
{
	return (u64)(t->events.items[end].ns - t->events.items[begin].ns);
}

/* Each change begins a span of its thread, which ends at the thread's next one. */
static void span_threads(struct timeline *t)
{
	const size_t n = t->threads.len;
	size_t *const at = xzalloc((n + 1) * sizeof(*at));
	struct timeline_span *s;

	for (size_t i = 0; i < t->changes.len; i++)
		at[t->changes.items[i].thread]++;
	place_spans(t, TIMELINE_THREAD, n, at);
	for (size_t i = 0; i < t->changes.len; i++) {
		const struct timeline_change *const c = &t->changes.items[i];
		struct timeline_thread *const of = &t->threads.items[c->thread];

		s = &t->spans[TIMELINE_THREAD][at[c->thread]++];
		if (s > &t->spans[TIMELINE_THREAD][of->first]) {
			s[-1].end = c->event;
			if (!s[-1].is_cut)
				of->ns[s[-1].what] += length(t, s[-1].begin, c->event);
		}
		*s = (struct timeline_span){c->event, now(t), c->state, c->is_cut};
		of->runs += c->state == THREAD_RUNS;
	}
	/* when the last one of each thread ends is not recorded */
	for (size_t i = 0; i < n; i++)
		if (at[i] > t->threads.items[i].first)
			t->spans[TIMELINE_THREAD][at[i] - 1].is_cut = true;
	free(at);
}

static bool is_on_cpu(const struct timeline *t, const struct timeline_span *s)
{
	return s->what == THREAD_RUNS && t->events.items[s->begin].cpu != TIMELINE_NONE;
}

static int compare_spans(const void *a, const void *b)
{
	const struct timeline_span *const x = a, *const y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* A thread runs on the CPU of the event with which it began to run. */
static void span_cpus(struct timeline *t)
{
	const size_t n = t->cpus.len;
	size_t *const at = xzalloc((n + 1) * sizeof(*at)), count;

	for (size_t i = 0; i < t->span_counts[TIMELINE_THREAD]; i++)
		if (is_on_cpu(t, &t->spans[TIMELINE_THREAD][i]))
			at[t->events.items[t->spans[TIMELINE_THREAD][i].begin].cpu]++;
	place_spans(t, TIMELINE_CPU, n, at);
	for (u32 i = 0; i < t->threads.len; i++) {
		const struct timeline_span *const all =
			timeline_spans(t, (struct timeline_lane){TIMELINE_THREAD, i}, &count);

		for (const struct timeline_span *s = all; s < all + count; s++) {
			const u32 cpu = t->events.items[s->begin].cpu;

			if (!is_on_cpu(t, s))
				continue;
			t->spans[TIMELINE_CPU][at[cpu]++] =
				(struct timeline_span){s->begin, s->end, i, s->is_cut};
			if (!s->is_cut)
				t->cpus.items[cpu].busy_ns += length(t, s->begin, s->end);
		}
	}
	for (u32 i = 0; i < n; i++) {
		const size_t first = t->cpus.items[i].first;

		qsort(&t->spans[TIMELINE_CPU][first], at[i] - first, sizeof(**t->spans),
		      compare_spans);
	}
	free(at);
}

static int compare_slices(const void *a, const void *b)
{
	const struct timeline_slice *const x = a, *const y = b;

	return x->lane.row != y->lane.row	? (int)x->lane.row - (int)y->lane.row
	       : x->lane.index != y->lane.index ? (x->lane.index > y->lane.index) * 2 - 1
	       : x->begin != y->begin		? (x->begin > y->begin) * 2 - 1
						: (x->end < y->end) - (x->end > y->end);
}

/* A slice's depth is the number of slices of its row that are open when it begins. */
static void nest_slices(struct timeline *t)
{
	VECTOR(u32) open = {0}; /* where those at each depth end */

	qsort(t->slices.items, t->slices.len, sizeof(*t->slices.items), compare_slices);
	for (size_t i = 0; i < t->slices.len; i++) {
		struct timeline_slice *const s = &t->slices.items[i];

		if (i && (s[-1].lane.row != s->lane.row || s[-1].lane.index != s->lane.index))
			open.len = 0;
		while (open.len && vector_last(&open) <= s->begin)
			open.len--;
		s->depth = (u32)open.len;
		vector_push(&open, s->end);
	}
	vector_free(&open);
}

/* A thread's open slices end when it ends: exit_group() does not return. */
static void end_slices(struct timeline *t)
{
	for (size_t i = 0; i < t->slices.len; i++) {
		struct timeline_slice *const s = &t->slices.items[i];
		const struct timeline_change *last;

		if (!s->is_cut || s->lane.row != TIMELINE_THREAD ||
		    !t->threads.items[s->lane.index].change)
			continue;
		last = &t->changes.items[t->threads.items[s->lane.index].change - 1];
		if (last->state != THREAD_ENDED || last->event < s->begin)
			continue;
		s->end = last->event;
		s->is_cut = false;
	}
}

/*
 * Some kernels leave out a switch of an idle CPU now and then. But if one in four threads
 * contradicts itself, only some processes were recorded, and switches between the others are
 * missing.
 */
#define ODD_MOST      20 /* one of this many changes of a thread */
#define PARTIAL_MOST  4 /* one of this many threads */
#define PARTIAL_LEAST 4 /* changes: with fewer, none can contradict another */

static void find_partial(struct timeline *t)
{
	size_t odd = 0, told = 0;

	for (size_t i = 0; i < t->threads.len; i++) {
		struct timeline_thread *const of = &t->threads.items[i];

		of->is_partial = of->odd * ODD_MOST > of->changes;
		odd += of->is_partial;
		told += of->changes >= PARTIAL_LEAST;
	}
	for (size_t i = 0; i < t->threads.len; i++) {
		struct timeline_thread *const of = &t->threads.items[i];

		of->is_partial |= of->changes && of->changes < PARTIAL_LEAST;
		of->is_partial &= odd * PARTIAL_MOST > told;
	}
	for (size_t i = 0; i < t->changes.len; i++)
		if (t->threads.items[t->changes.items[i].thread].is_partial)
			t->changes.items[i].is_cut = true;
}

void timeline_finish(struct timeline *t)
{
	find_partial(t);
	span_threads(t);
	span_cpus(t);
	end_slices(t);
	if (t->slices.len)
		nest_slices(t);
}

/* ---- reading ---- */

size_t timeline_moved(const struct timeline *t, u64 *ret_most_ns)
{
	*ret_most_ns = t->moved_most_ns;
	return t->moved;
}

size_t timeline_partial(const struct timeline *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->threads.len; i++)
		n += t->threads.items[i].is_partial;
	return n;
}

size_t timeline_events(const struct timeline *t)
{
	return t->events.len;
}

s64 timeline_ns(const struct timeline *t, u32 event)
{
	return t->events.items[event].ns;
}

u32 timeline_event_cpu(const struct timeline *t, u32 event)
{
	return t->events.items[event].cpu;
}

const struct timeline_thread *timeline_threads(const struct timeline *t, size_t *ret_n)
{
	*ret_n = t->threads.len;
	return t->threads.items;
}

const struct timeline_cpu *timeline_cpus(const struct timeline *t, size_t *ret_n)
{
	*ret_n = t->cpus.len;
	return t->cpus.items;
}

const struct timeline_slice *timeline_slices(const struct timeline *t, size_t *ret_n)
{
	*ret_n = t->slices.len;
	return t->slices.items;
}

static size_t first_span(const struct timeline *t, enum timeline_row row, u32 index)
{
	const size_t rows = row == TIMELINE_THREAD ? t->threads.len : t->cpus.len;

	return index == rows		? t->span_counts[row]
	       : row == TIMELINE_THREAD ? t->threads.items[index].first
					: t->cpus.items[index].first;
}

const struct timeline_span *timeline_spans(const struct timeline *t, struct timeline_lane lane,
					   size_t *ret_n)
{
	const size_t first = first_span(t, lane.row, lane.index);

	*ret_n = first_span(t, lane.row, lane.index + 1) - first;
	return &t->spans[lane.row][first];
}

const char *timeline_name_text(const struct timeline *t, u32 name, size_t *ret_len)
{
	*ret_len = name == TIMELINE_NONE ? 1 : t->names.items[name].len;
	return name == TIMELINE_NONE ? "?" : t->names.items[name].data;
}

static void add_name(const struct timeline *t, u32 name, struct strbuf *out)
{
	size_t len;
	const char *const text = timeline_name_text(t, name, &len);

	strbuf_add(out, text, len);
}

void timeline_row_text(const struct timeline *t, struct timeline_lane lane, struct strbuf *out)
{
	const bool is_thread = lane.row == TIMELINE_THREAD;
	const u32 host =
		is_thread ? t->threads.items[lane.index].host : t->cpus.items[lane.index].host;

	if (t->hosts.len > 2 && host < t->hosts.len && t->hosts.items[host] != TIMELINE_NONE) {
		add_name(t, t->hosts.items[host], out);
		strbuf_addch(out, ' ');
	}
	if (is_thread)
		add_name(t, t->threads.items[lane.index].name, out);
	strbuf_addf(out, is_thread ? "-%" PRId64 : "CPU %" PRId64,
		    is_thread ? t->threads.items[lane.index].tid
			      : t->cpus.items[lane.index].number);
}

const char *timeline_state_text(enum thread_state state)
{
	static const char *const texts[] = {"unknown",	"running", "runnable", "preempted",
					    "sleeping", "blocked", "stopped",  "ended"};

	return texts[state];
}

static int compare_use(const void *a, const void *b, void *arg)
{
	const struct timeline_thread *const all = arg;
	const struct timeline_thread *const x = &all[*(const u32 *)a],
					    *const y = &all[*(const u32 *)b];

	if (x->is_partial != y->is_partial)
		return x->is_partial - y->is_partial;
	if (x->ns[THREAD_RUNS] != y->ns[THREAD_RUNS])
		return x->ns[THREAD_RUNS] < y->ns[THREAD_RUNS] ? 1 : -1;
	return (x > y) - (x < y);
}

u32 *timeline_by_use(const struct timeline *t)
{
	u32 *const order = xreallocarray(NULL, t->threads.len + 1, sizeof(*order));

	for (u32 i = 0; i < t->threads.len; i++)
		order[i] = i;
	if (t->threads.len)
		qsort_r(order, t->threads.len, sizeof(*order), compare_use, t->threads.items);
	return order;
}

s64 timeline_length(const struct timeline *t)
{
	return vector_last(&t->events).ns - t->events.items[0].ns;
}

void timeline_columns(const struct timeline *t, struct timeline_lane lane, s64 begin, s64 end,
		      u32 n, timeline_column *ret)
{
	const s64 zero = t->events.items[0].ns + begin;
	const double width = MAX((double)(end - begin), 1.0) / n;
	size_t count;
	const struct timeline_span *const spans = timeline_spans(t, lane, &count);

	memset(ret, 0, n * sizeof(*ret));
	for (const struct timeline_span *s = spans; s < spans + count; s++) {
		const u32 state = lane.row == TIMELINE_CPU ? THREAD_RUNS : s->what;
		const double from = (double)(t->events.items[s->begin].ns - zero);
		const double to = (double)(t->events.items[s->end].ns - zero);

		if (s->is_cut &&
		    (s->end != now(t) ||
		     t->threads.items[lane.row == TIMELINE_CPU ? s->what : lane.index].is_partial))
			continue;
		for (u32 i = (u32)(MAX(from, 0) / width); i < n && i * width < to; i++)
			ret[i][state] += (u64)(MIN(to, (i + 1) * width) - MAX(from, i * width));
	}
}

u32 timeline_colour(enum thread_state state, bool is_dark)
{
	/* the same as in view/page/lanes.js */
	static const u32 colours[2][THREAD_STATES] = {
		{0xffffff, 0x2f7d4f, 0xf0a030, 0xe07020, 0xd5d9de, 0xa03c9c, 0x7a6a5a, 0xffffff},
		{0x16181c, 0x4fae78, 0xf0b050, 0xe8803a, 0x3a3f47, 0xc56ac2, 0xa09080, 0x16181c},
	};

	return colours[is_dark][state];
}

void timeline_time_text(const struct timeline_options *o, s64 ns, struct strbuf *out)
{
	if (o->is_unplaced || ns < 0)
		strbuf_addf(out, "%s%" PRIu64 ".%09u", ns < 0 ? "-" : "",
			    (u64)llabs(ns) / 1000000000, (u32)((u64)llabs(ns) % 1000000000));
	else
		time_text(out, "%H:%M:%S.%k", (u64)ns);
}

/* ---- */

struct timeline *timeline_new(void)
{
	return xzalloc(sizeof(struct timeline));
}

void timeline_release(struct timeline *t)
{
	if (!t)
		return;
	vector_free(&t->events);
	vector_free(&t->kinds);
	vector_free(&t->threads);
	vector_free(&t->cpus);
	vector_free(&t->changes);
	vector_free(&t->wakeups);
	vector_free(&t->slices);
	vector_free(&t->values);
	vector_free(&t->losses);
	vector_free(&t->known);
	vector_free(&t->names);
	vector_free(&t->hosts);
	hashmap_release(&t->name_numbers);
	hashmap_release(&t->kind_numbers);
	hashmap_release(&t->thread_numbers);
	hashmap_release(&t->cpu_numbers);
	for (u32 i = 0; i < TIMELINE_ROWS; i++)
		free(t->spans[i]);
	free(t);
}
