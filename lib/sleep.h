/* SPDX-License-Identifier: MIT */
/*
 * How the helper sleeps, so that it is not woken while the process sleeps, and does not die when
 * the process confines all its threads (SECCOMP_FILTER_FLAG_TSYNC): in read(2) of a signalfd, which
 * every filter lets through, also when the process is stopped and goes on (poll() would go on as
 * restart_syscall()). What it waits for are signals to it alone: of a client that connects
 * (F_SETSIG), of the clock, and of the process's processor time.
 */
#ifndef PANTRACE_LIB_SLEEP_H
#define PANTRACE_LIB_SLEEP_H

#include "internal.h"

/* By the helper, as it begins. OWN_TABLE: of descriptors; else there are no signals. */
PT_HIDDEN void pt_sleep_begin(bool own_table);
/* In a forked child, which has none of its parent's timers. */
PT_HIDDEN void pt_sleep_forget(bool in_our_table);
/* Clients of LISTENER end the sleep. */
PT_HIDDEN void pt_sleep_listen(int listener);
/*
 * Until there may be a client of LISTENER (-1: none), the process has run for a while
 * (pt_sleep_until_run()), or LIMIT_MS (-1: none) are over.
 */
PT_HIDDEN void pt_sleep(int listener, int limit_ms);
/*
 * From any thread: the helper is to look when the process has run for NS. False: it
 * has no timer for that.
 */
PT_HIDDEN bool pt_sleep_until_run(uint64_t ns);
/* Whether the helper is awake, or will be when the process has run for some milliseconds. */
PT_HIDDEN bool pt_sleep_ends_soon(void);
/*
 * After a system call in which the helper slept. Returns if it may do as it likes; never, if it was
 * confined meanwhile.
 */
PT_HIDDEN void pt_sleep_guard(void);

#endif
