/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of kernel functions (kfuncs, Documentation/bpf/kfuncs.rst), named and typed by BTF. The
 * verifier decides which ones a program may call, and with which arguments.
 */
#ifndef PANTRACE_LANG_BUILTIN_KERNEL_CALL_H
#define PANTRACE_LANG_BUILTIN_KERNEL_CALL_H

#include "lang/lower/lower.h"

/* Id of a function of vmlinux in BTF, 0 = there is none; ret (may be NULL): its type. */
u32 kernel_function_id(const struct check *c, const char *name, const struct type **ret);
/* May programs of the probe that is being checked call it? Found by trial. */
bool kernel_function_allowed(const struct check *c, const char *name);
/*
 * Checks a call whose name is no builtin. False, without a diagnostic, if it is no kernel function
 * either.
 */
bool kernel_call_check(struct check *c, struct expr *call);
void kernel_call_lower(struct lower *l, struct expr *call, struct value *ret);

#endif
