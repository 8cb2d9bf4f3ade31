/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kprobe and fentry share: kernel functions, their names and why one cannot be probed. */
#ifndef PANTRACE_PROBE_FUNCTION_H
#define PANTRACE_PROBE_FUNCTION_H

#include "kernel/features/traceable.h"
#include "probe/provider.h"

/* What a wildcard matches and nobody may probe. */
struct function_left_out {
	u32 notrace, blacklisted, of_rcu;
	/* the kernel does not say which of several functions of that name can be traced */
	u32 ambiguous;
	/* fentry: the kernel cannot be told which of several functions of that name is meant */
	u32 shared;
};

/*
 * The functions of modules and names that match and can be probed, each once; module NULL = any,
 * names NULL = all. Those that cannot be are counted. fn returning non-zero ends. Returns that, or
 * -errno: the kernel's functions cannot be read.
 */
int function_each_match(struct probe_env *env, const char *module, const char *names,
			kernel_function_fn fn, void *arg, struct function_left_out *left);
/*
 * Says how many were left out, and why, as one warning, and adds them to out->skipped. Nothing if
 * there are none.
 */
void function_tell_left_out(struct probe_env *env, const struct probe_request *r,
			    struct probe_targets *out, const struct function_left_out *left);
/* Those that the kernel can trace, for lists; names NULL = all. */
int function_each_listed(struct probe_env *env, const char *names, kernel_function_fn fn,
			 void *arg);
/* Can the function of this name be traced? True also if that is not known. */
bool function_is_traceable(struct probe_env *env, const char *name);
/* Is it the only one of its name? False also if that is not known. */
bool function_is_traceable_once(struct probe_env *env, const char *name);
/*
 * Several functions have this name, so that nobody knows which is meant: a diagnostic, -EINVAL.
 * Else 0.
 */
int function_check_unique(struct probe_env *env, const struct probe_request *r, const char *name);
/*
 * Why the kernel takes no probe on the function: "is blacklisted function"; NULL: it may take one.
 * Of one of many, also that it is notrace, which kernels with CONFIG_KPROBE_EVENTS_ON_NOTRACE take.
 */
const char *function_forbidden(struct probe_env *env, const char *name, u64 address,
			       bool is_one_of_many);
/* The module that has the function; NULL: the kernel itself has, or several or none. */
const char *function_module(struct probe_env *env, const char *name);
/*
 * How many functions of modules that match have exactly this name; module NULL = any. *ret is the
 * last of them.
 */
u32 function_in_module(struct probe_env *env, const char *module, const char *name,
		       struct kernel_function *ret);
/* Is the module loaded (or "vmlinux", or a wildcard)? Else a diagnostic, -ENOENT. */
int function_check_module(struct probe_env *env, const struct probe_request *r, const char *module);
/* The blacklist, asked before the kernel is: 0, or -EINVAL with a diagnostic. */
int function_check_blacklist(struct probe_env *env, struct span at, const char *name);
/*
 * "No matches for kprobe x." with the cause (inlined, not traceable, compiler suffix) or the
 * nearest names; -ENOENT.
 */
int function_no_match(struct probe_env *env, const struct probe_request *r, const char *provider,
		      const char *module, const char *name);
/*
 * Why the kernel refused (with this errno) to attach to a function, and a hint in *ret_hint (or
 * NULL). NULL: not for a reason that is known here.
 */
const char *function_refusal(struct probe_env *env, const struct probe_target *t, int error,
			     const char **ret_hint);
/* Of these parameters by BTF, how many of the first are in a register each when it is called. */
u32 function_register_parameters(const struct type *function);
/* That there is none of this name, as a hint to the last diagnostic. */
void function_missing_hint(struct probe_env *env, const char *provider, const char *name);
bool function_module_matches(const char *glob, const char *module);

#endif
