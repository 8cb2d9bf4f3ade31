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
 * Takes the list from a file in the format of available_filter_functions. 0 or -errno: it cannot be
 * read.
 */
int kernel_set_traceable(struct kernel *k, const char *path);
bool kernel_traceable_is_given(const struct kernel *k); /* by kernel_set_traceable() */

struct traceable_function {
	const char *name, *module; /* module NULL = vmlinux */
};
/* Calls fn for each line of the list. 0, what fn returned, or -errno: it cannot be read. */
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
/* Whether the function of this name may be traced. */
enum traceable_answer kernel_name_traceable(struct kernel *k, const char *name);

/*
 * Calls fn for every function one of whose names matches the glob (NULL = all), with the answer for
 * it. If the list is the user's, or kallsyms has no addresses, only the list is read: each name
 * once, without addresses. -errno: nothing can be read.
 */
int kernel_each_function(struct kernel *k, const char *glob,
			 int (*fn)(void *arg, const struct kernel_function *f,
				   enum traceable_answer answer),
			 void *arg);

/* Are kprobes on it forbidden? Compared by address if both are known, else by name. */
bool kernel_function_blacklisted(struct kernel *k, const char *name, u64 address);

#endif
