/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How signals end a run. The first signal ends it in order: probes are detached, `end` runs, maps
 * are printed. A later one kills the process at once; the kernel cleans up. A second signal that
 * comes together with the first does not count: timeout(1) sends one to its child and one to the
 * whole process group.
 */
#ifndef PANTRACE_ENGINE_RUN_SIGNALS_H
#define PANTRACE_ENGINE_RUN_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct run_signals {
	sigset_t ours; /* blocked during the run */
	sigset_t old; /* the mask before it */
	pthread_t thread; /* in which they are not blocked, when the first is long enough ago */
	int stop; /* eventfd: the thread shall end */
	bool is_losing; /* the thread is there */
};

/*
 * What asks a run to end is blocked from here on, and a reader that leaves is no signal. Returns a
 * signalfd, readable once it is asked; it does not block.
 */
int run_signals_open(struct run_signals *p);
/* From here on a signal is impatience. The signals of p->ours stay blocked in this thread. */
void run_signals_begin(struct run_signals *p);
/*
 * The run has ended: what has come up to now is dropped, and the mask is as before the run. Also
 * without patience_begin().
 */
void run_signals_end(struct run_signals *p);

#endif
