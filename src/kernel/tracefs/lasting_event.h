/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe events that outlive the run that made them, as `perf probe` makes them: they have names of
 * their own, and stand until somebody removes them by name. What a run makes for itself
 * (kernel/tracefs/dynamic_event.h) is not among them.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_LASTING_EVENT_H
#define PANTRACE_KERNEL_TRACEFS_LASTING_EVENT_H

#include "kernel/tracefs/command.h"

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
/* Removes all places of an event. 0, or -errno (-EBUSY: somebody uses it). */
int lasting_event_remove(struct kernel *k, bool is_user, const char *group, const char *name);

#endif
