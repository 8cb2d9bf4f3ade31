/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a probe sees: its name, function, arguments and return value. */
#include "arch/arch.h"
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "lang/lower/internal.h"
#include "probe/variables.h"

/* ---- probe ---- */

static void check_probe(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_PROBE_NAME);
	if (!builtin_in_probe(c, call))
		return;
	c->unit->uses_probe = true;
	if (c->unit->probe_is_text && c->unit->ntargets == 1)
		builtin_set_string(c, call, c->unit->targets[0]->name,
				   strlen(c->unit->targets[0]->name));
}

static void lower_probe(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg cookie;

	if (l->unit->probe_is_text && l->unit->ntargets == 1) {
		builtin_lower_literal(l, call, ret);
		return;
	}
	if (l->unit->ntargets <= 1 || !l->unit->context.has_cookie) {
		*ret = value_constant(call->type,
				      l->unit->ntargets ? l->unit->targets[0]->cookie : 0);
		return;
	}
	if (l->unit->context.syscalls) {
		*ret = value_register(call->type, lower_syscall_cookie(l));
		return;
	}
	l->program->uses_cookie = true;
	cookie = ir_call_n(l->f, BPF_FUNC_get_attach_cookie, lower_context(l));
	if (l->unit->cookie_offset)
		cookie = ir_binary_imm(l->f, IR_ADD, cookie, (s32)l->unit->cookie_offset);
	*ret = value_register(call->type, cookie);
}

static void check_probetype(struct check *c, struct expr *call)
{
	const struct probe_provider *p = builtin_in_probe(c, call) ? unit_provider(c->unit) : NULL;
	const char *name = !p ? "special" : p->type ? p->type : p->name;

	builtin_set_string(c, call, name, strlen(name));
}

/* ---- func ---- */

static void check_func(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_KSYM);
	if (!builtin_in_probe(c, call))
		return;
	if (c->unit->context.space == SPACE_USER)
		call->type = type_simple(TYPE_USYM);
	c->unit->uses_function = true;
	if (!c->unit->context.has_function)
		check_error(c, call->span, "The func builtin can not be used with '%s' probes",
			    unit_provider(c->unit)->name);
	else if (!builtin_has_registers(c) && !c->options->features.get_func_ip)
		check_error(c, call->span,
			    "BPF_FUNC_get_func_ip not available for your kernel version. Consider "
			    "using the 'probe' builtin instead.");
}

/*
 * bpf_get_func_ip() returns the function for fentry, fexit and all returns; for a kprobe inside a
 * function (fn+off) it returns 0, and for a uprobe it exists since 6.6 only; there the instruction
 * pointer is right.
 */
static ir_reg function_address(struct lower *l)
{
	const struct probe_context *x = &l->unit->context;
	const bool registers = x->kind == CONTEXT_REGISTERS;
	u32 use_ip, end;
	ir_reg r;

	if (registers && !x->is_return && (x->space == SPACE_USER || !l->features->get_func_ip))
		return builtin_saved_register(l, arch_ip_offset(), 8);
	r = ir_move(l->f, ir_call_n(l->f, BPF_FUNC_get_func_ip, lower_context(l)));
	if (!registers || x->is_return)
		return r;
	use_ip = ir_block_new(l->f, "func.ip");
	end = ir_block_new(l->f, "func.end");
	ir_branch_imm(l->f, IR_EQ, r, 0, use_ip, end);
	ir_switch_to(l->f, use_ip);
	ir_assign(l->f, r, builtin_saved_register(l, arch_ip_offset(), 8));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return r;
}

static void lower_func(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg address = function_address(l), ids, slot;

	if (call->type->kind == TYPE_KSYM) {
		*ret = value_register(call->type, address);
		return;
	}
	lower_slot(l, call->type, "func", &slot);
	ir_store(l->f, slot, 0, 8, address);
	ids = builtin_current_ids(l);
	ir_store(l->f, slot, 8, 4, ir_binary_imm(l->f, IR_SHR, ids, 32));
	ir_store(l->f, slot, 12, 4, ids);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

/* ---- what vars and args show as a whole ---- */

enum { MAX_SHOWN = 512, MAX_SHOWN_TOGETHER = 2048 /* bytes of one variable, and of all */ };

/* Its own type, or the note that stands in its place. *budget: bytes that are left. */
static const struct type *shown_type(struct check *c, const struct location *at,
				     const struct type *t, u32 *budget)
{
	const char *note;

	if (!type_is_scalar(t))
		type_complete(c->types, t);
	if (type_is(t, TYPE_FLOAT) && (at->kind != LOCATION_ACCESS || t->size > 8))
		note = "float: cannot be shown";
	else if (at->kind == LOCATION_NONE)
		note = at->access ? access_short_reason(c->arena, at->access) : "cannot be read";
	else if (!t->size)
		note = "its size is known to the program only";
	else if (t->size > MIN(*budget, (u32)MAX_SHOWN))
		note = arena_printf(c->arena, "%u bytes: too large", t->size);
	else {
		*budget -= t->size;
		return t;
	}
	return type_note(c->types, arena_printf(c->arena, "<%s>", note));
}

/* All arguments as one record. */
static const struct type *all_arguments(struct check *c, const struct probe_context *x)
{
	const struct type *args = x->args, **types;
	u32 n = 0, budget = MAX_SHOWN_TOGETHER;
	const char **names;

	type_complete(c->types, args);
	names = arena_new_array(c->arena, const char *, args->count + 1);
	types = arena_new_array(c->arena, const struct type *, args->count + 1);
	for (u32 i = 0; i < args->count; i++) {
		if (!args->members[i].name)
			continue;
		names[n] = args->members[i].name;
		types[n++] = shown_type(c, &x->locations[i], args->members[i].type, &budget);
	}
	return type_record(c->types, names, types, n);
}

/* ---- vars ---- */

/* In the middle of a function `args` is its parameters there. */
static bool is_meant(const struct expr *call, const struct probe_variable *v)
{
	return !v->is.is_hidden && (!check_is_args(call) || v->is.kind == DEBUG_PARAMETER);
}

static void check_vars(struct check *c, struct expr *call)
{
	const struct probe_variable *all;
	const struct type **types;
	u32 n = 0, budget = MAX_SHOWN_TOGETHER;
	const char **names;

	call->type = type_none();
	if (!builtin_in_probe(c, call) || !check_has_variables(c, call))
		return;
	c->unit->uses_args = true;
	all = probe_all_variables(c->unit->context.place, c->types);
	for (const struct probe_variable *v = all; v; v = v->next)
		n += is_meant(call, v);
	names = arena_new_array(c->arena, const char *, n + 1);
	types = arena_new_array(c->arena, const struct type *, n + 1);
	n = 0;
	for (const struct probe_variable *v = all; v; v = v->next)
		if (is_meant(call, v)) {
			names[n] = v->is.name;
			types[n++] = shown_type(c, &v->location, v->is.type, &budget);
		}
	call->type = type_record(c->types, names, types, n);
	call->space = SPACE_BPF;
}

static void lower_vars(struct lower *l, struct expr *call, struct value *ret)
{
	const struct type *record = call->type;
	ir_reg slot;
	u32 n = 0;

	lower_slot(l, record, "vars", &slot);
	for (const struct probe_variable *p = probe_all_variables(l->unit->context.place, l->types);
	     p && n < record->count; p = p->next) {
		const struct type_member *m = &record->members[n];
		struct value v;

		if (!is_meant(call, p))
			continue;
		n++;
		if (type_is(m->type, TYPE_NOTE))
			continue;
		v = lower_located(l, &p->location, m->type);
		lower_store_value(l, slot, m->offset, m->type, &v, call->span);
	}
	*ret = value_memory(record, slot, 0, SPACE_BPF);
}

/* ---- args ---- */

static void check_args(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (!builtin_in_probe(c, call))
		return;
	c->unit->uses_args = true;
	if (c->unit->context.locations) {
		call->type = all_arguments(c, &c->unit->context);
		call->space = SPACE_BPF;
		return;
	}
	if (c->unit->context.args) {
		call->type = c->unit->context.args;
		call->space = SPACE_CONTEXT;
		return;
	}
	if (c->unit->context.place)
		check_vars(c, call);
	else if (unit_provider(c->unit)->has_types)
		check_error(c, call->span, "Cannot read function parameters");
	else
		check_error(c, call->span,
			    "The args builtin can only be used with tracepoint, rawtracepoint, "
			    "fentry/fexit, and uprobe probes (%s used here)",
			    unit_provider(c->unit)->name);
}

/* Reads each argument from its location into the layout of the record. */
static void lower_args(struct lower *l, struct expr *call, struct value *ret)
{
	const struct probe_context *x = &l->unit->context;
	const struct type *args = x->args, *record = call->type;
	ir_reg slot;

	if (!args) {
		lower_vars(l, call, ret);
		return;
	}
	if (!x->locations) {
		*ret = value_memory(args, lower_context(l), 0, SPACE_CONTEXT);
		return;
	}
	lower_slot(l, record, "args", &slot);
	for (u32 i = 0, n = 0; i < args->count && n < record->count; i++) {
		const struct type_member *m = &record->members[n];
		struct value v;

		if (!args->members[i].name)
			continue;
		n++;
		if (type_is(m->type, TYPE_NOTE))
			continue;
		v = lower_located(l, &x->locations[i], m->type);
		lower_store_value(l, slot, m->offset, m->type, &v, call->span);
	}
	*ret = value_memory(record, slot, 0, SPACE_BPF);
}

/* ---- arg0 ... arg9, sarg0 ... sarg9 ---- */

static u32 argument_number(const struct expr *call)
{
	const char *name = call->builtin->name;

	return (u32)strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

static void check_argument(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	if (!builtin_in_probe(c, call))
		return;
	if (c->unit->context.space == SPACE_USER)
		call->space = SPACE_USER;
	if (!c->unit->context.argn_count) {
		check_error(c, call->span,
			    "The %s builtin can only be used with 'kprobes', 'uprobes' and 'usdt' "
			    "probes",
			    call->builtin->name);
		if (c->unit->context.args)
			check_hint(c,
				   "this probe's arguments have names, as args.NAME: `pantrace "
				   "list -v '%s'` shows them",
				   c->unit->ntargets ? c->unit->targets[0]->name : "");
	} else if (argument_number(call) >= c->unit->context.argn_count) {
		check_error(c, call->span, "%s: this probe has only %u arguments",
			    call->builtin->name, c->unit->context.argn_count);
	} else if (!check_readable(&c->unit->context.argn[argument_number(call)], call->type)) {
		check_error(c, call->span, "%s can't be read here", call->builtin->name);
		check_hint(c, "it is in a floating-point register, thread-local, or at a symbol "
			      "that the file does not have");
	}
}

static void lower_argument(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type,
			      lower_location(l, &l->unit->context.argn[argument_number(call)]));
}

static void check_stack_argument(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	if (!builtin_in_probe(c, call))
		return;
	call->space = c->unit->context.space;
	if (c->unit->context.kind != CONTEXT_REGISTERS || c->unit->context.is_return ||
	    unit_provider(c->unit)->has_own_arguments) {
		check_error(c, call->span,
			    "The %s builtin can only be used with 'kprobes' and 'uprobes' probes",
			    call->builtin->name);
		return;
	}
	/* All arguments are on the stack, and each argN is right. */
	if (c->unit->context.argn[0].kind == LOCATION_MEMORY &&
	    c->unit->context.argn[0].size == 4) {
		check_error(c, call->span, "%s reads 64-bit arguments; this is a 32-bit program",
			    call->builtin->name);
		check_hint(c, "its arguments are arg0, arg1 ...");
		return;
	}
	check_warning(c, call->span,
		      "sarg can't be reliably used with functions whose arguments are not all 64 "
		      "bits wide");
}

static void lower_stack_argument(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 n = argument_number(call);
	u32 first = 0;
	ir_reg slot, result;

	lower_slot(l, type_int(8, false), "sarg", &slot);
	while (first < 32 && arch_argument_offset(first) >= 0)
		first++;
	result = lower_read(l, slot, 0, 8, builtin_saved_register(l, arch_sp_offset(), 8),
			    arch_stack_argument_offset(first + n), l->unit->context.space);
	lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, call->span);
	*ret = value_register(call->type, ir_load(l->f, slot, 0, 8, false));
}

/* ---- retval ---- */

static void check_retval(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	if (!builtin_in_probe(c, call))
		return;
	if (c->unit->context.retval_location.kind == LOCATION_NONE) {
		check_error(c, call->span,
			    "The retval builtin can only be used with 'kretprobe' and 'uretprobe' "
			    "and 'fentry' probes%s",
			    c->unit->context.kind == CONTEXT_TRACEPOINT
				    ? " (try to use args.ret instead)"
				    : "");
		return;
	}
	if (c->unit->context.retval && c->unit->context.retval->kind != TYPE_VOID)
		call->type = c->unit->context.retval;
	if (c->unit->context.space == SPACE_USER)
		call->space = SPACE_USER;
}

static void lower_retval(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg r = lower_location(l, &l->unit->context.retval_location);

	if (type_is_integer(call->type) && call->type->size < 8)
		r = ir_extend(l->f, r, call->type->size, call->type->is_signed);
	*ret = value_register(call->type, r);
}

#define ARGUMENT(n)                                                                               \
	{                                                                                         \
		"arg" #n, "uint64 arg" #n,                                                        \
			"Argument " #n " (counted from 0) of the traced function or USDT probe.", \
			"", VARIABLE_OR_CALL, 0, 0, check_argument, lower_argument                \
	}
#define STACK_ARGUMENT(n)                                                                        \
	{                                                                                        \
		"sarg" #n, "uint64 sarg" #n,                                                     \
			"Argument " #n                                                           \
			" (counted from 0) of those passed on the stack, for 64-bit arguments.", \
			"", VARIABLE_OR_CALL, 0, 0, check_stack_argument, lower_stack_argument   \
	}

const struct builtin builtins_context[] = {
	{"probe", "string probe", "Full name of the probe that fired, wildcards expanded.", "",
	 VARIABLE_OR_CALL, 0, 0, check_probe, lower_probe},
	{"probetype", "string probetype",
	 "Kind of the probe, such as \"kprobe\" or \"tracepoint\"; begin and end are \"special\".",
	 "", VARIABLE_OR_CALL, 0, 0, check_probetype, builtin_lower_literal},
	{"func", "ksym_t|usym_t func",
	 "The function that is traced (kprobe, uprobe, fentry and their returns).", "",
	 BUILTIN_MACHINE | VARIABLE_OR_CALL, 0, 0, check_func, lower_func},
	{"args", "struct args",
	 "The arguments by name: args.filename. As a whole it prints all of them.", "",
	 VARIABLE_OR_CALL, 0, 0, check_args, lower_args},
	{"vars", "struct vars",
	 "The variables of the source that are visible at a uprobe or kprobe: vars.count "
	 "is a local variable, a parameter or a global one, of the type that it has there. "
	 "As a whole it prints those of the function, floating-point ones too; what cannot "
	 "be shown has the reason in its place, as in .b = <optimised out>. It takes debug "
	 "information (-g), also in a file of its own.",
	 "", VARIABLE_OR_CALL, 0, 0, check_vars, lower_vars},
	ARGUMENT(0),
	ARGUMENT(1),
	ARGUMENT(2),
	ARGUMENT(3),
	ARGUMENT(4),
	ARGUMENT(5),
	ARGUMENT(6),
	ARGUMENT(7),
	ARGUMENT(8),
	ARGUMENT(9),
	ARGUMENT(10),
	ARGUMENT(11),
	STACK_ARGUMENT(0),
	STACK_ARGUMENT(1),
	STACK_ARGUMENT(2),
	STACK_ARGUMENT(3),
	STACK_ARGUMENT(4),
	STACK_ARGUMENT(5),
	STACK_ARGUMENT(6),
	STACK_ARGUMENT(7),
	STACK_ARGUMENT(8),
	STACK_ARGUMENT(9),
	{"retval", "uint64 retval",
	 "What the traced function returns (kretprobe, uretprobe: uint64; fexit: its own type).",
	 "", VARIABLE_OR_CALL, 0, 0, check_retval, lower_retval},
	{0},
};
