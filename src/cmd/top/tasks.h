/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All tasks (threads) of the machine and what each did in the last interval. */
#ifndef PANTRACE_CMD_TOP_TASKS_H
#define PANTRACE_CMD_TOP_TASKS_H

#include "base/hashmap.h"
#include "base/vector.h"

struct engine;

/* In the order of the script's SNAPSHOT. */
enum count {
	COUNT_CPU, /* ns on a CPU */
	COUNT_RUNQ, /* ns runnable, without a CPU */
	COUNT_CALLS,
	COUNT_MINOR, /* page faults, without and with reading */
	COUNT_MAJOR,
	COUNT_READ, /* bytes by read() and similar calls, from anywhere */
	COUNT_WRITTEN,
	COUNT_DISK_READ, /* bytes read from storage, or to be written to it */
	COUNT_DISK_WRITTEN,
	KERNEL_COUNTS, /* those above are totals since the task began, from the kernel */
	COUNT_OFF = KERNEL_COUNTS, /* ns asleep: neither on a CPU nor waiting for one */
	COUNTS
};

struct task {
	u32 tid, process, parent; /* parent: a process */
	u64 start_ns; /* CLOCK_MONOTONIC */
	char comm[17];
	char state; /* as in ps: R S D I T t Z X */
	bool is_released; /* its CPU time is in group_ns */
	u64 at_ns; /* when it was read, or ended */
	u64 group_ns; /* CPU time of the process's threads that have ended */
	u64 totals[KERNEL_COUNTS];
	u64 counts[COUNTS]; /* of the interval */
};

/* A reading. */
struct tasks {
	u64 from_ns, to_ns; /* the interval; from 0: the first reading, which has no counts */
	VECTOR(struct task) items; /* also those that ended in the interval */
	struct hashmap index; /* the script's key -> index into items + 1 */
};

/*
 * Reads all tasks. Counts are differences to `before`, the last reading (zeroes: there is none). 0
 * or -errno; *ret must be released in any case.
 */
int tasks_read(struct engine *e, const struct tasks *before, struct tasks *ret);
void tasks_release(struct tasks *t);

#endif
