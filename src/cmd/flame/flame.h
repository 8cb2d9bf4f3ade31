/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace flame` and what its files share. */
#ifndef PANTRACE_CMD_FLAME_FLAME_H
#define PANTRACE_CMD_FLAME_FLAME_H

#include "trace/recording.h"
#include "view/flame/flame.h"

int cmd_flame(int argc, char **argv);

/* What stands below the first function of a stack. */
enum flame_root { ROOT_COMM, ROOT_PID, ROOT_TID, ROOT_NONE };

/* Stacks of events on their way into a flame graph. */
struct stack_feed {
	struct flame *flame;
	enum flame_side side;
	enum flame_root root;
	const char *weight; /* the field that is summed up; NULL: periods, else events */
	bool counts; /* events, whatever their periods */
	/* Only events of one kind are added up: others have another unit. NULL before the first. */
	const char *kind;
	bool has_periods;
	struct recorded_stack stack;
	VECTOR(struct flame_frame) frames;
	u64 taken; /* events */
	u64 without_stack, without_weight, other_kinds; /* left out */
	bool is_full; /* the sum does not fit */
};

void stack_feed_add(struct stack_feed *feed, struct recording *r);
void stack_feed_release(struct stack_feed *feed);

#endif
