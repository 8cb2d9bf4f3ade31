/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when the event ring is read. Waking a sleeping reader costs the traced process an
 * interrupt to itself and a task wakeup, 2 to 3 us on a virtual machine. So while events come
 * often, the reader polls every few milliseconds and sets a flag in the script's globals
 * (wake_flags), which every program passes to bpf_ringbuf_submit(). When events become rare it goes
 * back to sleeping until it is woken: an idle run has no timer.
 */
#ifndef PANTRACE_ENGINE_WAKEUP_H
#define PANTRACE_ENGINE_WAKEUP_H

#include "base/base.h"

struct ring;

struct wakeup {
	void *globals; /* the map's page; NULL = always woken */
	u64 *flags; /* in it */
	u64 last_ns; /* of the last round with records */
	u32 burst; /* rounds with records, each soon after the one before */
	u32 empty; /* looks in vain */
	bool eager;
	bool is_looking, has_just_stopped;
};

/*
 * globals_fd: the map of struct script_globals, mappable; -1 = none. eager: nobody waits for single
 * records (the output is buffered anyway). If the ring is too small to hold the records between two
 * polls, there is no polling.
 */
void wakeup_open(struct wakeup *p, int globals_fd, const struct ring *ring, bool eager);
void wakeup_close(struct wakeup *p);
/*
 * Called after a round that emptied the ring and found `read` records. While the reader polls, this
 * sleeps until the next poll. Returns how long to wait in epoll, in ms: 0 = read again, -1 = until
 * something happens.
 */
int wakeup_wait(struct wakeup *p, u32 read, const struct ring *ring);

#endif
