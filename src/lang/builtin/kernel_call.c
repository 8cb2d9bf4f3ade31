/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/builtin/kernel_call.h"

#include <unistd.h>

#include "kernel/kernel.h"
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "lang/lower/internal.h"

#define MAX_ARGUMENTS 5 /* registers of a call */

struct kernel_call {
	u32 id;
	const struct type *type; /* TYPE_FUNCTION */
};

u32 kernel_function_id(const struct check *c, const char *name, const struct type **ret)
{
	struct btf_function f;
	struct btf_source *btf = c->options->env->btf;

	/* Functions of modules would need a descriptor of the module's BTF in the program. */
	if (!btf || btf_find_function(btf, "vmlinux", name, &f))
		return 0;
	if (ret)
		*ret = f.type;
	return f.id;
}

/*
 * The verifier says "calling kernel function %s is not allowed" (fetch_kfunc_meta() and its callers
 * in kernel/bpf/verifier.c) before it checks the arguments; complaints about those do not matter
 * here. Kernels without such calls refuse the instruction.
 */
bool kernel_function_allowed(const struct check *c, const char *name)
{
	const struct probe_context *x = &c->unit->context;
	const u32 id = kernel_function_id(c, name, NULL);
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (s32)id},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	char log[4096] = "";
	union bpf_attr attr = {
		.prog_type = x->program_type,
		.expected_attach_type = x->expected_attach_type,
		.insns = (u64)(uintptr_t)insns,
		.insn_cnt = ARRAY_SIZE(insns),
		.license = (u64)(uintptr_t) "GPL",
		.attach_btf_id = x->attach_btf_id,
		.log_level = 1,
		.log_buf = (u64)(uintptr_t)log,
		.log_size = sizeof(log),
	};
	int fd;

	if (!id)
		return false;
	if (x->attach_btf_fd > 0)
		attr.attach_btf_obj_fd = (u32)x->attach_btf_fd;
	fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (*log && strstr(log, name) && !strstr(log, "not allowed"));
}

static bool is_word(const struct type *t)
{
	return type_is_integer(t) || type_is(t, TYPE_BOOL) || type_is(t, TYPE_ENUM) ||
	       type_is(t, TYPE_POINTER);
}

static void check_argument(struct check *c, struct expr *e, const struct type_member *parameter)
{
	const struct type *t = parameter->type;
	bool fits;

	if (!check_known(c, e))
		return;
	if (type_is(t, TYPE_POINTER))
		fits = is_word(e->type) || (e->space == SPACE_BPF && !type_is_scalar(e->type)) ||
		       type_is(e->type, TYPE_STRING);
	else
		fits = is_word(t) && builtin_is_number(e->type);
	if (!fits)
		check_error(c, e->span, "Expected %s for argument `%s` got %s",
			    check_type_text(c, t), parameter->name ? parameter->name : "",
			    check_type_text(c, e->type));
}

static const struct type *result_type(struct check *c, const struct type *t)
{
	if (!t || type_is(t, TYPE_VOID))
		return type_none();
	if (type_is(t, TYPE_POINTER))
		return type_pointer(c->types, t->element, SPACE_KERNEL);
	return t;
}

bool kernel_call_check(struct check *c, struct expr *call)
{
	const struct type *type;
	const u32 id = call->kind == EXPR_CALL ? kernel_function_id(c, call->name, &type) : 0;
	struct kernel_call *k = call->annotation;

	if (!id)
		return false;
	for (u32 i = 0; i < call->nargs; i++)
		check_expr(c, call->args[i]);
	if (c->final && !kernel_function_allowed(c, call->name)) {
		check_error(c, call->span, "Unknown function: '%s'", call->name);
		check_hint(c, "the kernel has a function of this name, but not for programs of "
			      "this probe to call");
		return true;
	}
	if (!k)
		call->annotation = k = arena_new(c->arena, struct kernel_call);
	*k = (struct kernel_call){.id = id, .type = type};
	call->space = SPACE_KERNEL;
	call->type = result_type(c, type->element);
	if (!type_is(call->type, TYPE_NONE) && !is_word(call->type))
		check_error(c, call->span, "%s() returns a %s, which a program cannot take",
			    call->name, check_type_text(c, call->type));
	if (call->nargs != type->count || call->nargs > MAX_ARGUMENTS)
		check_error(c, call->span, "Function `%s` requires %u arguments, got %s%u",
			    call->name, type->count, call->nargs < type->count ? "only " : "",
			    call->nargs);
	for (u32 i = 0; i < call->nargs && i < type->count; i++)
		check_argument(c, call->args[i], &type->members[i]);
	return true;
}

static ir_reg lower_argument(struct lower *l, struct expr *e, const struct type *t)
{
	struct value v;
	ir_reg r;

	lower_expr(l, e, &v);
	if (v.kind == VALUE_MEMORY && !type_is_scalar(v.type)) {
		v = lower_materialise(l, &v, e->span);
		return builtin_address(l, &v);
	}
	r = lower_to_register(l, &v);
	return type_is(t, TYPE_POINTER) ? r : lower_convert(l, r, v.type, t);
}

void kernel_call_lower(struct lower *l, struct expr *call, struct value *ret)
{
	const struct kernel_call *k = call->annotation;
	ir_reg args[MAX_ARGUMENTS] = {0}, r;

	for (u32 i = 0; i < call->nargs && i < MAX_ARGUMENTS; i++)
		args[i] = lower_argument(l, call->args[i], k->type->members[i].type);
	r = ir_call_kernel(l->f, k->id, call->nargs, args);
	if (type_is(call->type, TYPE_NONE))
		return;
	/* Only the low bytes of a smaller result are defined. */
	if (call->type->size < 8)
		r = ir_extend(l->f, r, call->type->size, call->type->is_signed);
	*ret = value_register(call->type, r);
}
