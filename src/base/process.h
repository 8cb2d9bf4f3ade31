/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that a process exists and is the one that was meant, and reports when it ends. */
#ifndef PANTRACE_BASE_PROCESS_H
#define PANTRACE_BASE_PROCESS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/base.h"

bool process_exists(pid_t pid);
/*
 * Start time in ticks since boot, to tell a process from a later one with its PID; 0: no such
 * process.
 */
u64 process_start_time(pid_t pid);
/*
 * Calls fn for the threads of a process until it returns other than 0, which is then returned.
 * -ESRCH: the process is gone.
 */
int process_each_thread(pid_t pid, int (*fn)(void *arg, pid_t thread), void *arg);
/* Do we see processes by the numbers that the kernel has? *ret: stat(2) of our PID namespace. */
bool process_numbers_are_initial(struct stat *ret);
/*
 * A descriptor that is readable when the process has ended (pidfd_open(2)). -ESRCH if there is
 * none, -ENOSYS before 5.3.
 */
int process_open(pid_t pid);
/*
 * The same for one thread, since Linux 6.9 (before: -EINVAL, except for the first thread of a
 * process).
 */
int process_open_thread(pid_t thread);

#endif
