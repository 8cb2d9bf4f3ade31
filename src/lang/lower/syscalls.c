/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of single system calls on the raw tracepoint of all of them. The context is
 *
 *	sys_enter	struct pt_regs *regs, long number
 *	sys_exit	struct pt_regs *regs, long ret
 *
 * The kernel's own events ask for the number in the registers, and leave out calls of another ABI
 * (kernel/trace/trace_syscalls.c, trace_get_syscall_nr()); so does the guard.
 */
#include "lang/lower/internal.h"

/* Up to so many numbers are compared one by one; more are looked up. */
#define MAX_COMPARED 4

static ir_reg number(struct lower *l)
{
	const struct probe_syscalls *s = l->unit->context.syscalls;
	const ir_reg regs = ir_load(l->f, lower_context(l), 0, 8, false);

	return ir_load(l->f, regs, s->number_offset, 4, false);
}

/* The map from numbers to cookies + 1; made by the first question. */
static u32 table(struct lower *l)
{
	struct lower_private *private = lower_private(l);
	const struct unit *u = l->unit;
	u32 entries = 0, *contents;

	if (private->syscall_table)
		return private->syscall_table - 1;
	for (u32 i = 0; i < u->ntargets; i++)
		entries = MAX(entries, (u32)u->targets[i]->syscall + 1);
	contents = arena_new_array(l->arena, u32, entries);
	for (u32 i = 0; i < u->ntargets; i++)
		contents[u->targets[i]->syscall] = u->targets[i]->cookie + 1;
	vector_push(&l->script->maps, ((struct script_map){.role = MAP_JOIN,
							   .name = "syscalls",
							   .bpf_type = BPF_MAP_TYPE_ARRAY,
							   .key_size = 4,
							   .value_size = 4,
							   .max_entries = entries,
							   .contents = contents}));
	private->syscall_table = (u32)l->script->maps.len;
	return private->syscall_table - 1;
}

/* The element of the table: 0 if the number is beyond it. */
static ir_reg look_up(struct lower *l)
{
	const u32 found = ir_block_new(l->f, "in_table"), end = ir_block_new(l->f, "looked_up");
	const ir_reg result = ir_reg_new(l->f);
	ir_reg key, place;

	lower_slot(l, type_int(4, false), "syscall", &key);
	ir_store(l->f, key, 0, 4, number(l));
	ir_assign_const(l->f, result, 0);
	place = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, table(l)), key);
	ir_branch_imm(l->f, IR_NE, place, 0, found, end);
	ir_switch_to(l->f, found);
	ir_assign(l->f, result, ir_load(l->f, place, 0, 4, false));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

static void return_if_compat(struct lower *l)
{
	const struct probe_syscalls *s = l->unit->context.syscalls;
	const u32 native = ir_block_new(l->f, "native");
	ir_reg status;

	if (!s->compat)
		return;
	status = ir_load(l->f, ir_call(l->f, BPF_FUNC_get_current_task_btf, 0, NULL),
			 s->status_offset, 4, false);
	status = ir_binary_imm(l->f, IR_AND, status, s->compat);
	ir_branch_imm(l->f, IR_EQ, status, 0, native, l->return_block);
	ir_switch_to(l->f, native);
}

void lower_syscall_guard(struct lower *l)
{
	const struct unit *u = l->unit;
	const u32 wanted = ir_block_new(l->f, "wanted");
	ir_reg nr;

	if (u->ntargets > MAX_COMPARED) {
		ir_branch_imm(l->f, IR_NE, look_up(l), 0, wanted, l->return_block);
	} else {
		nr = number(l);
		for (u32 i = 0; i < u->ntargets; i++) {
			const bool is_last = i + 1 == u->ntargets;
			const u32 next = is_last ? l->return_block : ir_block_new(l->f, "number");

			ir_branch_imm(l->f, IR_EQ, nr, u->targets[i]->syscall, wanted, next);
			if (!is_last)
				ir_switch_to(l->f, next);
		}
	}
	ir_switch_to(l->f, wanted);
	return_if_compat(l);
}

ir_reg lower_syscall_cookie(struct lower *l)
{
	return ir_binary_imm(l->f, IR_SUB, look_up(l), 1);
}
