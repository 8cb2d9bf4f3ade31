/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of perf_event_open(2) that commands count or sample, by name:
 *
 *	LIST	:= ITEM[,ITEM...]		ITEM := EVENT | {EVENT,EVENT...}
 *	EVENT	:= NAME[:u|:k] [/CONDITION/]
 *
 * NAME is a counter of the kernel or the processor ("cs", "cycles"), a tracepoint ("sched:*"), or
 * any attach point of a script that perf events can count ("uprobe:libc:malloc"). Commas in quotes
 * and conditions separate nothing.
 */
#ifndef PANTRACE_RECORD_PERF_EVENTS_H
#define PANTRACE_RECORD_PERF_EVENTS_H

#include <linux/perf_event.h>

#include "base/vector.h"
#include "probe/probe.h"

struct perf_choice {
	const char *name; /* as the user writes it */
	const struct probe_target *target;
	struct perf_event_attr attr; /* type, config, exclude_user, exclude_kernel */
	const char *filter; /* of the kernel; NULL = none */
	u32 group; /* those with the same number are counted together; 0 = by itself */
	bool is_time; /* it counts nanoseconds */
	bool is_one_of_many; /* matched by a wildcard */
	bool is_optional; /* left out where the machine does not have it */
	bool is_decided; /* another tracer's BPF program filters what the kernel counts */
};

struct perf_events {
	struct probe_env *env; /* its arena holds what is found */
	bool of_own_programs; /* may be opened without privileges: the kernel decides */
	pid_t pid; /* process in which attach points are looked up; 0 = none */
	VECTOR(struct perf_choice) list;
	u32 groups; /* number of groups so far */
};

/* Does the LIST have a counter by its bare name, as "cpu-clock" or "faults:u"? */
bool perf_events_has_counter(struct kernel *k, const char *text);
/* Adds the events of a LIST. 0 or -errno with a diagnostic. */
int perf_events_parse(struct perf_events *events, const char *text);
/* Adds one by its NAME. */
int perf_events_add(struct perf_events *events, const char *name);
void perf_events_release(struct perf_events *events);

#endif
