/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions of the kernel itself (kfuncs, Documentation/bpf/kfuncs.rst): named and typed
 * by BTF. Which of them a program may call, and with what, is the verifier's to say.
 */
#ifndef PANTRACE_LANG_BUILTIN_KERNEL_CALL_H
#define PANTRACE_LANG_BUILTIN_KERNEL_CALL_H

#include "lang/lower/lower.h"

/* Id of a function of vmlinux in BTF, 0 = there is none; ret (may be NULL): its type. */
u32 kernel_function_id(const struct check *c, const char *name, const struct type **ret);
/* May programs of the probe that is being checked call it? Asked by trial. */
bool kernel_function_allowed(const struct check *c, const char *name);
/*
 * Checks a call whose name is not a builtin. False, without a diagnostic, if the kernel has no such
 * function either.
 */
bool kernel_call_check(struct check *c, struct expr *call);
void kernel_call_lower(struct lower *l, struct expr *call, struct value *ret);

#endif
