/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace list`, also behind bpftrace's -l. */
#ifndef PANTRACE_CMD_LIST_LIST_H
#define PANTRACE_CMD_LIST_LIST_H

#include <stdio.h>

#include "engine/run_config.h"
#include "probe/probe.h"

int cmd_list(int argc, char **argv);
/*
 * Lists the names that the pattern matches (NULL = all) in the form that the config asks for.
 * everything: also what this kernel cannot attach. Returns the exit code.
 */
int list_probes(const struct run_config *config, bool everything, const char *pattern);

/* "a:b" of several folders; NULL if there are none. */
const char *list_join_paths(struct arena *a, const struct string_list *dirs);

#endif
