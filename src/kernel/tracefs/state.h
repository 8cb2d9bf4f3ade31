/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds everything in tracefs that differs from the state after boot, and the command that resets
 * it: tracers, events, filters, triggers, lists of functions and threads, options, sizes, probes,
 * synthetic events, instances. For `reset-ftrace`.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_STATE_H
#define PANTRACE_KERNEL_TRACEFS_STATE_H

#include <sys/types.h>

#include "base/vector.h"
#include "kernel/kernel.h"

enum state_kind {
	STATE_SETTING, /* a file with another value than the default */
	STATE_LIST, /* a list of functions or threads that is not empty */
	STATE_EVENT, /* an event that is on */
	STATE_FILTER, /* of an event */
	STATE_TRIGGER, /* of an event or a function */
	STATE_PROBE, /* a probe event */
	STATE_SYNTHETIC, /* a synthetic event */
	STATE_INSTANCE, /* a ring buffer that somebody made */
};

struct state_item {
	enum state_kind kind;
	char *instance; /* "" = the top buffer, or global */
	/* relative to the instance: "current_tracer", "events/sched/sched_switch/filter" */
	char *file;
	char *value; /* what is there, in one line */
	char *undo; /* what is written to the file (instances: nothing; they are removed) */
	pid_t owner; /* of pantrace's own things; 0 = somebody else's */
	bool alive; /* the owner lives: it is left alone */
	char *session; /* of `pantrace start`, which has this buffer; NULL = none */
	int error; /* of tracefs_state_undo(); 0 = done */
	bool done;
};

struct tracefs_state {
	VECTOR(struct state_item) items;
	u32 unreadable; /* files that could not be read */
};

const char *state_kind_name(enum state_kind kind); /* "setting" */
/* What instances that runs of pantrace made are like: left out, or there, too. */
enum state_scope { STATE_OF_OTHERS, STATE_OF_RUNS };

/* 0, or -errno if tracefs cannot be read. */
int tracefs_state_read(struct kernel *k, enum state_scope scope, struct tracefs_state *ret);
/*
 * Takes back those items for which choose() says so, in an order that works. Returns how many
 * failed.
 */
u32 tracefs_state_undo(struct kernel *k, struct tracefs_state *s,
		       bool (*choose)(void *arg, const struct state_item *i), void *arg);
void tracefs_state_release(struct tracefs_state *s);

#endif
