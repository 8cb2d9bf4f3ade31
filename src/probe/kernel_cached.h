/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements of the kernel where it has no debug information: the user's cache of definitions
 * (probe/cache/cache.h) has been brought from a machine that has, and says where a line is, and
 * how the variables of its definition are fetched there.
 */
#ifndef PANTRACE_PROBE_KERNEL_CACHED_H
#define PANTRACE_PROBE_KERNEL_CACHED_H

#include "probe/kernel_line.h"

/*
 * Calls fn for each place of a line of the kernel or a module. 0; -ENOENT without a diagnostic: the
 * cache has no definition of that line for this build; else fn's non-zero result, or -errno with a
 * diagnostic.
 */
int kernel_cached_each(struct probe_env *env, const struct probe_request *r,
		       const struct kernel_line *line, const char *module, kernel_line_fn fn,
		       void *arg);
/* The variables of such a place. Lives in the environment's arenas. */
struct probe_place *kernel_cached_place(struct probe_env *env, const struct kernel_image *image);

#endif
