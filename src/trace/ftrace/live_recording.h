/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace buffer of the running kernel as a recording that grows: events come as they are written.
 * Names and processes of threads are those that they had at each event, if the buffer also gets
 * task:task_newtask and task:task_rename; live_recording_look() finds the threads that there are.
 *
 *	recordings_take(all, live_recording_new(all, kernel, buffer));
 *	while (going) {
 *		poll(raw_buffer_fd(buffer), ...)
 *		recordings_refresh(all, d);
 *		while ((r = recordings_next(all, d)))
 *			...
 *	}
 */
#ifndef PANTRACE_TRACE_FTRACE_LIVE_RECORDING_H
#define PANTRACE_TRACE_FTRACE_LIVE_RECORDING_H

#include "kernel/kernel.h"
#include "trace/recording.h"
#include "trace/ring/raw_buffer.h"

/* The buffer's clock is mono. It stays the caller's, and open until the recording is released. */
struct recording *live_recording_new(struct recordings *all, struct kernel *k,
				     struct raw_buffer *buffer);
/* Reads /proc: when the two events are on, and before others are. */
void live_recording_look(struct recording *r);
/* Nothing more is written: the next refresh takes all that is left. */
void live_recording_end(struct recording *r);
/* All events up to this time of the clock have been given out. */
u64 live_recording_complete(const struct recording *r);

#endif
