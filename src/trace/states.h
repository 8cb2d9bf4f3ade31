/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads do, by sched_switch and wake-ups: run, wait for a CPU, sleep, are blocked. So do
 * virtual CPUs of Xen, which are threads here: its changes of states say it. A state lasts until
 * the thread's next change. Where events contradict each other (some switches were not recorded),
 * a change says that nobody knows when the state before it ended.
 */
#ifndef PANTRACE_TRACE_STATES_H
#define PANTRACE_TRACE_STATES_H

#include "base/hashmap.h"
#include "trace/recording.h"

enum thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNS,
	THREAD_WOKEN, /* waits for a CPU since it was woken */
	THREAD_PREEMPTED, /* waits for a CPU since it lost one */
	THREAD_SLEEPS, /* S, and kernel threads that are idle or parked */
	THREAD_BLOCKED, /* D: nothing interrupts it, mostly waiting for a disk or a lock */
	THREAD_STOPPED, /* by a signal or a debugger */
	THREAD_ENDED,
	THREAD_STATES
};

struct state_change {
	s64 tid;
	enum thread_state state; /* from this event on */
	bool is_cut; /* when the state before it ended is not known */
	const char *comm; /* valid until the next event; NULL = unknown */
	size_t comm_size;
};

#define STATE_CHANGES 3 /* of an event at most */

struct states {
	struct hashmap threads; /* {host, tid} -> struct */
	struct hashmap cpus; /* {host, CPU} -> struct */
	struct arena arena;
	u64 losses; /* how often events were lost */
	char name[32]; /* of a virtual CPU */
};

/* Are these switches, wake-ups or changes of Xen? */
bool states_know(const struct recorded_kind *k);
/*
 * The changes of such an event; returns how many. *ret_woken is the thread that it wakes, 0 = none.
 * Tids are never 0: idle CPUs are no threads.
 */
size_t states_feed(struct states *s, struct recording *r, u32 host, s64 cpu,
		   struct state_change ret[STATE_CHANGES], s64 *ret_woken);
/* Events are missing here: what every thread does is unknown. */
void states_lost(struct states *s);
void states_release(struct states *s);

#endif
