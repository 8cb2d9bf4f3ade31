/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the passes over the IR share; nothing here is for lowering. */
#ifndef PANTRACE_LANG_IR_PASS_H
#define PANTRACE_LANG_IR_PASS_H

#include "lang/ir/ir.h"

struct emit_options;

void *ir_grow(struct arena *a, void *items, size_t len, size_t *cap, size_t size);
/* vector_push() for vectors that live in an arena. */
#define ir_push(a, v, ...)                                                                       \
	do {                                                                                     \
		(v)->items = ir_grow((a), (v)->items, (v)->len, &(v)->cap, sizeof(*(v)->items)); \
		(v)->items[(v)->len++] = (__VA_ARGS__);                                          \
	} while (0)

#define IR_MAX_OPERANDS 8
bool ir_is_terminator(enum ir_op op);
/* The places of the registers that an instruction reads. */
u32 ir_operands(struct ir_insn *insn, ir_reg *ret[IR_MAX_OPERANDS]);
u32 ir_successors(const struct ir_block *b, u32 ret[2]);
static inline bool ir_is_binary(enum ir_op op)
{
	return op >= IR_ADD && op <= IR_SAR;
}
/* 64-bit result as the BPF machine computes it. */
s64 ir_evaluate(enum ir_op op, s64 a, s64 b);
bool ir_compare(enum ir_cond cond, s64 a, s64 b);
s64 ir_extend_value(s64 v, u32 size, bool is_signed);

/*
 * Loads the context and looks up the scratch entry where the function needs them
 * (lang/ir/prologue.c).
 */
void ir_add_prologue(struct ir_program *p, struct ir_function *f);
/* Copy propagation, folding, signed division without cpu v4 (lang/ir/optimise.c). */
void ir_optimise(struct ir_function *f, const struct emit_options *options);
/* Removes what cannot be reached and orders the rest: entry first, loops contiguous. */
void ir_order_blocks(struct ir_function *f, u8 **ret_depth, struct arena *scratch);

/* Positions of instructions in the order of blocks; `end` is one more than the last. {0, 0} = not
 * in use. */
struct ir_stretch {
	u32 start, end;
};

struct ir_stretches {
	u32 *first; /* per block: position of its first instruction */
	u32 *region_of; /* per block: its outermost loop, 0 = none */
	struct ir_stretch *regions; /* of loops, from 1; here `end` is the last position */
	u32 nregions;
};
void ir_stretches_begin(struct ir_stretches *s, const struct ir_function *f, struct arena *a);
/* Extends a stretch to a use. */
void ir_stretch_use(const struct ir_stretches *s, struct ir_stretch *stretch, u32 block,
		    u32 position);

/*
 * Moves scalars to slots if more values live across calls than registers and stack can hold
 * (lang/ir/pressure.c). share: bytes of stack that the function may use. Returns how many of them
 * remain for slots, at most budget.
 */
u32 ir_relieve_pressure(struct ir_function *f, u32 share, u32 budget, struct arena *a);

#endif
