/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clean-up after register allocation: removes copies to themselves, jumps to jumps, blocks that are
 * no longer reached.
 */
#include "lang/bpf/machine.h"

static void drop_useless(struct mblock *b)
{
	size_t n = 0;

	for (size_t k = 0; k < b->insns.len; k++) {
		const struct minsn *insn = &b->insns.items[k];

		if (!insn->is_dead && !(minsn_is_copy(insn) && insn->dst == insn->src))
			b->insns.items[n++] = *insn;
	}
	b->insns.len = n;
}

static u32 thread(const struct mfunction *m, u32 b)
{
	for (u32 steps = 0; steps < 64; steps++) {
		const struct minsn *first = &m->blocks.items[b].insns.items[0];

		if (first->code != (BPF_JMP | BPF_JA))
			break;
		b = first->then;
	}
	return b;
}

static void remove_unreached(struct mfunction *m)
{
	u8 *reached = xzalloc(m->blocks.len);
	u32 *stack = xmalloc((m->blocks.len + 1) * sizeof(*stack)), n = 0, succ[2];

	stack[n++] = 0;
	reached[0] = 1;
	while (n) {
		for (u32 b = stack[--n], i = mblock_successors(&m->blocks.items[b], succ); i-- > 0;)
			if (!reached[succ[i]]) {
				reached[succ[i]] = 1;
				stack[n++] = succ[i];
			}
	}
	for (size_t b = 0; b < m->blocks.len; b++)
		if (!reached[b])
			m->blocks.items[b].insns.len = 0;
	free(stack);
	free(reached);
}

void peephole(struct mfunction *m)
{
	for (size_t b = 0; b < m->blocks.len; b++)
		drop_useless(&m->blocks.items[b]);
	for (size_t b = 0; b < m->blocks.len; b++) {
		struct minsn *last = &vector_last(&m->blocks.items[b].insns);

		if (minsn_is_conditional(last)) {
			last->then = thread(m, last->then);
			last->otherwise = thread(m, last->otherwise);
			if (last->then == last->otherwise)
				last->code = BPF_JMP | BPF_JA;
		} else if (BPF_OP(last->code) == BPF_JA) {
			last->then = thread(m, last->then);
		}
	}
	remove_unreached(m);
}
