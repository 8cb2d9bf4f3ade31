/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ftrace keeps tracing after the process that set it up is killed: probes fire, buffers fill. So a
 * run that changes tracefs forks a guard: a process that sleeps until its owner is gone, removes
 * what the owner left (kernel/tracefs/sweep.h) and exits.
 *
 * The guard is in a session of its own, so that a kill of the process group misses it. It has no
 * open file but its end of a socket to the owner. It is called "pantrace: guard PID". If it is
 * killed, too, the next run sweeps.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_GUARD_H
#define PANTRACE_KERNEL_TRACEFS_GUARD_H

#include "kernel/kernel.h"

/*
 * Called before anything in tracefs is changed. The first call starts the guard, further ones do
 * nothing. 0, or -errno: there is no guard.
 */
int guard_start(struct kernel *k);
/*
 * Called when everything was undone: ends the guard and waits for its end. Does nothing without a
 * guard.
 */
void guard_end(struct kernel *k);
/*
 * Leaves what has our name in tracefs to the guard, which removes it when we are gone: that may
 * take seconds, and nobody should have to wait for it. False: there is no guard (any more), the
 * caller has to do it.
 */
bool guard_take_over(struct kernel *k);

#endif
