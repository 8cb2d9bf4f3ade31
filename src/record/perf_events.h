/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events of perf_event_open(2) are meant, for commands that count or sample them:
 *
 *	LIST	:= ITEM[,ITEM...]		ITEM := EVENT | {EVENT,EVENT...}
 *	EVENT	:= NAME[:u|:k] [/CONDITION/]
 *
 * NAME is a counter of the kernel or the processor ("cs", "cycles"), a tracepoint ("sched:*"), or
 * any attach point of a script that perf events can count ("uprobe:libc:malloc"). Commas in quotes
 * and conditions part nothing.
 */
#ifndef PANTRACE_RECORD_PERF_EVENTS_H
#define PANTRACE_RECORD_PERF_EVENTS_H

#include <linux/perf_event.h>

#include "base/vector.h"
#include "probe/probe.h"

struct perf_choice {
	const char *name; /* as the user writes it */
	const struct probe_target *target;
	struct perf_event_attr attr; /* what it is, and whether of the kernel or of programs */
	const char *filter; /* of the kernel; NULL = none */
	u32 group; /* those with the same number are counted together; 0 = by itself */
	bool is_time; /* it counts nanoseconds */
	bool is_one_of_many; /* a wildcard's */
	bool is_optional; /* left out where the machine has none */
	bool is_decided; /* another tracer's BPF program decides what the kernel counts */
};

struct perf_events {
	struct probe_env *env; /* what is found lives in its arena */
	/* users may ask for what their own programs do: the kernel is asked then, not before */
	bool of_own_programs;
	pid_t pid; /* that attach points are looked for in; 0 = none */
	VECTOR(struct perf_choice) list;
	u32 groups; /* so many are there by now */
};

/* Is one in a LIST a counter, by its bare name, as "cpu-clock" or "faults:u"? */
bool perf_events_has_counter(struct kernel *k, const char *text);
/* Adds those of a LIST. 0 or -errno with a diagnostic. */
int perf_events_parse(struct perf_events *events, const char *text);
/* Adds one by its NAME. */
int perf_events_add(struct perf_events *events, const char *name);
void perf_events_release(struct perf_events *events);

#endif
