/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ftrace was told to do goes on when the one who told it is killed: probes fire, instances
 * fill. So a run that changes tracefs has a guard beside it: a process that sleeps until its owner
 * is gone, sweeps what that one left (kernel/tracefs/sweep.h), and ends. It is in a session of its
 * own, so that what kills a group of processes misses it; it has no files open but its end of a
 * line to the owner; it is called "pantrace: guard PID". If it is killed too, the next start
 * sweeps.
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
