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
 * Before anything in tracefs is changed. The first call starts the guard, further ones do nothing.
 * 0, or -errno: then there is none.
 */
int guard_start(struct kernel *k);
/*
 * Everything is taken back: the guard ends, and has ended when this returns. Without a guard
 * nothing happens.
 */
void guard_end(struct kernel *k);
/*
 * What stands in tracefs under our name is left to the guard, which removes it once we are gone:
 * that may take seconds, for which nobody should have to wait. False: there is no guard (any more),
 * and we have to do it.
 */
bool guard_take_over(struct kernel *k);

#endif
