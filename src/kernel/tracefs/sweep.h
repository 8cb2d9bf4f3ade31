/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What dead runs left in tracefs (kernel/tracefs/owner.h): their instances, probe events, synthetic
 * events, and the values of the top buffer that they had changed. Live runs are never touched.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_SWEEP_H
#define PANTRACE_KERNEL_TRACEFS_SWEEP_H

#include "kernel/kernel.h"
#include "base/vector.h"

enum swept_kind { SWEPT_INSTANCE, SWEPT_PROBE, SWEPT_SYNTHETIC, SWEPT_SETTING };

struct swept {
	enum swept_kind kind;
	char *name; /* "pantrace-71-3300", "p:pantrace_71_3300/f", "current_tracer" */
	int error; /* 0 = removed; else errno: it is still there */
};

struct sweep_report {
	VECTOR(struct swept) items;
	u32 failed;
};

/* only_look: removes nothing. report may be NULL. 0, or -errno if tracefs cannot be read. */
int tracefs_sweep(struct kernel *k, bool only_look, struct sweep_report *report);
void sweep_report_release(struct sweep_report *r);

#endif
