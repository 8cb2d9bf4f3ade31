/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/ir/liveness.h"

#include "lang/ir/pass.h"

void minsn_operands(const struct minsn *insn, struct mops *ret)
{
	const u8 class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	const bool reg = BPF_SRC(insn->code) == BPF_X;

	ret->nuses = ret->ndefs = 0;
#define USES(r)                                        \
	do {                                           \
		if ((r) != MREG_FRAME)                 \
			ret->uses[ret->nuses++] = (r); \
	} while (0)
#define DEFINES(r) ret->defs[ret->ndefs++] = (r)
	switch (class) {
	case BPF_ALU:
	case BPF_ALU64:
		if (op == BPF_END || op == BPF_NEG) {
			USES(insn->dst);
		} else {
			if (op != BPF_MOV)
				USES(insn->dst);
			if (reg)
				USES(insn->src);
		}
		DEFINES(insn->dst);
		break;
	case BPF_LDX:
		USES(insn->src);
		DEFINES(insn->dst);
		break;
	case BPF_LD:
		DEFINES(insn->dst);
		break;
	case BPF_ST:
		USES(insn->dst);
		break;
	case BPF_STX:
		USES(insn->dst);
		USES(insn->src);
		if (BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm == BPF_CMPXCHG) {
			USES((mreg)BPF_REG_0);
			DEFINES(BPF_REG_0);
		} else if (BPF_MODE(insn->code) == BPF_ATOMIC && (insn->imm & BPF_FETCH)) {
			DEFINES(insn->src);
		}
		break;
	default:
		if (op == BPF_CALL) {
			for (u32 i = 0; i < insn->nargs; i++)
				USES(BPF_REG_1 + i);
			for (u32 i = BPF_REG_0; i <= BPF_REG_5; i++)
				DEFINES(i);
		} else if (op == BPF_EXIT) {
			USES((mreg)BPF_REG_0);
		} else if (op != BPF_JA) {
			USES(insn->dst);
			if (reg)
				USES(insn->src);
		}
		break;
	}
#undef USES
#undef DEFINES
}

static bool is_pure(const struct minsn *insn)
{
	const u8 class = BPF_CLASS(insn->code);

	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LDX || class == BPF_LD;
}

u32 mblock_successors(const struct mblock *b, u32 ret[2])
{
	const struct minsn *last = &vector_last(&b->insns);

	ret[0] = last->then;
	ret[1] = last->otherwise;
	if (minsn_is_conditional(last))
		return 2;
	return BPF_OP(last->code) == BPF_JA;
}

/* Work of one computation. Only registers that live across blocks ("global") take part in the data
 * flow. */
struct work {
	struct mfunction *m;
	struct arena *a;
	u32 *global_of; /* per register: 1 + its number among the globals, 0 = local */
	u32 *globals; /* registers */
	u32 nglobals, words;
	u64 *in, *out, *kill; /* per block, `words` each */
	u32 *end; /* per register: 1 + point of the last read seen so far, 0 = not live */
	u32 *last; /* per register: 1 + index of its range found last */
	VECTOR(struct live_range) ranges;
	VECTOR(mreg) owners; /* of the ranges */
};

static void find_globals(struct work *w)
{
	u32 *defined =
		arena_new_array(w->a, u32, w->m->nregs); /* 1 + block of the latest definition */
	VECTOR(u32) globals = {0};
	struct mops ops;

	w->global_of = arena_new_array(w->a, u32, w->m->nregs);
	for (u32 b = 0; b < w->m->blocks.len; b++) {
		const struct mblock *block = &w->m->blocks.items[b];

		for (size_t k = 0; k < block->insns.len; k++) {
			minsn_operands(&block->insns.items[k], &ops);
			for (u32 i = 0; i < ops.nuses; i++) {
				const mreg r = ops.uses[i];

				if (r < MREG_FIRST || defined[r] == b + 1 || w->global_of[r])
					continue;
				vector_push(&globals, r);
				w->global_of[r] = (u32)globals.len;
			}
			for (u32 i = 0; i < ops.ndefs; i++)
				defined[ops.defs[i]] = b + 1;
		}
	}
	w->nglobals = (u32)globals.len;
	w->globals = arena_memdup(w->a, globals.items, globals.len * sizeof(u32));
	vector_free(&globals);
}

static bool bit(const u64 *set, u32 i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void local_sets(struct work *w, u32 b)
{
	const struct mblock *block = &w->m->blocks.items[b];
	u64 *in = w->in + (size_t)b * w->words, *kill = w->kill + (size_t)b * w->words;
	struct mops ops;

	for (size_t k = 0; k < block->insns.len; k++) {
		minsn_operands(&block->insns.items[k], &ops);
		for (u32 i = 0; i < ops.nuses; i++) {
			const u32 g = w->global_of[ops.uses[i]];

			if (g && !bit(kill, g - 1))
				in[(g - 1) / 64] |= 1ull << ((g - 1) % 64);
		}
		for (u32 i = 0; i < ops.ndefs; i++) {
			const u32 g = w->global_of[ops.defs[i]];

			if (g)
				kill[(g - 1) / 64] |= 1ull << ((g - 1) % 64);
		}
	}
}

/* Backwards over the blocks until nothing changes: once per level of loop nesting and once more. */
static void flow(struct work *w)
{
	const size_t n = w->m->blocks.len;
	bool changed = true;
	u32 succ[2];

	w->words = (w->nglobals + 63) / 64;
	w->in = arena_new_array(w->a, u64, n * w->words);
	w->out = arena_new_array(w->a, u64, n * w->words);
	w->kill = arena_new_array(w->a, u64, n * w->words);
	for (u32 b = 0; b < n; b++)
		local_sets(w, b);
	while (changed) {
		changed = false;
		for (size_t b = n; b-- > 0;) {
			u64 *out = w->out + b * w->words, *in = w->in + b * w->words;
			const u64 *kill = w->kill + b * w->words;

			for (u32 i = mblock_successors(&w->m->blocks.items[b], succ); i-- > 0;)
				for (u32 k = 0; k < w->words; k++)
					out[k] |= w->in[(size_t)succ[i] * w->words + k];
			for (u32 k = 0; k < w->words; k++) {
				const u64 more = in[k] | (out[k] & ~kill[k]);

				changed |= more != in[k];
				in[k] = more;
			}
		}
	}
}

static void add_range(struct work *w, mreg r, u32 start, u32 end)
{
	if (w->last[r] && w->ranges.items[w->last[r] - 1].start == end + 1) {
		w->ranges.items[w->last[r] - 1].start = start;
		return;
	}
	vector_push(&w->ranges, (struct live_range){start, end});
	vector_push(&w->owners, r);
	w->last[r] = (u32)w->ranges.len;
}

static void scan_insn(struct work *w, struct minsn *insn, u32 point)
{
	struct mops ops;
	bool needed = false;

	minsn_operands(insn, &ops);
	for (u32 i = 0; i < ops.ndefs; i++)
		needed |= w->end[ops.defs[i]] != 0;
	if (!needed && is_pure(insn)) {
		insn->is_dead = true;
		return;
	}
	for (u32 i = 0; i < ops.ndefs; i++) {
		const mreg r = ops.defs[i];

		add_range(w, r, point + 1, w->end[r] ? w->end[r] - 1 : point + 1);
		w->end[r] = 0;
	}
	for (u32 i = 0; i < ops.nuses; i++)
		if (!w->end[ops.uses[i]])
			w->end[ops.uses[i]] = point + 1;
}

static void close_at_start(struct work *w, mreg r, u32 start)
{
	if (w->end[r])
		add_range(w, r, start, w->end[r] - 1);
	w->end[r] = 0;
}

static void scan_block(struct work *w, u32 b, u32 first)
{
	struct mblock *block = &w->m->blocks.items[b];
	const u64 *in = w->in + (size_t)b * w->words, *out = w->out + (size_t)b * w->words;

	for (u32 k = 0; k < w->words; k++)
		for (u64 bits = out[k]; bits; bits &= bits - 1)
			w->end[w->globals[k * 64 + (u32)__builtin_ctzll(bits)]] =
				2 * (first + (u32)block->insns.len);
	for (size_t k = block->insns.len; k-- > 0;)
		scan_insn(w, &block->insns.items[k], 2 * (first + (u32)k));
	for (u32 k = 0; k < w->words; k++)
		for (u64 bits = in[k]; bits; bits &= bits - 1)
			close_at_start(w, w->globals[k * 64 + (u32)__builtin_ctzll(bits)],
				       2 * first);
	for (mreg r = 0; r < MREG_FRAME; r++)
		close_at_start(w, r, 2 * first);
}

static void sort_by_register(struct work *w, struct liveness *ret)
{
	u32 *fill;

	ret->first = arena_new_array(w->a, u32, w->m->nregs + 1);
	ret->ranges = arena_new_array(w->a, struct live_range, w->ranges.len + 1);
	for (size_t i = 0; i < w->ranges.len; i++)
		ret->first[w->owners.items[i] + 1]++;
	for (u32 r = 0; r < w->m->nregs; r++)
		ret->first[r + 1] += ret->first[r];
	fill = arena_memdup(w->a, ret->first, w->m->nregs * sizeof(u32));
	for (size_t i = 0; i < w->ranges.len; i++)
		ret->ranges[fill[w->owners.items[i]]++] = w->ranges.items[i];
}

static void drop_dead(struct mblock *b)
{
	size_t n = 0;

	for (size_t k = 0; k < b->insns.len; k++)
		if (!b->insns.items[k].is_dead)
			b->insns.items[n++] = b->insns.items[k];
	b->insns.len = n;
}

void liveness_compute(struct mfunction *m, struct arena *a, struct liveness *ret)
{
	struct work w = {.m = m, .a = a};
	u32 *first = arena_new_array(a, u32, m->blocks.len + 1);

	for (size_t b = 0; b < m->blocks.len; b++) {
		drop_dead(&m->blocks.items[b]);
		first[b + 1] = first[b] + (u32)m->blocks.items[b].insns.len;
	}
	find_globals(&w);
	flow(&w);
	w.end = arena_new_array(a, u32, m->nregs);
	w.last = arena_new_array(a, u32, m->nregs);
	for (size_t b = m->blocks.len; b-- > 0;)
		scan_block(&w, (u32)b, first[b]);
	ret->npoints = 2 * first[m->blocks.len] + 2;
	sort_by_register(&w, ret);
	vector_free(&w.ranges);
	vector_free(&w.owners);
}
