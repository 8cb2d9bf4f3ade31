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
	/*
	 * ends the process at a second signal: does not block them, once the first is long enough
	 * ago
	 */
	pthread_t thread;
	int stop; /* eventfd: the thread shall end */
	bool has_thread; /* the thread was started */
};

/*
 * Blocks the signals that ask a run to end, and ignores SIGPIPE. Returns a non-blocking signalfd
 * that becomes readable when the run is asked to end.
 */
int run_signals_open(struct run_signals *p);
/*
 * From here on a signal ends the process at once. The signals of p->ours stay blocked in this
 * thread.
 */
void run_signals_begin(struct run_signals *p);
/*
 * The run has ended: discards the signals that came until now and restores the mask. Also without
 * run_signals_begin().
 */
void run_signals_end(struct run_signals *p);

#endif
