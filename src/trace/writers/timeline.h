/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What events are on a time line that is drawn: slices, instants and counters, on tracks of CPUs
 * and threads. Which events begin and end a slice is a table (timeline.c). A slice is drawn when
 * both its ends are known and belong together: that the same thread or call ends that began. Where
 * not (the other one was lost, or is none of the recorded process), the event is an instant.
 */
#ifndef PANTRACE_TRACE_WRITERS_TIMELINE_H
#define PANTRACE_TRACE_WRITERS_TIMELINE_H

#include "trace/writers/writer.h"

enum track_kind {
	TRACK_THREAD,
	TRACK_CPU, /* who runs on it */
	TRACK_INTERRUPTS, /* of a CPU */
	TRACK_COUNTER, /* of its name and id */
	TRACK_NONE, /* neither thread nor CPU is known */
};

struct timeline_track {
	enum track_kind kind;
	u32 host; /* number, from 0 on */
	s64 id; /* of the CPU or thread; of a counter its index, or -1 */
	s64 process; /* of a thread */
};

enum item_kind {
	ITEM_INSTANT,
	ITEM_SLICE,
	ITEM_UNFINISHED, /* a slice that was under way when the recording ended */
	ITEM_COUNTER,
};

struct timeline_item {
	enum item_kind kind;
	struct timeline_track track;
	s64 ns, end_ns; /* end_ns: of a slice */
	const char *name; /* until the next event */
	size_t name_size;
	const char *category; /* the event's whole name */
	/*
	 * an object of JSON: of what began; NULL: the fields of the event that is there are all. A
	 * slice has both.
	 */
	const char *fields;
	s64 value; /* of a counter */
	const char *comm; /* of timeline_rest(): the thread that it was in */
	u64 flow_to, flow_from; /* an arrow leads to, from here; 0 = none */
};

#define TIMELINE_ITEMS 2

/* What has begun. */
struct timeline_held {
	s64 ns, check; /* check: what the end has to say, too */
	const char *category;
	char *name, *fields, *comm; /* comm: of the thread that it was in */
	u64 flow_to;
};

struct timeline {
	struct hashmap hosts; /* name -> number + 1 */
	struct hashmap slots; /* {host, what, id} -> its slices that have begun */
	struct hashmap flows; /* {host, thread} -> flow that leads to where it runs */
	u64 last_flow;
	struct timeline_held done; /* that an item is of */
	struct strbuf name;
};

/* In order; none, if all of the event comes later. How many. */
size_t timeline_items(struct timeline *t, struct recording *r, const struct recorded_place *place,
		      struct timeline_item *ret);
/* What is still held, one by one, at the end. False: nothing is left. */
bool timeline_rest(struct timeline *t, struct timeline_item *ret);
/* Numbers of processes of several machines, made different. */
#define TIMELINE_HOST_STEP (1 << 23) /* more than any process has as its number */
static inline s64 timeline_process(const struct timeline_track *t)
{
	return t->process + (t->host > 1 ? (s64)(t->host - 1) * TIMELINE_HOST_STEP : 0);
}
/* Whether the name is the known one. It may have a NUL: xstrndup() copied it up to there. */
static inline bool timeline_is_named(const char *known, const char *name, size_t n)
{
	const size_t size = strnlen(name, n);

	return strlen(known) == size && !memcmp(known, name, size);
}
/* The number of a host; "" = unknown. */
u32 timeline_host(struct timeline *t, const char *host);
void timeline_release(struct timeline *t);

#endif
