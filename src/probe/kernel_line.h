/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements of the kernel, and the variables there: [MODULE:]FUNCTION:LINE, [MODULE]@SOURCE:LINE.
 * Debug information of the running kernel has the addresses; where there is none, the cache of
 * definitions (kernel_cached.h).
 */
#ifndef PANTRACE_PROBE_KERNEL_LINE_H
#define PANTRACE_PROBE_KERNEL_LINE_H

#include "probe/source_line.h"

/* The kernel's file with debug information; in env->cache. */
struct kernel_image {
	struct elf_file *file; /* NULL: there is none, the cache has the place: */
	u64 slide; /* an address in memory, less the one in the file */
	u64 entry; /* where its function begins in memory; 0 = by name */
	const char *fetched; /* " NAME=FETCH:TYPE ...": the variables that are known there */
};

/*
 * 0, or -errno with a diagnostic. Where nothing is attached (env->compile_only) the addresses in
 * memory need not be known: slide 0.
 */
int kernel_image_open(struct probe_env *env, struct span at, struct kernel_image *ret);

struct kernel_line {
	const char *function; /* NULL: the line is of a file */
	struct source_line line; /* target: the module, "" = the kernel itself */
};
/* Is it a line? 1, 0 = no, or -EINVAL with a diagnostic. */
int kernel_line_parse(struct probe_env *env, const struct probe_request *r,
		      struct kernel_line *ret);
/*
 * Calls fn for each place: its address in the file, if there is one, and the symbol that it lies
 * behind (of the cache's, the name alone). 0, fn's
 * non-zero result, or -errno with a diagnostic.
 */
typedef int (*kernel_line_fn)(void *arg, const struct kernel_image *image,
			      const struct debug_point *p, const struct elf_symbol *s, u64 into);
int kernel_line_each(struct probe_env *env, const struct probe_request *r,
		     const struct kernel_line *line, kernel_line_fn fn, void *arg);

#endif
