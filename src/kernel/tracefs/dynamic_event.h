/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are made for a run: probes (kprobe_events, uprobe_events, dynamic_events) and
 * synthetic events. They are global to the kernel, so they carry their owner's name
 * (kernel/tracefs/owner.h), are removed by name at the end, and by the next run
 * (kernel/tracefs/sweep.h) if the owner was killed.
 *
 * What is shown is the user's name, `shown`; the kernel's is `group`/`name`. What a definition may
 * say, and which functions may be probed, is the business of probe/definition/definition.h.
 *
 *	struct dynamic_events *set = dynamic_events_new(k, d);
 *	struct tracefs_command place = TRACEFS_COMMAND_INIT;
 *	tracefs_command_user(&place, "vfs_read count=$arg3", ...);
 *	dynamic_events_define(set, DYNAMIC_KPROBE, "vfs_read", &place, &event);
 *	instance_enable_event(in, event->group, event->name, true);
 *	...
 *	instance_close(in);		first: an event that is enabled cannot be removed
 *	dynamic_events_release(set);
 */
#ifndef PANTRACE_KERNEL_TRACEFS_DYNAMIC_EVENT_H
#define PANTRACE_KERNEL_TRACEFS_DYNAMIC_EVENT_H

#include "kernel/tracefs/command.h"

enum dynamic_kind {
	DYNAMIC_KPROBE, /* p:GROUP/NAME PLACE ARGS */
	DYNAMIC_KRETPROBE, /* r: */
	DYNAMIC_UPROBE, /* p:GROUP/NAME PATH:OFFSET ARGS */
	DYNAMIC_URETPROBE, /* r: */
	DYNAMIC_EPROBE, /* e:GROUP/NAME SYSTEM.EVENT ARGS */
	DYNAMIC_SYNTHETIC, /* NAME FIELDS; its group is "synthetic" */
};

struct dynamic_event {
	enum dynamic_kind kind;
	const char *group, *name; /* tracefs/events/GROUP/NAME */
	const char *shown; /* as the user calls it */
};

struct dynamic_events;

/*
 * Does the kernel support event probes? Found by trial: its README mentions them even if they are
 * not built in.
 */
bool dynamic_events_can_probe_events(struct kernel *k);

/* both must outlive it */
struct dynamic_events *dynamic_events_new(struct kernel *k, struct diag *d);
/* Removes all of them; a warning if one cannot be. NULL is fine. */
void dynamic_events_release(struct dynamic_events *set);
/* Leaves their removal to the guard: instance_leave(). */
void dynamic_events_leave(struct dynamic_events *set);
/*
 * Defines one. shown: any text; the kernel's name is made of it (other characters than [A-Za-z0-9_]
 * become '_', a number is appended to what is there already). tail: what follows the name. A
 * refusal becomes a diagnostic under the user's words. *ret lives as long as the set.
 */
int dynamic_events_define(struct dynamic_events *set, enum dynamic_kind kind, const char *shown,
			  const struct tracefs_command *tail, const struct dynamic_event **ret);
/*
 * The same with letters after the definition's first one: "10" of "r10:", the number of calls that
 * a return probe can follow at once.
 */
int dynamic_events_define_as(struct dynamic_events *set, enum dynamic_kind kind,
			     const char *modifier, const char *shown,
			     const struct tracefs_command *tail, const struct dynamic_event **ret);
/*
 * One more place of an event of the set, with arguments of the same names and types (since Linux
 * 5.8).
 */
int dynamic_events_extend(struct dynamic_events *set, const struct dynamic_event *e,
			  const struct tracefs_command *tail);
size_t dynamic_events_count(const struct dynamic_events *set);
const struct dynamic_event *dynamic_events_at(const struct dynamic_events *set, size_t i);
/* The event that the kernel knows by these names, or NULL: to show the user's name. */
const struct dynamic_event *dynamic_events_find(const struct dynamic_events *set, const char *group,
						const char *name);

#endif
