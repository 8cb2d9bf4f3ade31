/* SPDX-License-Identifier: MIT */
/*
 * What the helper finds out about threads, for events: these make no system call, as a thread may
 * have confined itself. A thread sets a flag to ask, and takes what is there by then.
 */
#ifndef PANTRACE_LIB_THREAD_H
#define PANTRACE_LIB_THREAD_H

#include "internal.h"

struct perf_event_mmap_page;

enum pt_counter { PT_COUNTER_SWITCHES, PT_COUNTER_FAULTS, PT_COUNTERS };

struct pt_range {
	uintptr_t low, high;
};

/* A thread as the helper knows it. Never freed while the thread lives. */
struct pt_known {
	int32_t tid; /* 0: free */
	uint32_t wants; /* contexts, bits of enum pantrace_context */
	uint32_t asked; /* the name is wanted again */
	uint32_t
		/* even: the first copies of name and stack are whole; odd: the second ones */
		sequence;
	char name[2][16]; /* "": not known yet */
	struct pt_range stack[2];
	uintptr_t stack_wanted; /* an address on a stack that is not known; 0: none */
	const struct perf_event_mmap_page *page[PT_COUNTERS];
};

/* The id of the calling thread, as the C library knows it. */
PT_HIDDEN int32_t pt_thread_id(void);
/*
 * The entry of the calling thread, whose id is TID and which wants the contexts WANTS. NULL: no
 * entry is free.
 */
PT_HIDDEN struct pt_known *pt_known_get(int32_t tid, uint32_t wants);
/* Its name when it was last read; the process's until there is one. */
PT_HIDDEN void pt_known_name(struct pt_known *known, char ret[16]);
/* The stack that contains ADDRESS, as far as it is known; its end is 0 otherwise. */
PT_HIDDEN struct pt_range pt_known_stack(struct pt_known *known, uintptr_t address);

/* The process, and its user and group when they were last read. */
PT_HIDDEN int32_t pt_threads_pid(void);
PT_HIDDEN void pt_threads_user(uint32_t *ret_uid, uint32_t *ret_gid);

/* The helper's side, and that of whoever makes rings; the lock is held. */

/*
 * Prepares all existing threads for events with the contexts WANTS. -EACCES: a count is not
 * permitted; -ESRCH: there is no /proc.
 */
PT_HIDDEN int pt_threads_prepare(uint32_t wants);
/* Does what threads asked for. Returns whether there are threads that may ask. */
PT_HIDDEN bool pt_threads_follow(void);
/* Whether the calling thread, TID, has all that it asked for; for tests. */
PT_HIDDEN bool pt_thread_served(int32_t tid);

#endif
