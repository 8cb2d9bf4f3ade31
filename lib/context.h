/* SPDX-License-Identifier: MIT */
/*
 * Contexts: what a session wants to know with every event. They are put behind the event's id when
 * it is recorded, not when it is read: most come from what a thread keeps of itself.
 */
#ifndef PANTRACE_LIB_CONTEXT_H
#define PANTRACE_LIB_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#define PT_CONTEXT_HIDDEN __attribute__((visibility("hidden")))
#define PT_STACK_DEPTH	  32 /* return addresses of PANTRACE_CONTEXT_USER_STACK at most */

/* The most bytes that the contexts of MASK (bits, enum pantrace_context) take. */
PT_CONTEXT_HIDDEN size_t pt_context_room(uint64_t mask);

/*
 * Stores them at TO, which has that room, and returns where they end. GENERATION differs from
 * process to process (a forked child's thread is not its parent's). IP is the return address into
 * the site, FRAME the frame of the function that it called. Async-signal-safe; keeps errno.
 */
PT_CONTEXT_HIDDEN unsigned char *pt_context_put(uint64_t mask, uint32_t generation, const void *ip,
						void *frame, unsigned char *to);

/* context_objects.c: appends records of what was loaded and unloaded since the last call. Lock held. */
PT_CONTEXT_HIDDEN void pt_objects_scan(void);

#endif
