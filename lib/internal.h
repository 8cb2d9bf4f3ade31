/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the library share. The state page is all that the event path reads. The kernel
 * wipes it in a forked child, however the child was made, so that a child never writes its parent's
 * rings: there `active` reads 0 and the first event finds out whose child it is.
 */
#ifndef PANTRACE_LIB_INTERNAL_H
#define PANTRACE_LIB_INTERNAL_H

#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/ring.h>
#include <stdbool.h>
#include <stddef.h>

#define PT_HIDDEN   __attribute__((visibility("hidden")))
#define PT_MAX_RING 1024

struct pt_place {
	struct pantrace_ring *ring;
	char *data;
};

/* Offsets of the first members are known to the assembly in emit.c. */
struct pt_state {
	uint32_t active;     /* 0: record nothing; set last, cleared first */
	uint32_t nr_rings;
	uint64_t sub_mask;   /* sub_size - 1 */
	uint64_t sub_size;
	uint64_t ring_mask;
	struct pantrace_shm *shm;
	uint32_t overwrite;
	uint32_t per_thread;
	uint32_t generation; /* of the rings: differs from session to session and in a child */
	uint32_t ids;	     /* of the event ids: a child has its parent's */
	int32_t lock;	     /* a futex: 0 free, 1 taken, 2 taken and waited for */
	uint64_t early_lost; /* events lost before there was a header to count them in */
	struct pt_place place[PT_MAX_RING];
};

_Static_assert(offsetof(struct pt_state, nr_rings) == 4, "emit.c");
_Static_assert(offsetof(struct pt_state, sub_mask) == 8, "emit.c");
_Static_assert(offsetof(struct pt_state, sub_size) == 16, "emit.c");
_Static_assert(offsetof(struct pt_state, ring_mask) == 24, "emit.c");
_Static_assert(offsetof(struct pt_state, place) == 72, "emit.c");

extern PT_HIDDEN struct pt_state *pt_state; /* NULL before the first session, then constant */

/* session.c */
PT_HIDDEN void pt_lock(void);
PT_HIDDEN bool pt_trylock(void);
PT_HIDDEN void pt_unlock(void);
/* A child's first event: makes its session. With errno kept; false when there is none to make. */
PT_HIDDEN int pt_state_get(void); /* makes pt_state */
PT_HIDDEN bool pt_running(void); /* lock held */
PT_HIDDEN bool pt_session_of_child(void);
/* Appends to the records of the session; the lock is held. */
PT_HIDDEN int pt_record_append(const struct pantrace_event_record *record);

/* event.c: the id of EVENT in the running session, 0 when its records are full. Lock held. */
PT_HIDDEN uint32_t pt_event_id(struct pantrace_event *event);

/* site.c */
PT_HIDDEN void pt_sites_all_off(void); /* lock held, these two */
PT_HIDDEN void pt_sites_follow(void); /* every site as the patterns say */

/* clock.c */
struct pt_clock {
	uint64_t tsc_hz, tsc, monotonic_ns, realtime_ns;
};
PT_HIDDEN void pt_clock_read(struct pt_clock *ret);

/* emit.c */
PT_HIDDEN bool pt_rseq_here(void); /* whether the calling thread has rseq, registering it if need be */

#endif
