/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where perf events are opened: the CPUs of -C, the cgroups of -G. */
#ifndef PANTRACE_RECORD_PERF_PLACES_H
#define PANTRACE_RECORD_PERF_PLACES_H

#include "base/diag.h"

/*
 * Calls fn for each CPU of a list such as "0-3,8" (-C), which must be online; NULL: for all that
 * are online, until fn returns other than 0. Returns that, 0, or -errno with a diagnostic.
 */
int perf_each_cpu(const char *list, struct diag *d, int (*fn)(void *arg, int cpu), void *arg);
/*
 * Opens the directory of a cgroup (-G), given by its path, or its path below the mount of perf's
 * controller. A descriptor, or -errno with a diagnostic.
 */
int perf_open_cgroup(const char *name, struct diag *d);

#endif
