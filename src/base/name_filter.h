/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of names: wildcards joined by ! & | and parentheses, "!_* & (vfs_* | *read)", as in perf
 * probe --filter. & binds tighter than |, blanks are ignored, and a backslash quotes the next
 * character.
 */
#ifndef PANTRACE_BASE_NAME_FILTER_H
#define PANTRACE_BASE_NAME_FILTER_H

#include "base/diag.h"

struct name_filter;

/* Lives in the arena. NULL: the diagnostic shows the place in `text`, which must outlive d. */
const struct name_filter *name_filter_parse(struct arena *a, struct diag *d, const char *text);
bool name_filter_match(const struct name_filter *f, const char *name);

#endif
