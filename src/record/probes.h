/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in -e of a recording. Each is an event of the kernel while the recording runs:
 *
 *	kprobe:POINT [ARG...]		kretprobe:FUNCTION [ARG...]
 *	uprobe:FILE:POINT [ARG...]	uretprobe:FILE:FUNCTION [ARG...]
 *	usdt:FILE:[PROVIDER:]NAME [ARG...]
 *
 * POINT and ARG are those of `pantrace probe` (probe/definition/point.h); a condition may follow
 * ("uprobe:./shop:pay sum /sum > 100/"). In tracefs the events' names contain the owner's PID, so
 * that the next run removes what a killed one left. In the recording they have the names that
 * `pantrace probe` and perf give them: probe_shop:pay.
 */
#ifndef PANTRACE_RECORD_PROBES_H
#define PANTRACE_RECORD_PROBES_H

#include "base/vector.h"
#include "kernel/tracefs/dynamic_event.h"
#include "record/record.h"

struct record_probe {
	const struct dynamic_event *event; /* as tracefs has it */
	const char *group; /* as the recording has it: "probe_shop"; the event's name is the same */
};

struct record_probe_list {
	VECTOR(struct record_probe) all;
};

/* Is this -e a probe? */
bool record_probe_is(const char *text);
/* The condition after the probe, from its first slash on. NULL: there is none. */
const char *record_probe_condition(const char *text);
/*
 * Makes the probes of one -e, without its condition, and appends them. They belong to the run.
 * text: lives as long as the run. 0 or -errno with a diagnostic.
 */
int record_probes_make(struct record_run *run, const char *text, struct record_probe_list *ret);

#endif
