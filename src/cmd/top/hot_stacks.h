/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hottest stacks of one task: on-CPU by samples, off-CPU by time. */
#ifndef PANTRACE_CMD_TOP_HOT_STACKS_H
#define PANTRACE_CMD_TOP_HOT_STACKS_H

#include "base/arena.h"
#include "base/vector.h"

struct engine;

struct stack_lines {
	u64 weight; /* samples, or ns */
	const char *kernel, *user; /* functions, one per line, innermost first; escaped */
};

struct hot_stacks {
	u32 id; /* of the watched process or thread; 0 = none */
	bool by_thread, is_off; /* off-CPU: weights are ns */
	char name[17];
	u64 since_ns; /* CLOCK_MONOTONIC: when watching began */
	u64 now_ns; /* when they were read */
	u64 total; /* weight of all stacks, also those not in the list */
	VECTOR(struct stack_lines) items; /* the heaviest, in order */
	struct arena arena; /* of the lines */
};

/* Watches this task from now on, and forgets the stacks of the one before; id 0: none. */
void hot_stacks_watch(struct hot_stacks *s, struct engine *e, u32 id, bool by_thread,
		      const char *name);
void hot_stacks_read(struct hot_stacks *s, struct engine *e);
void hot_stacks_release(struct hot_stacks *s);

#endif
