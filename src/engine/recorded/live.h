/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the running kernel instead of a recording (--engine user): events come from our own trace
 * buffer, and the script's programs run in this process. bpf(2) is not needed. What a trace buffer
 * does not hold (memory behind pointers, stacks of programs, users) is refused, as over recordings.
 * Probes of functions become events of tracefs that record all registers.
 *
 *	live_source_new(...)
 *	live_source_begin()		makes the buffer, finds the threads that exist
 *	live_source_enable()		each event of the script
 *	... read the events from the recordings that it was made for ...
 *	live_source_stop()		stops tracing; what is left can still be read
 *	live_source_release()
 */
#ifndef PANTRACE_ENGINE_RECORDED_LIVE_H
#define PANTRACE_ENGINE_RECORDED_LIVE_H

#include "kernel/kernel.h"
#include "probe/probe.h"
#include "trace/recording.h"

struct live_source;

struct live_source *live_source_new(struct kernel *k, struct recordings *all);
/* As in struct probe_recorded. */
int live_source_each_event(struct live_source *l, const char *category_glob, const char *event_glob,
			   int (*fn)(void *arg, const char *category, const char *event),
			   void *arg);
int live_source_event_format(struct live_source *l, const char *category, const char *event,
			     const char **ret);
/* These return 0, or -errno with a diagnostic. d must outlive the source. */
int live_source_begin(struct live_source *l, struct diag *d);
int live_source_enable(struct live_source *l, const char *category, const char *event);
/* Each event is followed by the kernel's stack, which recording_stack() then tells. */
int live_source_take_stacks(struct live_source *l);
/*
 * Makes an event of a probe (is_made_live), with all registers, and enables it. *ret_name: how the
 * recordings call it.
 */
int live_source_probe(struct live_source *l, const struct probe_target *t, const char **ret_name);
/*
 * The registers as programs see them (struct pt_regs), of the record of such an event; NULL: it is
 * too short. Valid until the next call.
 */
const u8 *live_source_registers(struct live_source *l, const struct probe_target *t,
				const u8 *record, u32 size, u32 *ret_size);
/* Readable when there is much to read. Then, and from time to time, call recordings_refresh(). */
int live_source_fd(const struct live_source *l);
/* All events up to this time (CLOCK_MONOTONIC) have been returned. */
u64 live_source_complete(const struct live_source *l);
void live_source_stop(struct live_source *l);
/* Then: how many calls of probed functions of the kernel it has missed. */
u64 live_source_missed(const struct live_source *l);
/* To be called after the recordings are closed. NULL is allowed. */
void live_source_release(struct live_source *l);

#endif
