/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements of the kernel, and the variables there: [MODULE:]FUNCTION:LINE, [MODULE]@SOURCE:LINE.
 * Debug information of the running kernel has the addresses; where there is none, the cache of
 * definitions (kernel_cached.h).
 */
#ifndef PANTRACE_PROBE_KERNEL_LINE_H
#define PANTRACE_PROBE_KERNEL_LINE_H

#include "probe/kernel_image.h"
#include "probe/source_line.h"

struct kernel_line {
	const char *function; /* NULL: the line is of a file */
	/* target: the module; "" = the kernel itself, or the one that has the function or source */
	struct source_line line;
};
/* Is it a line? 1, 0 = no, or -EINVAL with a diagnostic. */
int kernel_line_parse(struct probe_env *env, const struct probe_request *r,
		      struct kernel_line *ret);
/*
 * Calls fn for each place: its address in the file, if there is one, and the symbol that it lies
 * behind (of the cache's, the name alone). 0, fn's non-zero result, or -errno with a diagnostic.
 */
typedef int (*kernel_line_fn)(void *arg, const struct kernel_image *image,
			      const struct debug_point *p, const struct elf_symbol *s, u64 into);
int kernel_line_each(struct probe_env *env, const struct probe_request *r,
		     const struct kernel_line *line, kernel_line_fn fn, void *arg);

#endif
