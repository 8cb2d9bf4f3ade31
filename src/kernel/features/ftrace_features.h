/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel's ftrace can do, each found by a trial: a file is opened, a value is written to
 * an instance made for it, a line is found in the kernel's README. Never by version: distributions
 * leave features out and backport others.
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
