/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which names are wanted: wildcards joined by ! & | and parentheses, "!_* & (vfs_* | *read)". As
 * perf probe --filter has it: & binds tighter than |, blanks mean nothing, and a backslash takes
 * the meaning from the character behind it.
 */
#ifndef PANTRACE_BASE_NAME_FILTER_H
#define PANTRACE_BASE_NAME_FILTER_H

#include "base/diag.h"

struct name_filter;

/* Lives in the arena. NULL: the diagnostic shows the place in `text`, which must outlive d. */
const struct name_filter *name_filter_parse(struct arena *a, struct diag *d, const char *text);
bool name_filter_match(const struct name_filter *f, const char *name);

#endif
