/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace list`, also behind bpftrace's -l. */
#ifndef PANTRACE_CMD_LIST_H
#define PANTRACE_CMD_LIST_H

#include <stdio.h>

#include "probe/probe.h"

int cmd_list(int argc, char **argv);

/*
 * Prints the probes that match, one a line; verbose: with their arguments and types. The pattern is a probe name with
 * wildcards ("tracepoint:sched:*", "*open*"), a provider's name, a word to search for, or a file (its functions and
 * USDT probes); NULL = all. env->list_only is set meanwhile. 0, or -ENOENT with a diagnostic if nothing matches.
 */
int list_probes(struct probe_env *env, const char *pattern, bool verbose, FILE *out);
/* "a:b" of several folders; NULL if there are none. */
const char *list_join_paths(struct arena *a, const char *const *dirs, u32 n);

#endif
