/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses to names, names to addresses. */
#include "arch/arch.h"
#include "binary/elf/file.h"
#include "kernel/symbols/ksyms.h"
#include "lang/builtin/util.h"

/* ---- ksym, usym ---- */

static void check_sym(struct check *c, struct expr *call)
{
	call->type = type_simple(call->builtin->name[0] == 'k' ? TYPE_KSYM : TYPE_USYM);
	if (check_known(c, call->args[0]) && !builtin_is_number(call->args[0]->type) &&
	    call->args[0]->type->kind != TYPE_KSYM)
		check_error(c, call->span, "%s() expects an integer or pointer argument",
			    call->builtin->name);
}

static void lower_ksym(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, lower_scalar(l, call->args[0]));
}

static void lower_usym(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg address = lower_scalar(l, call->args[0]), slot, ids;

	lower_slot(l, call->type, "usym", &slot);
	ir_store(l->f, slot, 0, 8, address);
	ids = builtin_current_ids(l);
	ir_store(l->f, slot, 8, 4, ir_binary_imm(l->f, IR_SHR, ids, 32));
	ir_store(l->f, slot, 12, 4, ids);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

/* ---- kaddr ---- */

static void check_kaddr(struct check *c, struct expr *call)
{
	const char *name;
	u64 address;

	call->type = type_int(8, false);
	call->space = SPACE_KERNEL;
	if (!check_arg_literal_string(c, call, 0) || !c->final)
		return;
	name = builtin_literal(call->args[0]);
	address = name ? kernel_symbol_address(c->options->env->kernel, name) : 0;
	if (!address) {
		check_error(c, call->span, "Failed to resolve kernel symbol: %s", name ? name : "");
		check_hint(c, "all kernel symbols are in /proc/kallsyms, which shows addresses "
			      "only to the privileged (kernel.kptr_restrict)");
		return;
	}
	builtin_set_integer(call, call->type, address);
}

/* ---- percpu_kaddr ---- */

struct percpu_plan {
	u64 base, offsets; /* of the variable in the per-CPU area; of __per_cpu_offset[] */
	u32 cpus;
};

static void check_percpu_kaddr(struct check *c, struct expr *call)
{
	struct percpu_plan *plan = call->annotation;
	struct kernel *k = c->options->env->kernel;
	const struct type *variable;
	const char *name;

	call->type = type_int(8, false);
	call->space = SPACE_KERNEL;
	if (!check_arg_literal_string(c, call, 0))
		return;
	name = builtin_literal(call->args[0]);
	variable = name ? btf_find_variable(c->options->env->btf, name) : NULL;
	if (!variable) {
		check_error(c, call->span, "Could not resolve variable \"%s\" from BTF",
			    name ? name : "");
		return;
	}
	call->type = type_pointer(c->types, variable, SPACE_KERNEL);
	if (call->nargs > 1 && check_known(c, call->args[1]))
		check_arg_integer(c, call, 1);
	if (!c->final)
		return;
	if (!plan)
		call->annotation = plan = arena_new(c->arena, struct percpu_plan);
	plan->base = kernel_symbol_address(k, name);
	plan->offsets = kernel_symbol_address(k, "__per_cpu_offset");
	plan->cpus = kernel_possible_cpus(k);
	/* x86-64 kernels before 6.15 have per-CPU symbols that are offsets, which may be 0. */
	if (!plan->offsets)
		check_error(c, call->span, "Failed to resolve kernel symbol: %s",
			    "__per_cpu_offset");
}

/* per_cpu_ptr(): &variable + __per_cpu_offset[cpu]; 0 if there is no such CPU. */
static void lower_percpu_kaddr(struct lower *l, struct expr *call, struct value *ret)
{
	const struct percpu_plan *plan = call->annotation;
	const u32 valid = ir_block_new(l->f, "percpu.valid"),
		  end = ir_block_new(l->f, "percpu.end");
	ir_reg cpu, offset, slot, r = ir_reg_new(l->f);

	cpu = call->nargs > 1 ? lower_scalar(l, call->args[1])
			      : ir_call(l->f, BPF_FUNC_get_smp_processor_id, 0, NULL);
	ir_assign_const(l->f, r, 0);
	ir_branch_imm(l->f, IR_LT, cpu, plan->cpus, valid, end);
	ir_switch_to(l->f, valid);
	offset = ir_binary(l->f, IR_ADD, ir_binary_imm(l->f, IR_SHL, cpu, 3),
			   ir_const(l->f, plan->offsets));
	lower_slot(l, type_int(8, false), "percpu", &slot);
	lower_read(l, slot, 0, 8, offset, 0, SPACE_KERNEL);
	offset = ir_load(l->f, slot, 0, 8, false);
	ir_assign(l->f, r, ir_binary(l->f, IR_ADD, offset, ir_const(l->f, plan->base)));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	*ret = value_register(call->type, r);
}

/* ---- uaddr ---- */

struct uaddr_plan {
	u64 address; /* of the symbol in the file */
	u64 probe; /* of the probed instruction in the file */
	u32 size; /* of what the pointer points to */
	bool is_dynamic; /* loaded anywhere: the difference to the running instruction pointer
			    counts */
};

static const char *resolve_uaddr(struct check *c, const struct probe_target *t, const char *name,
				 struct uaddr_plan *plan)
{
	struct elf_file *f;
	struct elf_symbol s;
	const char *why = NULL;

	if (elf_file_open(t->path, &f))
		return arena_printf(c->arena, "cannot read '%s'", t->path);
	if (elf_file_find_symbol(f, name, &s)) {
		why = arena_printf(c->arena, "Could not resolve symbol: %s:%s", t->path, name);
	} else if (elf_file_is_dynamic(f) && elf_file_address(f, t->address, &plan->probe)) {
		why = arena_printf(c->arena, "cannot find the probe's address in '%s'", t->path);
	} else {
		plan->address = s.address;
		plan->is_dynamic = elf_file_is_dynamic(f);
		plan->size = s.size == 1 || s.size == 2 || s.size == 4 ? s.size : 8;
	}
	elf_file_close(f);
	return why;
}

static void check_uaddr(struct check *c, struct expr *call)
{
	const struct unit *u = c->unit;
	struct uaddr_plan *plan = call->annotation;
	const char *name, *why;

	call->type = type_pointer(c->types, type_int(8, false), SPACE_USER);
	if (!check_arg_literal_string(c, call, 0))
		return;
	if (u->context.kind != CONTEXT_REGISTERS || u->context.space != SPACE_USER ||
	    !u->ntargets || !u->targets[0]->path) {
		check_error(c, call->span, "uaddr can not be used with \"%s\" probes",
			    unit_provider(u)->name);
		return;
	}
	if (plan) { /* resolved in an earlier pass */
		call->type = type_pointer(c->types, type_int(plan->size, false), SPACE_USER);
		return;
	}
	plan = arena_new(c->arena, struct uaddr_plan);
	name = builtin_literal(call->args[0]);
	why = resolve_uaddr(c, u->targets[0], name ? name : "", plan);
	if (why) {
		check_error(c, call->span, "%s", why);
		return;
	}
	if (plan->is_dynamic && (u->context.is_return || u->ntargets > 1)) {
		check_error(c, call->span,
			    "uaddr(): '%s' is loaded at any address, which only an entry probe of "
			    "one function can tell",
			    u->targets[0]->path);
		check_hint(c, "use one uprobe:FILE:FUNCTION without a wildcard");
		return;
	}
	call->annotation = plan;
	call->type = type_pointer(c->types, type_int(plan->size, false), SPACE_USER);
}

static void lower_uaddr(struct lower *l, struct expr *call, struct value *ret)
{
	const struct uaddr_plan *plan = call->annotation;
	const struct location ip = {
		.kind = LOCATION_REGISTER, .size = 8, .offset = arch_ip_offset()};
	ir_reg r;

	if (!plan->is_dynamic) {
		*ret = value_register(call->type, ir_const(l->f, plan->address));
		return;
	}
	r = lower_location(l, &ip);
	r = ir_binary(l->f, IR_ADD, r, ir_const(l->f, plan->address - plan->probe));
	*ret = value_register(call->type, r);
}

const struct builtin builtins_symbol[] = {
	{"ksym", "ksym_t ksym(uint64 address)",
	 "The kernel function that contains an address, named when it is printed.", "",
	 BUILTIN_MACHINE | BUILTIN_CALL, 1, 1, check_sym, lower_ksym},
	{"usym", "usym_t usym(uint64 address)",
	 "The function of the current process that contains an address, named when it is printed.",
	 "", BUILTIN_MACHINE | BUILTIN_CALL, 1, 1, check_sym, lower_usym},
	{"kaddr", "uint64 kaddr(\"symbol\")",
	 "Address of a kernel symbol; found when the script is compiled.", "",
	 BUILTIN_MACHINE | BUILTIN_CALL, 1, 1, check_kaddr, builtin_lower_literal},
	{"uaddr", "T *uaddr(\"symbol\")",
	 "Address of a symbol of the traced program or library; the pointee has the symbol's size "
	 "(uprobe, usdt).",
	 "", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_uaddr, lower_uaddr},
	{"percpu_kaddr", "T *percpu_kaddr(\"variable\" [, uint64 cpu])",
	 "Address of a per-CPU variable of the kernel on this or another CPU; 0 if there is no "
	 "such CPU.",
	 "", BUILTIN_LIVE | BUILTIN_CALL, 1, 2, check_percpu_kaddr, lower_percpu_kaddr},
	{0},
};
