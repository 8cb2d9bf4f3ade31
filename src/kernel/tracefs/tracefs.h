/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracefs as far as probes need it: events and their formats.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_TRACEFS_H
#define PANTRACE_KERNEL_TRACEFS_TRACEFS_H

#include "kernel/kernel.h"

/*
 * Every event (also dynamic ones) from events/ by directory reading (category, event); no format is
 * read.
 */
int tracefs_each_event(struct kernel *k, const char *category_glob, const char *event_glob,
		       int (*fn)(void *arg, const char *category, const char *event), void *arg);
/* The event's number for perf_event_open (config). -errno. */
int tracefs_event_id(struct kernel *k, const char *category, const char *event);
/* The text of its format file; malloc'ed. 0 or -errno. */
int tracefs_event_format(struct kernel *k, const char *category, const char *event, char **ret);

#endif
