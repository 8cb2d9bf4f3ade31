/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kprobe and fentry share: kernel functions, their names and why one cannot be probed. */
#ifndef PANTRACE_PROBE_FUNCTION_H
#define PANTRACE_PROBE_FUNCTION_H

#include "probe/provider.h"

/*
 * Every function that the kernel can trace: ftrace's list, or where that cannot be read the text symbols of
 * kallsyms, without the blacklisted ones. Each name once; one that makes fn return non-zero is the last. glob: only names that match; NULL = all.
 */
int function_each_traceable(struct probe_env *env, const char *glob, kernel_function_fn fn, void *arg);
/* The same in a third less time, but names that several functions share come as often as these are. */
int function_each_listed(struct probe_env *env, kernel_function_fn fn, void *arg);
/* Is the name in ftrace's list? True also if the list cannot be read. */
bool function_is_traceable(struct probe_env *env, const char *name);
/* Is it there exactly once? False also if the list cannot be read. */
bool function_is_traceable_once(struct probe_env *env, const char *name);
/* Is the module loaded (or "vmlinux", or a wildcard)? Else a diagnostic, -ENOENT. */
int function_check_module(struct probe_env *env, const struct probe_request *r, const char *module);
/* The blacklist, asked before the kernel is: 0, or -EINVAL with a diagnostic. */
int function_check_blacklist(struct probe_env *env, struct span at, const char *name);
/* "No matches for kprobe x." with the cause (inlined, not traceable, compiler suffix) or the nearest names; -ENOENT. */
int function_no_match(struct probe_env *env, const struct probe_request *r, const char *provider, const char *module,
		      const char *name);
/* Only the cause, as a hint to the last diagnostic. */
void function_missing_hint(struct probe_env *env, const char *provider, const char *name);
bool function_module_matches(const char *glob, const char *module);

#endif
