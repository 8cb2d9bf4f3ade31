/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF instructions before register allocation: the opcodes of the machine, two-address form, with
 * registers that are physical (0 .. 9, r10 = frame pointer) or virtual (from MREG_FIRST). Physical
 * registers never live across blocks, except r1-r5 into the entry. Order of blocks = order of the
 * code.
 */
#ifndef PANTRACE_LANG_BPF_MACHINE_H
#define PANTRACE_LANG_BPF_MACHINE_H

#include <linux/bpf.h>

#include "lang/bpf/emit.h"

typedef u32 mreg;
enum { MREG_FRAME = 10, MREG_FIRST = 11, MREG_ALLOCATABLE = 10 };
#define MREG_NONE UINT32_MAX

struct minsn {
	u8 code; /* BPF opcode; conditional jumps and BPF_JA go to `then`, conditional ones else to
		    `otherwise` */
	u8 pseudo; /* src_reg of LD_IMM64 (BPF_PSEUDO_*) and of calls */
	u8 nargs; /* calls: r1 .. */
	bool is_dead; /* removed */
	s16 off;
	mreg dst, src;
	s64 imm; /* LD_IMM64: value, map index or function; calls: helper or function */
	s32 imm2; /* LD_IMM64 of a map value: offset */
	u32 then, otherwise;
	struct span span;
};

struct mblock {
	VECTOR(struct minsn) insns; /* in the arena */
	u8 depth; /* of loops around it */
	const char *label;
};

struct mfunction {
	struct arena *arena;
	const char *name;
	VECTOR(struct mblock) blocks;
	u32 nregs; /* one more than the highest register */
	u32 stack_size; /* bytes: slots, then spilled registers */
	u32 nspills; /* instructions that load or store a spilled register */
};

/* What an instruction reads and writes; r10 is left out. */
struct mops {
	mreg uses[5], defs[6];
	u32 nuses, ndefs;
};
void minsn_operands(const struct minsn *insn, struct mops *ret);
u32 mblock_successors(const struct mblock *b, u32 ret[2]);
static inline bool minsn_is_conditional(const struct minsn *insn)
{
	const u8 class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL &&
	       op != BPF_EXIT;
}
static inline bool minsn_is_copy(const struct minsn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !insn->off;
}

/* IR -> machine (lang/bpf/select.c). f is ordered; depth per block. */
void select_instructions(struct ir_program *p, struct ir_function *f, const u8 *depth,
			 const struct emit_options *options, struct mfunction *ret);
/*
 * After register allocation (peephole.c): removes jumps to the next block, copies to itself, dead
 * code.
 */
void peephole(struct mfunction *m);

#endif
