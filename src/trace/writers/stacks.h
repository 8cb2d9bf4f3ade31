/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call chains that are counted: each chain once, its frames as numbers. What formats of profiles
 * are made of. Of a recording with events of several kinds only those of the first are taken: their
 * weights have different units.
 */
#ifndef PANTRACE_TRACE_WRITERS_STACKS_H
#define PANTRACE_TRACE_WRITERS_STACKS_H

#include "trace/writers/writer.h"

struct stack_frame {
	u32 name, object, build_id; /* of stacks_text(); of none build_id is 0 */
	u64 address; /* as the object's symbols have it; 0 where frames are told apart by name */
	bool is_kernel, has_symbol;
};

struct stack_count {
	u64 samples, weight;
};

struct stacks {
	bool by_address; /* two addresses of a function are two frames */
	const struct recorded_kind *kind; /* that is counted; NULL before the first */
	bool is_sampled; /* weights are periods */
	struct recorded_stack chain; /* of the event */
	VECTOR(u32) key; /* the same, as below */
	VECTOR(struct stack_frame) frames;
	VECTOR(struct stack_count) counts; /* in the order of entries */
	/* u32 text of the thread's name, u32 frame..., the outermost first -> index + 1 */
	struct hashmap entries;
	struct hashmap texts; /* text -> index + 1 */
	struct hashmap frame_ids; /* struct stack_frame -> index + 1 */
	struct hashmap known; /* pointers of a recorded frame -> index + 1 */
	struct strbuf text;
};

/* Counts the event's chain; tells W what it leaves out. The entry's index, or -1. */
s64 stacks_add(struct stacks *s, struct trace_writer *w, struct recording *r, u64 *ret_weight);
/* The number of a frame. */
u32 stacks_frame(struct stacks *s, const struct recorded_frame *f);
u32 stacks_text_id(struct stacks *s, const char *text, size_t n);
const char *stacks_text(const struct stacks *s, u32 text, size_t *ret_size);
/* Weights are nanoseconds, not counts. */
bool stacks_is_time(const struct stacks *s);
void stacks_release(struct stacks *s);

/* One chain of them. */
struct stack_entry {
	u32 comm;
	const u32 *frames; /* the outermost first */
	size_t depth;
	struct stack_count count;
};
struct stack_entry stacks_entry(const struct stacks *s, size_t i);

#endif
