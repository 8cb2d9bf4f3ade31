/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the passes over the IR share; nothing here is for lowering. */
#ifndef PANTRACE_LANG_IR_PASS_H
#define PANTRACE_LANG_IR_PASS_H

#include "lang/ir.h"

struct emit_options;

void *ir_grow(struct arena *a, void *items, size_t len, size_t *cap, size_t size);
/* vector_push() for vectors that live in an arena. */
#define ir_push(a, v, ...)                                                              \
	do {                                                                            \
		(v)->items = ir_grow((a), (v)->items, (v)->len, &(v)->cap,              \
				     sizeof(*(v)->items));                              \
		(v)->items[(v)->len++] = (__VA_ARGS__);                                 \
	} while (0)

#define IR_MAX_OPERANDS 8
bool ir_is_terminator(enum ir_op op);
/* The places of the registers that an instruction reads. */
u32 ir_operands(struct ir_insn *insn, ir_reg *ret[IR_MAX_OPERANDS]);
u32 ir_successors(const struct ir_block *b, u32 ret[2]);
/* No effect but its result. */
bool ir_is_pure(const struct ir_insn *insn);
static inline bool ir_is_binary(enum ir_op op)
{
	return op >= IR_ADD && op <= IR_SAR;
}
/* 64-bit result as the BPF machine computes it. */
s64 ir_evaluate(enum ir_op op, s64 a, s64 b);
bool ir_compare(enum ir_cond cond, s64 a, s64 b);
s64 ir_extend_value(s64 v, u32 size, bool is_signed);

/* Loads the context and looks up the scratch entry where the function needs them (ir_prologue.c). */
void ir_add_prologue(struct ir_program *p, struct ir_function *f);
/* Copy propagation, folding, signed division without cpu v4, dead code; removes unreachable blocks (ir_optimise.c, ir_flow.c). */
void ir_optimise(struct ir_function *f, const struct emit_options *options);
void ir_simplify_flow(struct ir_function *f);
/* Removes what cannot be reached and orders the rest: entry first, loops contiguous. */
void ir_order_blocks(struct ir_function *f, u8 **ret_depth, struct arena *scratch);

#endif
