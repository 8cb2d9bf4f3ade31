/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that a run waits for, in one epoll: records, signals, the child, timers, processes
 * that start. Only for the engine.
 */
#ifndef PANTRACE_ENGINE_EVENT_LOOP_H
#define PANTRACE_ENGINE_EVENT_LOOP_H

#include "engine/engine.h"
#include "engine/run_signals.h"
#include "engine/wakeup.h"

#define DRAIN_NS 1000000000u /* how long records and actions may take once the run is over */

enum waiting_for {
	WAIT_RING,
	WAIT_SIGNAL,
	WAIT_PROCESS,
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_WATCH,
	WAIT_COUNTING,
	WAIT_LATER,
	WAIT_REPORTER,
	WAIT_GUEST,
	WAIT_READER
};

/* Events that are not read from rings of BPF programs, but run on here. */
struct loop_source {
	void *arg;
	/* Runs on what there is. Returns after how many ms to look again, at the latest. */
	int (*run)(void *arg);
};

struct loop {
	struct engine *e;
	const struct loop_source *source; /* NULL = none */
	int source_ms; /* what source->run() returned */
	int epoll, signals, process, timer;
	u32 budget; /* records left in this round */
	u32 read; /* records of the last round */
	struct wakeup wakeup;
	u64 round_ends;
	u64 next_lost_check;
	bool is_over;
	struct run_signals run_signals;
};

/* Signals come through a descriptor from now on; run_signals_end() puts them back. */
void loop_block_signals(struct loop *l);
/* 0 or -errno. */
int loop_open(struct loop *l);
/* Ends the run when -p's process does. 0 or -errno with a diagnostic. */
int loop_watch_process(struct loop *l);
/* Waits for a descriptor, too; negative ones are left out. 0 or -errno. */
int loop_add(struct loop *l, int fd, enum waiting_for what);
int loop_add_watch(struct loop *l);
/* Those that came meanwhile: one may end the run. */
void loop_take_signals(struct loop *l);
/* Handles events until the run is over. */
void loop_run(struct loop *l);
/* Iterators run while their sequence file is read; its text is what bpf_seq_printf() wrote. */
void loop_run_iterators(struct loop *l);
/*
 * Handles the records that were sent before the end, for a bounded time: a script with slow actions
 * (system()) may have a backlog of minutes. Records that are given up are counted as lost.
 */
void loop_read_all(struct loop *l);
void loop_close(struct loop *l);

#endif
