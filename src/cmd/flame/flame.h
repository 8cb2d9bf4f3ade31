/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace flame` and what its files share. */
#ifndef PANTRACE_CMD_FLAME_FLAME_H
#define PANTRACE_CMD_FLAME_FLAME_H

#include "trace/stacks.h"
#include "view/flame/flame.h"

int cmd_flame(int argc, char **argv);

/* Stacks of events on their way into a flame graph. */
struct stack_feed {
	struct flame *flame;
	enum flame_side side;
	struct stacks stacks; /* its first members select what is read */
	VECTOR(struct flame_frame) known; /* indexed by the numbers of stacks.frames */
	VECTOR(struct flame_frame) frames; /* of the event */
	bool is_full; /* the sum does not fit */
	bool skips_idle; /* leave out idle tasks */
	u64 idle; /* how many samples of idle tasks were left out */
};

void stack_feed_add(struct stack_feed *feed, struct recording *r);
void stack_feed_release(struct stack_feed *feed);

/*
 * Off-CPU time, of sched_switch with stacks: each weighs as long as its thread was away. Before the
 * first event TASKS may name processes and threads: then only they count, and what they start.
 */
struct off_cpu {
	struct stack_feed *feed;
	struct hashmap away; /* by tid: struct absence */
	struct hashmap tasks; /* by tid or PID; if there are any */
	struct arena arena;
	bool is_chosen;
	u64 open, cut, switches; /* absences without a known end: events are missing in between */
};

void off_cpu_choose(struct off_cpu *o, s64 task);
/* wanted: the event passes the selection. */
void off_cpu_add(struct off_cpu *o, struct recording *r, bool wanted);
void off_cpu_release(struct off_cpu *o);

#endif
