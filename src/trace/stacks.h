/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call chains of recorded events as numbers: each name, file and frame once. What profiles and
 * flame graphs are made of. Of a recording with events of several kinds only those of one are
 * taken: their weights have different units. One struct serves one set of recordings: it knows
 * their strings by where they lie.
 *
 *	struct stacks s = {.root = STACKS_COMM};
 *	stacks_read(&s, r, &weight);	// the event's chain in s.key
 *	stacks_add(&s, r, &weight);	// and counted, each chain once
 */
#ifndef PANTRACE_TRACE_STACKS_H
#define PANTRACE_TRACE_STACKS_H

#include "base/hashmap.h"
#include "base/vector.h"
#include "trace/recording.h"

/* What the root frame of each chain is. */
enum stacks_root { STACKS_COMM, STACKS_PID, STACKS_TID, STACKS_NONE };

struct stack_frame {
	u32 name, object, build_id; /* texts of stacks_text(), as recorded; build_id 0 = none */
	u64 address; /* as in the object's symbol table; 0 if frames are told apart by name */
	bool is_kernel, has_symbol, is_inlined;
};

struct stack_count {
	u64 samples, weight;
};

struct stacks {
	/* ---- the request ---- */
	enum stacks_root root;
	bool by_address; /* two addresses in one function are two frames */
	const char *weight; /* the field to sum; NULL = periods, or a count of events */
	bool counts; /* count events even if they have periods */
	const char *kind; /* kind of events to take; NULL = that of the first event with a chain */
	bool only_calls; /* where an event was that is no sample is not a chain */
	/* ---- the result ---- */
	bool is_sampled; /* weights are periods */
	u64 samples; /* that the event adds up */
	u64 taken; /* events */
	u64 without_stack, without_weight, other_kinds; /* left out */
	bool is_full; /* also an event that would overflow the 64-bit sum of weights */
	VECTOR(struct stack_frame) frames;
	/*
	 * The event's key: u32 text of the root (0 = none), then u32 frames, the outermost first.
	 * It stays as it is: the next one is made from it.
	 */
	VECTOR(u32) key;
	/* ---- internal ---- */
	const char *unit; /* see stacks_unit() */
	struct recorded_stack chain, before; /* of the event, and of the one before */
	u64 sum; /* of weights */
	VECTOR(struct stack_count) counted; /* in the order of entries */
	struct hashmap entries; /* key -> index + 1 */
	struct hashmap texts; /* text -> index + 1; the first is "" */
	struct hashmap frame_ids; /* struct stack_frame -> index + 1 */
	struct hashmap known; /* pointers of a recorded frame -> index + 1 */
	struct strbuf text;
};

/*
 * Reads the event's chain and weight. Returns false if it has none or is of another kind; such
 * events are counted.
 */
bool stacks_read(struct stacks *s, struct recording *r, u64 *ret_weight);
/* The same, and adds the weight to the chain's entry. Returns the entry's index, or -1. */
s64 stacks_add(struct stacks *s, struct recording *r, u64 *ret_weight);
/* Returns the number of a frame. */
u32 stacks_frame(struct stacks *s, const struct recorded_frame *f);
u32 stacks_text_id(struct stacks *s, const char *text, size_t n);
/* The text ends with a NUL. */
const char *stacks_text(const struct stacks *s, u32 text, size_t *ret_size);
/* What weights are of: "nanoseconds", "bytes"; "" = nothing says it. */
const char *stacks_unit(const struct stacks *s);
void stacks_release(struct stacks *s);

/* A distinct chain with its weight. */
struct stack_entry {
	u32 root; /* text */
	const u32 *frames; /* the outermost first */
	size_t depth;
	struct stack_count count;
};
struct stack_entry stacks_entry(const struct stacks *s, size_t i);

#endif
