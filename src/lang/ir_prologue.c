/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that the back end adds at the entry of a function: parameters, context, the scratch entry.
 */
#include <linux/bpf.h>

#include "lang/ir_pass.h"

/* Arguments come in r1-r5, which the first call destroys: all are taken over before anything else.
 */
static void take_parameters(struct ir_function *f, struct ir_block *body, struct ir_block *entry)
{
	for (size_t k = 0; k < body->insns.len; k++) {
		struct ir_insn *insn = &body->insns.items[k];

		if (insn->op != IR_PARAM)
			continue;
		ir_push(f->arena, &entry->insns, *insn);
		*insn = (struct ir_insn){.op = IR_NOP};
	}
}

static bool replace_context(struct ir_function *f, ir_reg context)
{
	bool any = false;

	for (size_t b = 0; b < f->blocks.len; b++) {
		struct ir_block *block = &f->blocks.items[b];

		for (size_t k = 0; k < block->insns.len; k++) {
			struct ir_insn *insn = &block->insns.items[k];

			if (insn->op != IR_CONTEXT)
				continue;
			insn->op = IR_MOVE;
			insn->a = context;
			any = true;
		}
	}
	return any;
}

static bool uses_scratch(const struct ir_function *f)
{
	for (size_t b = 0; b < f->blocks.len; b++)
		for (size_t k = 0; k < f->blocks.items[b].insns.len; k++) {
			const struct ir_insn *insn = &f->blocks.items[b].insns.items[k];

			if (insn->op == IR_SLOT && f->slots.items[insn->imm].in_scratch)
				return true;
		}
	return false;
}

/* base = lookup(scratch_map, &scratch_index); if (!base) return. It cannot fail: the index is
 * within the array. */
static void look_up_scratch(struct ir_program *p, struct ir_function *f, u32 body)
{
	const u32 fail = ir_block_new(f, "no_scratch");
	ir_reg key, map;

	key = ir_slot_address(f, f->scratch_key);
	ir_store_imm(f, key, 0, 4, p->scratch_index);
	map = ir_map(f, p->scratch_map);
	f->scratch = ir_call_n(f, BPF_FUNC_map_lookup_elem, map, key);
	ir_branch_imm(f, IR_EQ, f->scratch, 0, fail, body);
	ir_switch_to(f, fail);
	/* 1 ends the iteration that calls a callback. */
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = f->is_callback});
}

void ir_add_prologue(struct ir_program *p, struct ir_function *f)
{
	const u32 body = ir_block_new(f, f->blocks.items[0].label);
	struct ir_block entry = {.label = "entry"};
	ir_reg context;

	f->blocks.items[body] = f->blocks.items[0];
	take_parameters(f, &f->blocks.items[body], &entry);
	f->blocks.items[0] = entry;
	for (size_t b = 1; b < f->blocks.len; b++) {
		struct ir_insn *last;

		if (!f->blocks.items[b].insns.len)
			continue;
		last = &vector_last(&f->blocks.items[b].insns);
		if ((last->op == IR_JUMP || last->op == IR_BRANCH) && !last->then)
			last->then = body;
		if (last->op == IR_BRANCH && !last->otherwise)
			last->otherwise = body;
	}
	ir_switch_to(f, 0);
	f->span = NO_SPAN;
	if (f == p->functions.items[0]) {
		context = ir_reg_new(f);
		if (replace_context(f, context))
			ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = context});
	}
	if (uses_scratch(f))
		look_up_scratch(p, f, body);
	else
		ir_jump(f, body);
}
