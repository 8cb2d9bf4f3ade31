/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions may be traced: ftrace's list (available_filter_functions, since Linux 6.5 with
 * addresses) and the list of what kprobes must not be put on (kprobes/blacklist in debugfs).
 *
 * The list of ftrace has one name for each function, the first of kallsyms. Functions are compared
 * by address here, so that any of their names will do.
 */
#ifndef PANTRACE_KERNEL_FEATURES_TRACEABLE_H
#define PANTRACE_KERNEL_FEATURES_TRACEABLE_H

#include "kernel/symbols/ksyms.h"

/*
 * From now on those of a file, laid out as available_filter_functions is. 0 or -errno: it cannot be
 * read.
 */
int kernel_set_traceable(struct kernel *k, const char *path);
bool kernel_traceable_is_given(const struct kernel *k); /* by kernel_set_traceable() */

struct traceable_function {
	const char *name, *module; /* module NULL = vmlinux */
};
/* The list as it is; 0, what fn returned, or -errno: it cannot be read. */
int kernel_each_traceable(struct kernel *k,
			  int (*fn)(void *arg, const struct traceable_function *f), void *arg);

enum traceable_answer {
	TRACEABLE,
	TRACEABLE_NOT, /* marked notrace, or no function of C */
	/* several functions have its name, and the list without addresses only some of them */
	TRACEABLE_AMBIGUOUS,
	TRACEABLE_UNKNOWN, /* the list cannot be read */
};
enum traceable_answer kernel_function_traceable(struct kernel *k, const struct kernel_function *f);
/* Of the function that has this name. */
enum traceable_answer kernel_name_traceable(struct kernel *k, const char *name);

/*
 * Every function one of whose names matches the glob (NULL = all), with the answer for it. Where
 * the list is the user's, or kallsyms has no addresses, only the list is asked: each of its names
 * once, without addresses. -errno: nothing can be read.
 */
int kernel_each_function(struct kernel *k, const char *glob,
			 int (*fn)(void *arg, const struct kernel_function *f,
				   enum traceable_answer answer),
			 void *arg);

/* May kprobes not be put on it? By its address, where both are known, or else by its name. */
bool kernel_function_blacklisted(struct kernel *k, const char *name, u64 address);

#endif
