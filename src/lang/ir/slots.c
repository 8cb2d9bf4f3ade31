/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where slots live. The kernel gives 512 bytes of stack to a program and all functions that it
 * calls together (check_max_stack_depth() of kernel/bpf/verifier.c); a part must stay free for
 * spilled registers. Slots that do not fit go to the program's entry of the scratch map, each
 * function to its own region. Slots that are never in use at the same time share a place.
 */
#include "lang/bpf/emit.h"
#include "lang/ir/pass.h"

/*
 * Bytes of stack for the main function and for those that it calls, by how deep they nest: the sum
 * is at most
 * 512. Multiples of 32 because the kernel rounds up.
 */
static const struct share {
	u32 main, called;
} shares[] = {{512, 0},	 {320, 192}, {288, 96}, {224, 96},
	      {256, 64}, {192, 64},  {128, 64}, {96, 32}};
/* A slot larger than this would leave no room for others. */
enum { LARGEST_STACK_SLOT = 64 };
/* What a register in `taint` may point to. */
enum { NO_SLOT = 0, SEVERAL = UINT32_MAX };

struct placed {
	u32 offset, size;
	struct ir_stretch use;
};

struct places {
	VECTOR(struct placed) list;
	u32 size; /* bytes in all */
};

struct assigner {
	struct ir_function *f;
	struct arena arena;
	struct ir_stretches stretches;
	u32 *taint; /* per register: 1 + slot into which it points */
	struct ir_stretch *use; /* per slot */
	bool *escaped; /* per slot: its address was stored somewhere */
	bool changed;
};

static void escape(struct assigner *as, u32 taint)
{
	if (taint && taint != SEVERAL)
		as->escaped[taint - 1] = true;
}

static void set_taint(struct assigner *as, ir_reg r, u32 taint)
{
	u32 *t = &as->taint[r];

	if (!taint || *t == taint || *t == SEVERAL)
		return;
	as->changed = true;
	if (!*t) {
		*t = taint;
		return;
	}
	/* Two slots: neither can be followed any further. */
	escape(as, *t);
	escape(as, taint);
	*t = SEVERAL;
}

static void follow(struct assigner *as, struct ir_insn *insn)
{
	ir_reg *operands[IR_MAX_OPERANDS];
	const u32 a = as->taint[insn->a], b = as->taint[insn->b];

	switch (insn->op) {
	case IR_SLOT:
		set_taint(as, insn->dst, 1 + (u32)insn->imm);
		break;
	case IR_MOVE:
	case IR_ADD:
	case IR_SUB:
		if (as->taint[insn->dst] == SEVERAL) {
			escape(as, a);
			escape(as, b);
		}
		set_taint(as, insn->dst, a);
		set_taint(as, insn->dst, b);
		break;
	case IR_LOAD:
	case IR_STORE_IMM:
	case IR_CALL:
	case IR_CALL_FUNCTION:
	case IR_BRANCH:
		break;
	case IR_STORE:
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_CMPXCHG:
		escape(as, b);
		escape(as, as->taint[insn->c]);
		break;
	default:
		for (u32 i = ir_operands(insn, operands); i-- > 0;)
			escape(as, as->taint[*operands[i]]);
		break;
	}
}

/* Finds out where each slot is in use. */
static void find_uses(struct assigner *as)
{
	struct ir_function *f = as->f;
	const u32 end = as->stretches.first[f->blocks.len];
	ir_reg *operands[IR_MAX_OPERANDS];

	do {
		as->changed = false;
		for (size_t b = 0; b < f->blocks.len; b++)
			for (size_t k = 0; k < f->blocks.items[b].insns.len; k++)
				follow(as, &f->blocks.items[b].insns.items[k]);
	} while (as->changed);
	for (u32 b = 0; b < f->blocks.len; b++)
		for (u32 k = 0; k < f->blocks.items[b].insns.len; k++) {
			struct ir_insn *insn = &f->blocks.items[b].insns.items[k];

			for (u32 i = ir_operands(insn, operands); i-- > 0;) {
				const u32 t = as->taint[*operands[i]];

				if (t && t != SEVERAL)
					ir_stretch_use(&as->stretches, &as->use[t - 1], b,
						       as->stretches.first[b] + k);
			}
		}
	for (size_t i = 0; i < f->slots.len; i++)
		if (as->escaped[i])
			as->use[i] = (struct ir_stretch){0, end + 1};
}

static u32 slot_align(const struct ir_slot_info *s)
{
	return s->align >= 8 || s->align == 0 ? 8 : s->align >= 4 ? 4 : s->align >= 2 ? 2 : 1;
}

static bool overlaps(const struct ir_stretch *a, const struct ir_stretch *b)
{
	return a->start < b->end && b->start < a->end;
}

static int compare_placed(const void *a, const void *b)
{
	const struct placed *const *x = a, *const *y = b;

	return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

/*
 * The lowest place that is free during its use. Offsets grow upwards; align_end: on the stack,
 * which is addressed downwards, the end of the slot must be aligned.
 */
static u32 find_place(struct places *p, const struct ir_slot_info *s, const struct ir_stretch *use,
		      bool align_end)
{
	const u32 align = align_end ? slot_align(s) : 8;
	const struct placed **near;
	u32 n = 0, at = 0;

	/*
	 * Slots come in the order in which their use begins: those whose use has ended are no
	 * longer in the way.
	 */
	for (size_t i = 0; i < p->list.len; i++)
		if (p->list.items[i].use.end > use->start)
			p->list.items[n++] = p->list.items[i];
	p->list.len = n;
	near = xreallocarray(NULL, (size_t)n + 1, sizeof(*near));
	n = 0;
	for (size_t i = 0; i < p->list.len; i++)
		if (overlaps(&p->list.items[i].use, use))
			near[n++] = &p->list.items[i];
	qsort(near, n, sizeof(struct placed *), compare_placed);
	for (u32 i = 0;; i++) {
		at = align_end ? ALIGN_UP(at + s->size, align) - s->size : ALIGN_UP(at, align);
		if (i == n || at + s->size <= near[i]->offset)
			break;
		at = MAX(at, near[i]->offset + near[i]->size);
	}
	free(near);
	return at;
}

static void occupy(struct places *p, u32 offset, u32 size, const struct ir_stretch *use)
{
	vector_push(&p->list, (struct placed){offset, size, *use});
	p->size = MAX(p->size, offset + size);
}

static void put_on_stack(struct places *stack, struct ir_slot_info *s, const struct ir_stretch *use,
			 u32 at)
{
	occupy(stack, at, s->size, use);
	s->in_scratch = false;
	s->offset = -(s32)(at + s->size);
}

static void place_slot(struct ir_program *p, struct assigner *as, u32 slot, u32 budget,
		       struct places *stack, struct places *scratch)
{
	struct ir_slot_info *s = &as->f->slots.items[slot];
	const struct ir_stretch *use = &as->use[slot];
	const bool small = s->size <= LARGEST_STACK_SLOT && !s->force_scratch;
	u32 at;

	if (!use->end) /* never used */
		return;
	if (s->force_stack || small || p->scratch_map == IR_NO_MAP) {
		at = find_place(stack, s, use, true);
		if (s->force_stack || p->scratch_map == IR_NO_MAP || at + s->size <= budget) {
			put_on_stack(stack, s, use, at);
			return;
		}
	}
	at = find_place(scratch, s, use, false);
	occupy(scratch, at, s->size, use);
	s->in_scratch = true;
	s->offset = (s32)(p->scratch_size + at);
}

struct slot_order {
	bool anywhere; /* not bound to the stack */
	u32 start, slot;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot_order *x = a, *y = b;

	if (x->anywhere != y->anywhere)
		return x->anywhere ? 1 : -1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/*
 * Slots that must be on the stack come first; for the order they count as in use from the
 * beginning.
 */
static const struct slot_order *order_slots(struct assigner *as)
{
	const size_t n = as->f->slots.len;
	struct slot_order *order = arena_new_array(&as->arena, struct slot_order, n + 1);

	for (u32 i = 0; i < n; i++) {
		const bool on_stack = as->f->slots.items[i].force_stack;

		if (on_stack && as->use[i].end)
			as->use[i].start = 0;
		order[i] = (struct slot_order){!on_stack, as->use[i].start, i};
	}
	qsort(order, n, sizeof(*order), compare_slots);
	return order;
}

static void assign_function(struct ir_program *p, struct ir_function *f, u32 share)
{
	u32 budget = share / 8 * 5;
	struct assigner as = {.f = f};
	struct places stack = {0}, scratch = {0};
	const struct slot_order *order;
	u8 *depth;

	ir_order_blocks(f, &depth, &as.arena);
	budget = ir_relieve_pressure(f, share, budget, &as.arena);
	ir_stretches_begin(&as.stretches, f, &as.arena);
	as.taint = arena_new_array(&as.arena, u32, f->nregs + 1);
	as.use = arena_new_array(&as.arena, struct ir_stretch, f->slots.len + 1);
	as.escaped = arena_new_array(&as.arena, bool, f->slots.len + 1);
	find_uses(&as);
	order = order_slots(&as);
	for (u32 i = 0; i < f->slots.len; i++)
		place_slot(p, &as, order[i].slot, budget, &stack, &scratch);
	if (scratch.size) {
		/*
		 * The place of the lookup is decided later, so the key shares its place with
		 * nothing.
		 */
		const struct ir_stretch always = {0, UINT32_MAX};
		struct ir_slot_info *key;

		f->scratch_key = ir_slot(f, 4, 4, "scratch_key");
		key = &vector_last(&f->slots);
		put_on_stack(&stack, key, &always, ALIGN_UP(stack.size, 4u));
	}
	f->stack_slots = ALIGN_UP(stack.size, 8u);
	p->scratch_size += ALIGN_UP(scratch.size, 8u);
	vector_free(&stack.list);
	vector_free(&scratch.list);
	arena_release(&as.arena);
}

/* How many functions are on the stack above f at most. */
static u32 nesting(const struct ir_program *p, const struct ir_function *f, u32 limit)
{
	u32 deepest = 0;

	for (size_t b = 0; b < f->blocks.len && limit; b++)
		for (size_t k = 0; k < f->blocks.items[b].insns.len; k++) {
			const struct ir_insn *insn = &f->blocks.items[b].insns.items[k];

			if (insn->op == IR_CALL_FUNCTION || insn->op == IR_FUNCTION)
				deepest = MAX(deepest, 1 + nesting(p, p->functions.items[insn->imm],
								   limit - 1));
		}
	return deepest;
}

void ir_assign_slots(struct ir_program *p)
{
	const struct share *share;

	p->scratch_size = 0;
	if (ir_verify(p->arena, p)) /* emit_program() reports it */
		return;
	share = &shares[nesting(p, p->functions.items[0], ARRAY_SIZE(shares) - 1)];
	for (size_t i = 0; i < p->functions.len; i++)
		assign_function(p, p->functions.items[i], i ? share->called : share->main);
}
