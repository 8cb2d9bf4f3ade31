/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time lines: what threads and CPUs did, and when, drawn as a page of HTML, as SVG, or as text.
 *
 *	struct timeline *t = timeline_new();
 *	event = timeline_event(t, ns, kind, thread, cpu);	// in the order of time
 *	timeline_state(t, thread, THREAD_RUNS, false);		// from the last event on
 *	timeline_slice(t, lane, begun, false, name);		// up to the last event
 *	timeline_finish(t);
 *	timeline_page(t, &options, out);
 *
 * Events are numbered from 0 on, and all else refers to these numbers: a state or slice begins at
 * one event and ends at another. Threads, CPUs, kinds and names are numbers, too.
 */
#ifndef PANTRACE_VIEW_TIMELINE_TIMELINE_H
#define PANTRACE_VIEW_TIMELINE_TIMELINE_H

#include "base/strbuf.h"
#include "trace/states.h"
#include "view/terminal/colour.h"

#define TIMELINE_NONE	     UINT32_MAX /* no thread, no CPU */
#define TIMELINE_EVENTS_MOST (UINT32_MAX - 1)

/* A row of the picture. */
enum timeline_row { TIMELINE_THREAD, TIMELINE_CPU, TIMELINE_ROWS };

struct timeline_lane {
	enum timeline_row row;
	u32 index; /* the thread's or CPU's */
};

struct timeline_thread {
	s64 tid, pid; /* pid: -1 = unknown */
	u32 host, name;
	u64 ns[THREAD_STATES]; /* time in each state, where both begin and end are known */
	u64 runs, wakeups; /* how often it began to run, and was woken */
	bool is_partial; /* only some of its switches were recorded: its states are uncertain */
	/* ---- its own ---- */
	u32 change; /* its last one + 1 */
	u32 changes, odd; /* number of changes, and of those that contradict the one before */
	size_t first; /* of its spans */
};

struct timeline_cpu {
	s64 number;
	u32 host;
	u64 busy_ns;
	size_t first; /* of its spans */
};

/* From one event to another: the state of a thread, or the thread that ran on a CPU. */
struct timeline_span {
	u32 begin, end; /* events */
	u32 what;
	bool is_cut; /* its end is not known; it is not after `end` */
};

struct timeline_slice {
	struct timeline_lane lane;
	u32 begin, end; /* events */
	u32 name, depth;
	bool is_cut; /* it had not ended when the recording did */
};

struct timeline;

struct timeline_options {
	const char *title;
	const char *files; /* the recordings, as report takes them */
	bool is_unplaced; /* the wall clock is unknown: times are as they were recorded */
	u32 columns; /* of text */
	enum colours colours; /* of text */
	/* the event's fields as text, for lists of events; NULL = none are shown */
	const struct strbuf *texts; /* [event] */
	/* the events' stacks, for flame graphs of what is selected; NULL = none are shown */
	const struct flame *flame;
	const u32 *stacks; /* [event]: the number that flame_last() gave, or TIMELINE_NONE */
};

struct timeline *timeline_new(void);
void timeline_release(struct timeline *t);

/* Return the number of a thing, a new one at the first call. Names are any bytes; copied. */
u32 timeline_name(struct timeline *t, const char *name, size_t len);
u32 timeline_thread(struct timeline *t, u32 host, s64 tid);
u32 timeline_cpu(struct timeline *t, u32 host, s64 cpu);
/* A kind of event. is_mark: its events are drawn, as they are neither slice nor state. */
u32 timeline_kind(struct timeline *t, const char *name, bool is_mark);
/* A thread is shown under its last name. pid: -1 = unknown. */
void timeline_name_thread(struct timeline *t, u32 thread, s64 pid, const char *comm, size_t len);
/* Host 0 has no name: "". Names are shown if there are at least two others. */
void timeline_name_host(struct timeline *t, u32 host, const char *name);

/* Returns the event's number. An event with a time before the last one's gets that one's time. */
u32 timeline_event(struct timeline *t, s64 ns, u32 kind, u32 thread, u32 cpu);
/* From the last event on. is_cut: when the previous state ended is not known. */
void timeline_state(struct timeline *t, u32 thread, enum thread_state state, bool is_cut);
/* The last event wakes this thread. */
void timeline_wakeup(struct timeline *t, u32 thread);
/* From event `begun` to the last one. is_cut: no end was recorded. */
void timeline_slice(struct timeline *t, struct timeline_lane lane, u32 begun, bool is_cut,
		    u32 name);
/* At the last event a counter, known by its name, has this value. */
void timeline_counter(struct timeline *t, u32 name, s64 value);
/* Events are missing before the last one: the states of all threads become unknown. */
void timeline_lost(struct timeline *t);
/* After this nothing may be added. */
void timeline_finish(struct timeline *t);

/* ---- of a finished one ---- */

size_t timeline_events(const struct timeline *t);
s64 timeline_ns(const struct timeline *t, u32 event);
u32 timeline_event_cpu(const struct timeline *t, u32 event); /* or TIMELINE_NONE */
const struct timeline_thread *timeline_threads(const struct timeline *t, size_t *ret_n);
const struct timeline_cpu *timeline_cpus(const struct timeline *t, size_t *ret_n);
size_t timeline_partial(const struct timeline *t); /* number of partial threads */
/* How many events came out of order and were moved to a later time; *ret_most_ns: by how much. */
size_t timeline_moved(const struct timeline *t, u64 *ret_most_ns);
/* In time order. */
const struct timeline_span *timeline_spans(const struct timeline *t, struct timeline_lane lane,
					   size_t *ret_n);
/* By row, then by begin; an outer one before those inside it. */
const struct timeline_slice *timeline_slices(const struct timeline *t, size_t *ret_n);
const char *timeline_name_text(const struct timeline *t, u32 name, size_t *ret_len);
/* "make-1234", "CPU 3", with several hosts after the host's name; not escaped. */
void timeline_row_text(const struct timeline *t, struct timeline_lane lane, struct strbuf *out);
/* "running" */
const char *timeline_state_text(enum thread_state state);
/* Threads by their time on CPUs, the longest first, partial ones last. malloc'ed. */
u32 *timeline_by_use(const struct timeline *t);

/*
 * The ns of each state (of a CPU: THREAD_RUNS) in each of n equal parts of the time between `from`
 * and `to` (ns after the first event). Leaves out states whose end is not known, except those that
 * last until the recording ends.
 */
typedef u64 timeline_column[THREAD_STATES];
void timeline_columns(const struct timeline *t, struct timeline_lane lane, s64 from, s64 to, u32 n,
		      timeline_column *ret);
/* ns from the first event to the last */
s64 timeline_length(const struct timeline *t);
/* 0xrrggbb */
u32 timeline_colour(enum thread_state state, bool is_dark);
/* "12:34:56.123456789", or seconds as they were recorded */
void timeline_time_text(const struct timeline_options *o, s64 ns, struct strbuf *out);

void timeline_svg(const struct timeline *t, const struct timeline_options *o, struct strbuf *out);
void timeline_text(const struct timeline *t, const struct timeline_options *o, struct strbuf *out);
void timeline_page(const struct timeline *t, const struct timeline_options *o, struct strbuf *out);

/* What of it a served page wants: ns after the first event, and columns of the picture. */
struct timeline_range {
	s64 from, to;
	u32 columns;
};

/* The same page without its data, which it asks for with "data?from=NS&to=NS&columns=N". */
void timeline_served_page(const struct timeline *t, const struct timeline_options *o,
			  struct strbuf *out);
/* The answer. */
void timeline_part(const struct timeline *t, const struct timeline_options *o,
		   const struct timeline_range *range, struct strbuf *data);

#endif
