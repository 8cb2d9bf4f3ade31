/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables of the source at a probe, for `vars`. */
#ifndef PANTRACE_PROBE_VARIABLES_H
#define PANTRACE_PROBE_VARIABLES_H

#include "binary/debug/variable.h"

struct kernel_image;

struct probe_variable {
	struct debug_variable is;
	struct location location; /* LOCATION_NONE: its access says why */
	const struct probe_variable *next;
};

/* A place in a program; lives in an arena, and remembers what was asked. */
struct probe_place {
	struct debug_point at; /* file NULL: what is `known` is all (kernel_cached.h) */
	/*
	 * Of the kernel: addresses of static variables are those in memory. Programs are mapped
	 * anywhere: there the probed instruction says it.
	 */
	const struct kernel_image *kernel;
	const struct probe_variable *known; /* asked for by name */
	/* All of the function, inner blocks first, those that are hidden or cannot be read, too. */
	const struct probe_variable *all;
	bool all_read;
};

/* As debug_variable_named(). 0, -ENODATA, -ENOENT. */
int probe_variable(struct probe_place *p, struct type_store *types, const char *name,
		   const struct probe_variable **ret);
/* p->all, read by the first call; NULL = there are none. */
const struct probe_variable *probe_all_variables(struct probe_place *p, struct type_store *types);

#endif
