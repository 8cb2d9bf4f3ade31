/* SPDX-License-Identifier: MIT */
/*
 * Contexts: what a session wants to know with every event. They are put after the event's id when
 * it is recorded, not when it is read: most come from what a thread keeps of itself.
 */
#ifndef PANTRACE_LIB_CONTEXT_H
#define PANTRACE_LIB_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_CONTEXT_HIDDEN __attribute__((visibility("hidden")))
#define PT_STACK_DEPTH	  32 /* return addresses of PANTRACE_CONTEXT_USER_STACK at most */

struct pt_session;

/*
 * Records RECORD, whose id is set, with the contexts of SESSION between id and fields. IP is the
 * return address into the site, FRAME the frame of the function that it called. Async-signal-safe;
 * keeps errno. False: the session's rings are not those of that GENERATION.
 */
PT_CONTEXT_HIDDEN bool pt_context_record(struct pt_session *session, uint32_t generation,
					 const void *record, size_t size, const void *ip,
					 void *frame);

/* Fills in the contexts (MASK and FLAGS) and the layout of SESSION. */
PT_CONTEXT_HIDDEN void pt_context_lay_out(struct pt_session *session, uint32_t flags,
					  uint32_t mask);

/*
 * context_objects.c: appends records of what was loaded and unloaded since the last call. Lock
 * held.
 */
PT_CONTEXT_HIDDEN void pt_objects_scan(void);

/* As pt_rings_of_parent(), for the kernel's pages that the calling thread reads counts in. */
PT_CONTEXT_HIDDEN void pt_contexts_of_parent(void);

#endif
