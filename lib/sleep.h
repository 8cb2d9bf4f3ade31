/* SPDX-License-Identifier: MIT */
/*
 * How the helper sleeps: it is not woken while the process sleeps, and does not die when the
 * process confines all its threads (SECCOMP_FILTER_FLAG_TSYNC). It sleeps in read(2) of a signalfd,
 * which every filter permits, also when the process is stopped and continued (poll() would continue
 * by restart_syscall()). It waits for signals to it alone: from a client that connects (F_SETSIG),
 * from the clock, and from the timer of the process's CPU time.
 */
#ifndef PANTRACE_LIB_SLEEP_H
#define PANTRACE_LIB_SLEEP_H

#include "internal.h"

/*
 * Called by the helper as it begins. OWN_TABLE: it has its own descriptors; else no signals are
 * used.
 */
PT_HIDDEN void pt_sleep_begin(bool own_table);
/* In a forked child, which has none of its parent's timers. */
PT_HIDDEN void pt_sleep_forget(bool in_our_table);
/* Clients of LISTENER end the sleep. */
PT_HIDDEN void pt_sleep_listen(int listener);
/*
 * Sleeps until LISTENER (-1: none) may have a client, the process has run for a while
 * (pt_sleep_until_run()), or LIMIT_MS (-1: none) have passed.
 */
PT_HIDDEN void pt_sleep(int listener, int limit_ms);
/*
 * From any thread: asks the helper to check when the process has run for NS. False: it has no timer
 * for that.
 */
PT_HIDDEN bool pt_sleep_until_run(uint64_t ns);
/* Whether the helper is awake, or will be when the process has run for some milliseconds. */
PT_HIDDEN bool pt_sleep_ends_soon(void);
/*
 * After a system call in which the helper slept. Returns if the helper may go on; never, if it was
 * confined meanwhile.
 */
PT_HIDDEN void pt_sleep_guard(void);

#endif
