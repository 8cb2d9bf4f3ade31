/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of the traced code, and the context that the kernel gives a program. */
#include "arch/arch.h"
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "lang/lower/internal.h"

bool builtin_has_registers(const struct check *c)
{
	return c->unit->context.kind == CONTEXT_REGISTERS ||
	       c->unit->context.kind == CONTEXT_PERF_EVENT;
}

ir_reg builtin_saved_register(struct lower *l, u32 offset, u8 size)
{
	const struct location loc = {.kind = LOCATION_REGISTER, .size = size, .offset = offset};

	return lower_location(l, &loc);
}

/* ---- ctx ---- */

static void check_ctx(struct check *c, struct expr *call)
{
	const char *name = NULL;
	const struct type *t;

	call->type = type_int(8, false);
	if (!builtin_in_probe(c, call))
		return;
	switch (c->unit->context.kind) {
	case CONTEXT_REGISTERS:
		name = "struct pt_regs";
		break;
	case CONTEXT_PERF_EVENT:
		name = "struct bpf_perf_event_data";
		break;
	case CONTEXT_ITERATOR:
		if (c->unit->context.args)
			name = c->unit->context.args->name;
		if (name && !str_starts(name, "struct "))
			name = arena_printf(c->arena, "struct %s", name);
		break;
	case CONTEXT_TRACEPOINT:
		check_error(c, call->span, "Use args instead of ctx in tracepoint");
		return;
	default:
		check_error(c, call->span, "The ctx builtin can not be used with '%s' probes",
			    unit_provider(c->unit)->name);
		return;
	}
	t = name ? type_named(c->types, name) : NULL;
	call->type = type_pointer(c->types, t ? t : type_void(), SPACE_CONTEXT);
}

static void lower_ctx(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, lower_context(l));
}

/* ---- registers ---- */

static void check_reg(struct check *c, struct expr *call)
{
	const struct arch_register *r;
	const char *name;

	call->type = type_int(8, false);
	if (!check_arg_literal_string(c, call, 0) || !builtin_in_probe(c, call))
		return;
	if (c->unit->context.space == SPACE_USER)
		call->space = SPACE_USER;
	if (!builtin_has_registers(c)) {
		check_error(c, call->span, "reg can not be used with \"%s\" probes",
			    unit_provider(c->unit)->name);
		return;
	}
	name = builtin_literal(call->args[0]);
	r = name ? arch_register_find(name) : NULL;
	if (!r)
		check_error(c, call->span, "'%s' is not a valid register on this architecture",
			    name ? name : "");
	call->annotation = (void *)r;
}

static void lower_reg(struct lower *l, struct expr *call, struct value *ret)
{
	const struct arch_register *a = call->annotation;
	ir_reg r = builtin_saved_register(l, a->offset, a->shift ? 8 : a->size);

	if (a->shift)
		r = ir_extend(l->f, ir_binary_imm(l->f, IR_SHR, r, a->shift), a->size, false);
	*ret = value_register(call->type, r);
}

static void check_usermode(struct check *c, struct expr *call)
{
	call->type = type_int(1, false);
	if (!builtin_in_probe(c, call))
		return;
	call->annotation = (void *)arch_register_find("cs");
	if (!call->annotation)
		check_error(c, call->span, "'usermode' builtin is only supported on x86_64");
	else if (c->unit->context.kind == CONTEXT_NONE)
		builtin_set_integer(call, call->type, 1);
	else if (!builtin_has_registers(c) || (c->unit->context.kind == CONTEXT_REGISTERS &&
					       c->unit->context.space == SPACE_KERNEL))
		/* hooks in the kernel's own code */
		builtin_set_integer(call, call->type, 0);
}

/* The two low bits of the code segment are the privilege level: 3 in user mode. */
static void lower_usermode(struct lower *l, struct expr *call, struct value *ret)
{
	const struct arch_register *cs = call->annotation;
	ir_reg r = ir_binary_imm(l->f, IR_AND, builtin_saved_register(l, cs->offset, 8), 3);

	*ret = value_register(call->type, builtin_test(l, IR_EQ, r, 3));
}

static void check_override(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
	if (builtin_in_probe(c, call) && !unit_provider(c->unit)->can_override)
		check_error(c, call->span, "override() can only be used inside kprobes");
}

static void lower_override(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg rc = lower_scalar(l, call->args[0]);

	ir_call_n(l->f, BPF_FUNC_override_return, lower_context(l), rc);
	*ret = (struct value){0};
}

const struct builtin builtins_registers[] = {
	{"ctx", "void *ctx",
	 "The program's context: struct pt_regs, struct bpf_perf_event_data or struct "
	 "bpf_iter__NAME.",
	 "", VARIABLE_OR_CALL, 0, 0, check_ctx, lower_ctx},
	{"reg", "uint64 reg(\"name\")",
	 "A register of the traced code, such as reg(\"ip\") (kprobe, uprobe, usdt, profile, "
	 "software).",
	 "", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_reg, lower_reg},
	{"usermode", "uint8 usermode",
	 "1 if the interrupted code ran in user mode, else 0 (x86-64).", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_usermode, lower_usermode},
	{"override", "void override(uint64 rc)",
	 "The probed function is not executed and returns rc instead (kprobe on functions that "
	 "allow error injection).",
	 "4.16", BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_UNSAFE | BUILTIN_LIBRARY | BUILTIN_STATEMENT,
	 1, 1, check_override, lower_override},
	{0},
};
