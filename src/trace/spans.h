/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What events are on a time line that is drawn: slices, instants and counters, on tracks of CPUs
 * and threads. Which events begin and end a slice is a table (spans.c). A slice is drawn when
 * both its ends are known and belong together: that the same thread or call ends that began. Where
 * not (the other one was lost, or is none of the recorded process), the event is an instant.
 */
#ifndef PANTRACE_TRACE_SPANS_H
#define PANTRACE_TRACE_SPANS_H

#include "base/hashmap.h"
#include "trace/recording.h"

enum track_kind {
	TRACK_THREAD,
	TRACK_CPU, /* the thread that runs on a CPU */
	TRACK_INTERRUPTS, /* of a CPU */
	TRACK_COUNTER, /* identified by name and id */
	TRACK_NONE, /* thread and CPU are unknown */
};

struct span_track {
	enum track_kind kind;
	u32 host; /* number, from 0 on */
	s64 id; /* CPU or thread; for a counter its index, or -1 */
	s64 process; /* process of a thread */
};

enum item_kind {
	ITEM_INSTANT,
	ITEM_SLICE,
	ITEM_UNFINISHED, /* a slice still open when the recording ended */
	ITEM_COUNTER,
};

struct span_item {
	enum item_kind kind;
	struct span_track track;
	s64 ns, end_ns; /* end_ns: only for slices */
	u64 begun; /* spans.event, as it was when this began */
	const char *name; /* valid until the next event */
	size_t name_size;
	const char *category; /* the event's whole name */
	/*
	 * a JSON object with the fields of the event that began the slice. NULL: the current event
	 * has all fields. A slice has both.
	 */
	const char *fields;
	s64 value; /* of a counter */
	const char *comm; /* set by spans_rest(): the thread it was in */
	u64 flow_to, flow_from; /* ids of the arrows that end and begin here; 0 = none */
};

#define SPAN_ITEMS 2

/* What has begun. */
struct span_held {
	s64 ns, check; /* check: value that the end must have, too */
	u64 begun;
	const char *category;
	char *name, *fields, *comm; /* comm: name of the thread it was in */
	u64 flow_to;
	u64 losses; /* spans.losses when it began; if more now, what ends is not it */
};

struct spans {
	u64 event; /* the caller's number of the event that comes */
	bool without_fields; /* nobody reads item.fields */
	/* ---- its own ---- */
	struct hashmap hosts; /* name -> number + 1 */
	struct hashmap slots; /* {host, what, id} -> its open slices */
	struct hashmap flows; /* {host, thread} -> the flow to its next slice */
	u64 last_flow;
	u64 losses; /* how often events were lost */
	size_t rest; /* slots that are empty, at the end */
	struct span_held done; /* the slice that the current item shows */
	struct strbuf name;
};

/*
 * Fills in the items of this event, in order; returns how many. Zero if all come with a later
 * event. Sees by itself where the recording says that events are missing.
 */
size_t spans_items(struct spans *t, struct recording *r, const struct recorded_place *place,
		   struct span_item *ret);
/* Do such events begin or end slices, or count? sched_switch and wake-ups aside. */
bool spans_know(const struct recorded_kind *k);
/* Events are missing before the next one: what is open ends nowhere. */
void spans_lost(struct spans *t);
/* At the end: returns the slices still open, one by one. False: nothing is left. */
bool spans_rest(struct spans *t, struct span_item *ret);
/* Keeps process numbers of several machines apart. */
#define SPANS_HOST_STEP (1 << 23) /* larger than any PID */
static inline s64 span_process(const struct span_track *t)
{
	return t->process + (t->host > 1 ? (s64)(t->host - 1) * SPANS_HOST_STEP : 0);
}
/* True if this is the known name. It may contain a NUL: xstrndup() copied it up to there. */
static inline bool spans_is_named(const char *known, const char *name, size_t n)
{
	const size_t size = strnlen(name, n);

	return strlen(known) == size && !memcmp(known, name, size);
}
/* Returns the number of a host; "" = unknown. */
u32 spans_host(struct spans *t, const char *host);
void spans_release(struct spans *t);

#endif
