/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that the back end adds at the entry of a function: parameters, context, the scratch entry.
 */
#include <linux/bpf.h>

#include "lang/ir/pass.h"

/* Arguments come in r1-r5, which the first call overwrites: all are copied before anything else. */
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

/* ---- the scratch entry ---- */

/* Blocks are in reverse post-order, so a dominator has a smaller number (Cooper, Harvey, Kennedy: A
 * Simple, Fast Dominance Algorithm). */
static u32 common_dominator(const u32 *idom, u32 a, u32 b)
{
	while (a != b) {
		if (a > b)
			a = idom[a];
		else
			b = idom[b];
	}
	return a;
}

static u32 *find_dominators(const struct ir_function *f, struct arena *a)
{
	u32 *idom = arena_new_array(a, u32, f->blocks.len + 1), succ[2];
	bool changed = true;

	for (size_t b = 1; b < f->blocks.len; b++)
		idom[b] = UINT32_MAX;
	while (changed) {
		changed = false;
		for (u32 b = 0; b < f->blocks.len; b++)
			for (u32 i = ir_successors(&f->blocks.items[b], succ); i-- > 0;) {
				const u32 s = succ[i];
				const u32 d = idom[s] == UINT32_MAX
						      ? b
						      : common_dominator(idom, idom[s], b);

				changed |= s && d != idom[s];
				if (s)
					idom[s] = d;
			}
	}
	return idom;
}

static bool uses_scratch(const struct ir_function *f, const struct ir_insn *insn)
{
	return insn->op == IR_SLOT && f->slots.items[insn->imm].in_scratch;
}

/*
 * A program must not end while it holds a record, so the lookup of scratch memory, which may fail,
 * must come before.
 */
static bool takes_record(const struct ir_insn *insn)
{
	return insn->op == IR_CALL && !insn->is_kernel && insn->imm == BPF_FUNC_ringbuf_reserve;
}

/*
 * Index of the first instruction in b that needs the scratch entry, or that it must precede; the
 * number of instructions if there is none.
 */
static u32 first_use(const struct ir_function *f, u32 b)
{
	const struct ir_block *block = &f->blocks.items[b];
	u32 k;

	for (k = 0; k < block->insns.len; k++)
		if (uses_scratch(f, &block->insns.items[k]) || takes_record(&block->insns.items[k]))
			break;
	return k;
}

static bool needs_scratch(const struct ir_function *f)
{
	for (u32 b = 0; b < f->blocks.len; b++)
		for (u32 k = 0; k < f->blocks.items[b].insns.len; k++)
			if (uses_scratch(f, &f->blocks.items[b].insns.items[k]))
				return true;
	return false;
}

/*
 * The place that dominates all uses, as late as possible so that events that a predicate rejects do
 * not pay for it, but outside of loops. Returns false if the function needs no scratch memory.
 */
static bool find_scratch_place(const struct ir_function *f, u32 *ret_block, u32 *ret_insn)
{
	struct arena arena = ARENA_INIT;
	struct ir_stretches stretches;
	u32 *idom, place = UINT32_MAX;

	if (!needs_scratch(f))
		return false;
	for (u32 b = 0; b < f->blocks.len; b++)
		if (first_use(f, b) < f->blocks.items[b].insns.len)
			place = b;
	idom = find_dominators(f, &arena);
	for (u32 b = 0; b < place; b++)
		if (first_use(f, b) < f->blocks.items[b].insns.len)
			place = common_dominator(idom, place, b);
	ir_stretches_begin(&stretches, f, &arena);
	while (place && stretches.region_of[place])
		place = idom[place];
	*ret_block = place;
	*ret_insn = stretches.region_of[place] ? 0 : first_use(f, place);
	/* Not used in that block: just before it branches. */
	*ret_insn = MIN(*ret_insn, (u32)f->blocks.items[place].insns.len - 1);
	arena_release(&arena);
	return true;
}

/* A program stays on one CPU until it ends. */
static ir_reg index_of_cpu(const struct ir_program *p, struct ir_function *f)
{
	const ir_reg cpu = ir_call(f, BPF_FUNC_get_smp_processor_id, 0, NULL);

	return ir_binary_imm(f, IR_ADD, ir_binary_imm(f, IR_MUL, cpu, p->scratch_stride),
			     p->scratch_index);
}

/* The program's memory: 0 if there is none (task storage that could not be allocated). */
static ir_reg scratch_address(struct ir_program *p, struct ir_function *f, ir_reg key)
{
	ir_reg task;

	if (!p->scratch_of_task) {
		if (p->scratch_stride)
			ir_store(f, key, 0, 4, index_of_cpu(p, f));
		else
			ir_store_imm(f, key, 0, 4, p->scratch_index);
		return ir_call_n(f, BPF_FUNC_map_lookup_elem, ir_map(f, p->scratch_map), key);
	}
	task = ir_call(f, BPF_FUNC_get_current_task_btf, 0, NULL);
	return ir_call_n(f, BPF_FUNC_task_storage_get, ir_map(f, p->scratch_map), task,
			 ir_const(f, 0), ir_const(f, BPF_LOCAL_STORAGE_GET_F_CREATE));
}

/* A run without scratch memory sends nothing: it counts as a lost event. */
static void count_lost(struct ir_program *p, struct ir_function *f, ir_reg key)
{
	const u32 found = ir_block_new(f, "lost"), end = ir_block_new(f, "lost.end");
	ir_reg counter;

	if (!p->scratch_of_task || p->lost_map == IR_NO_MAP)
		return;
	ir_store_imm(f, key, 0, 4, p->lost_index);
	counter = ir_call_n(f, BPF_FUNC_map_lookup_elem, ir_map(f, p->lost_map), key);
	ir_branch_imm(f, IR_NE, counter, 0, found, end);
	ir_switch_to(f, found);
	ir_add(f,
	       (struct ir_insn){.op = IR_ATOMIC_ADD, .size = 8, .a = counter, .b = ir_const(f, 1)});
	ir_jump(f, end);
	ir_switch_to(f, end);
}

/* base = address of the scratch memory; if (!base) return. */
static void look_up_scratch(struct ir_program *p, struct ir_function *f, u32 block, u32 insn)
{
	const u32 fail = ir_block_new(f, "no_scratch"), rest = ir_block_new(f, "scratch");
	struct ir_block *b = &f->blocks.items[block];
	ir_reg key;

	for (u32 k = insn; k < b->insns.len; k++)
		ir_push(f->arena, &f->blocks.items[rest].insns, b->insns.items[k]);
	b->insns.len = insn;
	ir_switch_to(f, block);
	key = ir_slot_address(f, f->scratch_key);
	f->scratch = scratch_address(p, f, key);
	ir_branch_imm(f, IR_EQ, f->scratch, 0, fail, rest);
	ir_switch_to(f, fail);
	count_lost(p, f, key);
	/* 1 ends the iteration that called the callback. */
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = f->is_callback ? 1 : p->result});
}

/* Jumps to the entry go to its successor instead, so that the entry runs once. */
static void redirect_entry(struct ir_function *f, u32 body)
{
	for (size_t b = 1; b < f->blocks.len; b++) {
		struct ir_insn *last = &vector_last(&f->blocks.items[b].insns);

		if ((last->op == IR_JUMP || last->op == IR_BRANCH) && !last->then)
			last->then = body;
		if (last->op == IR_BRANCH && !last->otherwise)
			last->otherwise = body;
	}
}

void ir_add_prologue(struct ir_program *p, struct ir_function *f)
{
	u32 place = 0, insn = 0, body;
	const bool has_scratch = find_scratch_place(f, &place, &insn);
	struct ir_block entry = {.label = "entry"};
	ir_reg context;

	f->span = NO_SPAN;
	body = ir_block_new(f, f->blocks.items[0].label);
	f->blocks.items[body] = f->blocks.items[0];
	take_parameters(f, &f->blocks.items[body], &entry);
	f->blocks.items[0] = entry;
	redirect_entry(f, body);
	ir_switch_to(f, 0);
	if (f == p->functions.items[0]) {
		context = ir_reg_new(f);
		if (replace_context(f, context))
			ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = context});
	}
	ir_jump(f, body);
	if (!has_scratch)
		return;
	/* In a loop that begins with the entry: before the loop. */
	if (!place && !insn)
		look_up_scratch(p, f, 0, (u32)f->blocks.items[0].insns.len - 1);
	else
		look_up_scratch(p, f, place ? place : body, insn);
}
