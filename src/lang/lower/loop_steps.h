/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates what a loop costs the verifier, which walks every round of a loop in place and every
 * path through each round. Done on the tree, before there is code.
 */
#ifndef PANTRACE_LANG_LOWER_LOOP_STEPS_H
#define PANTRACE_LANG_LOWER_LOOP_STEPS_H

#include "lang/syntax/ast.h"

/* A range of more rounds becomes a callback if the kernel has bpf_loop(), whatever its body is. */
#define LOOP_IN_PLACE_ROUNDS 64
/* BPF_MAX_LOOPS of the kernel (include/linux/bpf.h): bpf_loop() takes no more rounds. */
#define LOOP_ROUNDS_MAX (8u << 20)
/*
 * The verifier walks a callback until nothing new is learnt of its variables: mostly this many
 * times (6.8; before that once).
 */
#define LOOP_CALLBACK_ROUNDS 3
/* What is not known, or is more, counts as so much. */
#define LOOP_STEPS_MAX (1u << 30)

/*
 * How often the verifier walks the body of a while: the bound of `while ($i < 10)`, else a guess.
 */
u32 loop_while_rounds(const struct stmt *s);
/* Rounds of a range of constants, 0 = they are not known; at most UINT32_MAX. */
u32 loop_range_rounds(const struct stmt *s);
/*
 * Instructions that one pass through the block takes, with the loops in it. At most LOOP_STEPS_MAX.
 */
u64 loop_steps(const struct block *body);
/* The loop of the block, not within another one, that takes the most; NULL = there is none. */
const struct stmt *loop_heaviest(const struct block *body);

#endif
