/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_function_allowed() for scripts: which kernel functions programs may call; see
 * kernel_call.h. Evaluated at compile time.
 */
#include "lang/builtin/util.h"
#include "lang/builtin/kernel_call.h"

enum { ASKED = 1, YES = 2 };

static void check_kfunc(struct check *c, struct expr *call)
{
	const bool exist = str_eq(call->builtin->name, "kfunc_exist");
	const char *name;
	bool yes;

	call->type = type_bool();
	if (call->args[0]->kind != EXPR_STRING) {
		check_error(c, call->span, "%s() accepts a string literal only",
			    call->builtin->name);
		return;
	}
	name = builtin_literal(call->args[0]);
	if (!call->annotation) {
		yes = exist ? kernel_function_id(c, name, NULL) != 0
			    : kernel_function_allowed(c, name);
		call->annotation = (void *)(uintptr_t)(yes ? ASKED | YES : ASKED);
	}
	builtin_set_integer(call, call->type, ((uintptr_t)call->annotation & YES) != 0);
}

const struct builtin builtins_kernel[] = {
	{"kfunc_exist", "bool kfunc_exist(const string kfunc)",
	 "Does the kernel have a function of this name, by its BTF? Known when the script is "
	 "compiled.",
	 "5.2", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_kfunc, builtin_lower_literal},
	{"kfunc_allowed", "bool kfunc_allowed(const string kfunc)",
	 "May programs of this probe call that function of the kernel? Known when the script is "
	 "compiled; such a function is called by its name: bpf_task_from_pid(1).",
	 "5.13", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_kfunc, builtin_lower_literal},
	{0},
};
