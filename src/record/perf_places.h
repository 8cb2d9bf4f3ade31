/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where perf events are opened: what -C and -G of commands mean. */
#ifndef PANTRACE_RECORD_PERF_PLACES_H
#define PANTRACE_RECORD_PERF_PLACES_H

#include "base/diag.h"

/*
 * Calls fn for each CPU of a list such as "0-3,8" (-C), all of which are online; NULL: for all that
 * are. Returns what fn returned other than 0, or 0, or -errno with a diagnostic.
 */
int perf_each_cpu(const char *list, struct diag *d, int (*fn)(void *arg, int cpu), void *arg);
/*
 * The directory of a cgroup (-G), by its path, or by that below where cgroups of perf's controller
 * are mounted. A descriptor, or -errno with a diagnostic.
 */
int perf_open_cgroup(const char *name, struct diag *d);

#endif
