/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of kprobe_events and uprobe_events, as `pantrace probe` and perf make them. To programs
 * the kernel shows the registers there, not the event's record: so a program reads each field as
 * the event's definition says.
 */
#ifndef PANTRACE_PROBE_PROBE_EVENT_H
#define PANTRACE_PROBE_PROBE_EVENT_H

#include "probe/provider.h"

/*
 * What a program sees at a tracepoint that is such an event. 1: *ret is filled in; 0: it is none;
 * -errno with a diagnostic: it is of a kind that no program can be attached to.
 */
int probe_event_describe(struct probe_env *env, const struct probe_target *t, struct span at,
			 struct probe_context *ret);
/*
 * How the value of "NAME=FETCH:TYPE" is read; *ret_type is never NULL. LOCATION_NONE: its access
 * says why not. place: the offset in the file of the user probe that has it.
 */
struct location probe_event_field(struct probe_env *env, const char *argument, bool is_user,
				  bool is_return, u64 place, const char **ret_name,
				  const struct type **ret_type);

#endif
