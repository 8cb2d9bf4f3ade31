/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where slots live. The kernel gives 512 bytes of stack to a program and everything it calls
 * together (check_max_stack_depth() of kernel/bpf/verifier.c); part of it must stay free for
 * spilled registers. What does not fit goes to the program's entry of the scratch map, each
 * function to its own region.
 */
#include "lang/emit.h"
#include "lang/ir_pass.h"

/* Bytes of stack for slots: alone in the program, main function of several, callback or subprogram.
 */
enum { BUDGET_ALONE = 256, BUDGET_MAIN = 160, BUDGET_CALLED = 96 };
/* A slot larger than this would leave no room for others. */
enum { LARGEST_STACK_SLOT = 64 };

static u32 slot_align(const struct ir_slot_info *s)
{
	return s->align >= 8 || s->align == 0 ? 8 : s->align >= 4 ? 4 : s->align >= 2 ? 2 : 1;
}

static void put_on_stack(struct ir_function *f, struct ir_slot_info *s)
{
	f->stack_slots = ALIGN_UP(f->stack_slots + s->size, slot_align(s));
	s->offset = -(s32)f->stack_slots;
	s->in_scratch = false;
}

static bool fits_on_stack(const struct ir_function *f, const struct ir_slot_info *s, u32 budget)
{
	if (s->force_stack)
		return true;
	if (s->force_scratch || s->size > LARGEST_STACK_SLOT)
		return false;
	return ALIGN_UP(f->stack_slots + s->size, slot_align(s)) <= budget;
}

static void assign_function(struct ir_program *p, struct ir_function *f, u32 budget)
{
	bool any = false;

	f->stack_slots = 0;
	for (size_t i = 0; i < f->slots.len; i++)
		if (f->slots.items[i].force_stack)
			put_on_stack(f, &f->slots.items[i]);
	for (size_t i = 0; i < f->slots.len; i++) {
		struct ir_slot_info *s = &f->slots.items[i];

		if (s->force_stack)
			continue;
		if (p->scratch_map == IR_NO_MAP || fits_on_stack(f, s, budget)) {
			put_on_stack(f, s);
			continue;
		}
		s->in_scratch = true;
		s->offset = (s32)p->scratch_size;
		p->scratch_size += ALIGN_UP(s->size, 8u);
		any = true;
	}
	if (any) {
		f->scratch_key = ir_slot(f, 4, 4, "scratch_key");
		put_on_stack(f, &vector_last(&f->slots));
	}
	f->stack_slots = ALIGN_UP(f->stack_slots, 8u);
}

void ir_assign_slots(struct ir_program *p)
{
	p->scratch_size = 0;
	for (size_t i = 0; i < p->functions.len; i++)
		assign_function(p, p->functions.items[i],
				p->functions.len == 1 ? BUDGET_ALONE
				: i		      ? BUDGET_CALLED
						      : BUDGET_MAIN);
}
