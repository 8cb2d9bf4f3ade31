/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attach points by source line, of programs and the kernel: lines of a file, or a function. */
#ifndef PANTRACE_PROBE_SOURCE_LINE_H
#define PANTRACE_PROBE_SOURCE_LINE_H

#include "binary/debug/variable.h"
#include "probe/provider.h"

struct source_line {
	/* Before the '@'. Of programs: the file, "" = the process's executable; of the kernel: the
	 * module, "" = the kernel itself. */
	const char *target;
	const char *source;
	u32 line, column; /* column 0 = any */
};
/* Is it TARGET@SOURCE:LINE[:COLUMN]? 1, 0 = no, or -EINVAL with a diagnostic. */
int source_line_parse(struct probe_env *env, const struct probe_request *r,
		      struct source_line *ret);
typedef int (*source_line_fn)(void *arg, const struct debug_point *p);
/* Calls fn for the places of the line. 0, fn's result, or -errno with a diagnostic. */
int source_line_each(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		     const struct source_line *line, source_line_fn fn, void *arg);
/*
 * A line that counts from the one where the function is declared. Calls fn for each place, of all
 * functions of that name and of their inlined copies; those that begin at line 0. fn's non-zero
 * result, 0, or -errno with a diagnostic.
 */
int function_line_each(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		       const char *function, u32 line, source_line_fn fn, void *arg);

#endif
