/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of kernel functions for the function tracers: "vfs_read,ext4_*" into set_ftrace_filter and
 * its kin.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_FUNCTION_FILTER_H
#define PANTRACE_KERNEL_TRACEFS_FUNCTION_FILTER_H

#include "base/options.h"
#include "kernel/tracefs/instance.h"

/*
 * Replaces the list in `file` ("set_ftrace_filter", "set_graph_function" ...) by these names and
 * patterns, separated by commas. Refuses a word that matches no function, with the nearest name. 0
 * or -errno with a diagnostic.
 */
int function_filter_set(struct instance *in, const char *file, const char *list);
/*
 * Takes the one argument, argv[first], as the list: OPTIONS_GO_ON, or the exit code of a usage
 * error.
 */
int function_filter_word(const struct command_spec *spec, int argc, char **argv, int first);

#endif
