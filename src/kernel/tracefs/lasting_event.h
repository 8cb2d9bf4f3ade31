/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe events that outlive the run that made them, as `perf probe` makes them: they have names of
 * their own, and stand until somebody removes them by name. What a run makes for itself
 * (kernel/tracefs/dynamic_event.h) is not among them.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_LASTING_EVENT_H
#define PANTRACE_KERNEL_TRACEFS_LASTING_EVENT_H

#include "kernel/tracefs/command.h"
#include "kernel/tracefs/saved.h"

#define EVENT_NAME_MAX 63 /* kernel/trace/trace_probe.h, MAX_EVENT_NAME_LEN, without the NUL */

/* A line of kprobe_events or uprobe_events. */
struct lasting_event {
	bool is_user, is_return;
	const char *group, *name;
	const char *place; /* "/tmp/demo:0x0000000000001240", "vfs_read+0" */
	const char *arguments; /* "len=%dx:s32 buf=+0(%si):string", or "" */
};

/*
 * Calls fn for each, those of kernel functions first; an event with several places has as many
 * lines. What fn returned if that is not 0, or -errno: they cannot be read.
 */
int lasting_events_each(struct kernel *k, int (*fn)(void *arg, const struct lasting_event *e),
			void *arg);
/*
 * Appends a definition ("p:GROUP/NAME PLACE ARGS"). 0, or -errno with a diagnostic that begins with
 * `what`.
 */
int lasting_event_define(struct kernel *k, struct diag *d, bool is_user,
			 const struct tracefs_command *c, const char *what);
/*
 * Only one run at a time chooses names and adds events, and takes back what a killed one has left.
 * Nests. 0; -EAGAIN: another has held the lock for seconds; -errno: tracefs cannot be written.
 */
int lasting_events_lock(struct kernel *k);
/* Without a lock it does nothing. */
void lasting_events_unlock(struct kernel *k);
/*
 * Notes in a journal that an event is about to be made, so that it is taken back if this run is
 * killed before the journal is discarded. place: as it is defined, "/tmp/demo:0x1240". 0 or -errno.
 */
int lasting_event_note(struct tracefs_saved *journal, bool is_user, const char *group,
		       const char *name, const char *place);
/* Is it the name of such a record? */
bool lasting_event_is_note(const char *file);
/* Takes back what such a record says, where the event is there, at its place. 0 or -errno. */
int lasting_event_take_back(const char *tracefs, const char *file, const char *value);
/* Removes all places of an event. 0, or -errno (-EBUSY: somebody uses it). */
int lasting_event_remove(struct kernel *k, bool is_user, const char *group, const char *name);
/*
 * The trace buffers that have it enabled or with a trigger, "the top buffer, instance main";
 * malloc'ed, NULL = none.
 */
char *lasting_event_buffers(struct kernel *k, const char *group, const char *name);

#endif
