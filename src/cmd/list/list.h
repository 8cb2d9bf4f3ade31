/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace list`, also behind bpftrace's -l. */
#ifndef PANTRACE_CMD_LIST_LIST_H
#define PANTRACE_CMD_LIST_LIST_H

#include <stdio.h>

#include "base/options.h"
#include "probe/probe.h"

int cmd_list(int argc, char **argv);

/* "a:b" of several folders; NULL if there are none. */
const char *list_join_paths(struct arena *a, const struct string_list *dirs);

#endif
