/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `list 'struct NAME'`: the kernel's types, as C. */
#ifndef PANTRACE_CMD_LIST_TYPES_H
#define PANTRACE_CMD_LIST_TYPES_H

#include <stdio.h>

#include "probe/probe.h"

/* Does the pattern ask for types ("struct file", "union *", "enum tcp*")? */
bool list_is_type(const char *pattern);
/*
 * One line each, in alphabetical order; verbose: with the definition, after "MODULE: ". Returns how
 * many, or -errno.
 */
s64 list_types(struct probe_env *env, const char *pattern, bool verbose, FILE *out);

#endif
