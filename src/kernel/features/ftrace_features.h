/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel's ftrace can do, each asked by a trial: a file opened, a value written to an
 * instance made for it, a line in the kernel's own README. Never by version: distributions leave
 * out and port back.
 */
#ifndef PANTRACE_KERNEL_FEATURES_FTRACE_FEATURES_H
#define PANTRACE_KERNEL_FEATURES_FTRACE_FEATURES_H

#include "kernel/kernel.h"

struct ftrace_feature {
	const char *name; /* "function_graph_instance" */
	const char *doc;
	bool yes;
	int error; /* errno of the trial when not */
};

/* All of them; *ret is malloc'ed. Returns how many; 0 if tracefs cannot be used. */
size_t ftrace_features(struct kernel *k, struct ftrace_feature **ret);

#endif
