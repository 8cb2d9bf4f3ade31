/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of time lines share. */
#ifndef PANTRACE_VIEW_TIMELINE_INTERNAL_H
#define PANTRACE_VIEW_TIMELINE_INTERNAL_H

#include "base/vector.h"
#include "view/timeline/timeline.h"

struct timeline_event {
	s64 ns;
	u32 kind, thread, cpu;
};

struct timeline_kind {
	u32 name;
	bool is_mark;
};

struct timeline_change {
	u32 event, thread;
	u8 state; /* enum thread_state */
	bool is_cut; /* when this state ended is not known */
};

struct timeline_wakeup {
	u32 event, thread;
};

struct timeline_value {
	u32 event, name;
	s64 value;
};

struct timeline_text {
	const char *data;
	size_t len;
};

struct timeline {
	size_t moved; /* events that were recorded after later ones */
	u64 moved_most_ns;
	VECTOR(struct timeline_event) events;
	VECTOR(struct timeline_kind) kinds;
	VECTOR(struct timeline_thread) threads;
	VECTOR(struct timeline_cpu) cpus;
	VECTOR(struct timeline_change) changes;
	VECTOR(struct timeline_wakeup) wakeups;
	VECTOR(struct timeline_slice) slices;
	VECTOR(struct timeline_value) values;
	VECTOR(u32) losses; /* events before which some are missing */
	VECTOR(u32) known; /* threads that had a state since the last loss; some more than once */
	VECTOR(struct timeline_text) names;
	VECTOR(u32) hosts; /* names of hosts; TIMELINE_NONE = it has none */
	struct hashmap name_numbers, kind_numbers, thread_numbers, cpu_numbers;
	/* ---- once it is finished: those of the first thread or CPU, then of the next ... ---- */
	struct timeline_span *spans[TIMELINE_ROWS];
	size_t span_counts[TIMELINE_ROWS];
};

/* text.c: cuts a label to this width. Its end, where a thread's number is, stays. */
void timeline_shorten(struct strbuf *label, u32 columns);
/* page.c: the data in its layout, of a part of `whole` (or all of it), up to the texts. */
void timeline_page_data(const struct timeline *t, const struct timeline *whole,
			const struct timeline_options *o, struct strbuf *data);

#endif
