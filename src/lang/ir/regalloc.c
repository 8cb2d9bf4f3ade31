/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/ir/regalloc.h"

#include "lang/ir/pass.h"
#include "lang/ir/liveness.h"

/* Rounds end when nothing is spilled any more: usually after two or three. */
enum { MAX_ROUNDS = 64, STACK_LIMIT = 512 };

struct hint {
	mreg other;
	float weight;
};

struct allocator {
	struct mfunction *m;
	struct arena arena; /* of the round */
	struct liveness live;
	mreg first_temporary; /* registers from here on were made by spilling and must not be
				 spilled again */
	size_t words;
	u64 *busy[MREG_ALLOCATABLE]; /* per machine register: bitmap of points */
	float *weight; /* per register */
	u32 *hint_first; /* per register, and one more: its hints */
	struct hint *hints;
	mreg *assigned;
};

static u64 mask_from(u32 point)
{
	return ~0ull << (point % 64);
}

static u64 mask_to(u32 point)
{
	return ~0ull >> (63 - point % 64);
}

static bool range_is_free(const u64 *bits, const struct live_range *r)
{
	const u32 a = r->start / 64, b = r->end / 64;

	if (a == b)
		return !(bits[a] & mask_from(r->start) & mask_to(r->end));
	if ((bits[a] & mask_from(r->start)) || (bits[b] & mask_to(r->end)))
		return false;
	for (u32 i = a + 1; i < b; i++)
		if (bits[i])
			return false;
	return true;
}

/* Flips the bits: as ranges of different registers never overlap, this both occupies and frees. */
static void range_flip(u64 *bits, const struct live_range *r)
{
	const u32 a = r->start / 64, b = r->end / 64;

	if (a == b) {
		bits[a] ^= mask_from(r->start) & mask_to(r->end);
		return;
	}
	bits[a] ^= mask_from(r->start);
	bits[b] ^= mask_to(r->end);
	for (u32 i = a + 1; i < b; i++)
		bits[i] = ~bits[i];
}

static bool is_free(const struct allocator *al, const u64 *bits, mreg r)
{
	for (u32 i = al->live.first[r]; i < al->live.first[r + 1]; i++)
		if (!range_is_free(bits, &al->live.ranges[i]))
			return false;
	return true;
}

static void flip(struct allocator *al, u64 *bits, mreg r)
{
	for (u32 i = al->live.first[r]; i < al->live.first[r + 1]; i++)
		range_flip(bits, &al->live.ranges[i]);
}

static float frequency(const struct mblock *b)
{
	static const float powers[] = {1, 10, 100, 1000, 10000};

	return powers[MIN(b->depth, 4)];
}

/* A register that is bounded by a comparison should not be spilled if others can be. */
static bool is_bounds_check(const struct minsn *insn)
{
	const u8 op = BPF_OP(insn->code);

	return minsn_is_conditional(insn) && op != BPF_JEQ && op != BPF_JNE;
}

static void weigh(struct allocator *al)
{
	struct mops ops;

	al->weight = arena_new_array(&al->arena, float, al->m->nregs);
	for (size_t b = 0; b < al->m->blocks.len; b++) {
		const struct mblock *block = &al->m->blocks.items[b];
		const float f = frequency(block);

		for (size_t k = 0; k < block->insns.len; k++) {
			const struct minsn *insn = &block->insns.items[k];
			const float w = is_bounds_check(insn) ? 8 * f : f;

			minsn_operands(insn, &ops);
			for (u32 i = 0; i < ops.nuses; i++)
				al->weight[ops.uses[i]] += w;
			for (u32 i = 0; i < ops.ndefs; i++)
				al->weight[ops.defs[i]] += w;
		}
	}
	for (mreg r = MREG_FIRST; r < al->m->nregs; r++) {
		u32 length = 0;

		for (u32 i = al->live.first[r]; i < al->live.first[r + 1]; i++)
			length += al->live.ranges[i].end - al->live.ranges[i].start + 1;
		/* Written here and read by the next instruction: spilling it gains nothing. */
		if (r >= al->first_temporary || length <= 2)
			al->weight[r] = 1e30f;
		else
			al->weight[r] /= (float)length;
	}
}

static void count_hint(struct allocator *al, const struct minsn *insn)
{
	if (insn->dst >= MREG_FIRST)
		al->hint_first[insn->dst + 1]++;
	if (insn->src >= MREG_FIRST)
		al->hint_first[insn->src + 1]++;
}

static void find_hints(struct allocator *al)
{
	const u32 n = al->m->nregs;
	u32 *fill;

	al->hint_first = arena_new_array(&al->arena, u32, n + 1);
	for (size_t b = 0; b < al->m->blocks.len; b++)
		for (size_t k = 0; k < al->m->blocks.items[b].insns.len; k++)
			if (minsn_is_copy(&al->m->blocks.items[b].insns.items[k]))
				count_hint(al, &al->m->blocks.items[b].insns.items[k]);
	for (u32 r = 0; r < n; r++)
		al->hint_first[r + 1] += al->hint_first[r];
	al->hints = arena_new_array(&al->arena, struct hint, al->hint_first[n] + 1);
	fill = arena_memdup(&al->arena, al->hint_first, n * sizeof(u32));
	for (size_t b = 0; b < al->m->blocks.len; b++) {
		const struct mblock *block = &al->m->blocks.items[b];
		const float f = frequency(block);

		for (size_t k = 0; k < block->insns.len; k++) {
			const struct minsn *insn = &block->insns.items[k];

			if (!minsn_is_copy(insn))
				continue;
			if (insn->dst >= MREG_FIRST)
				al->hints[fill[insn->dst]++] = (struct hint){insn->src, f};
			if (insn->src >= MREG_FIRST)
				al->hints[fill[insn->src]++] = (struct hint){insn->dst, f};
		}
	}
}

/* The gain of putting r into each machine register. */
static void score_hints(const struct allocator *al, mreg r, float score[MREG_ALLOCATABLE])
{
	memset(score, 0, MREG_ALLOCATABLE * sizeof(*score));
	for (u32 i = al->hint_first[r]; i < al->hint_first[r + 1]; i++) {
		const mreg other = al->assigned[al->hints[i].other];

		if (other < MREG_ALLOCATABLE)
			score[other] += al->hints[i].weight;
	}
}

static mreg choose(const struct allocator *al, mreg r)
{
	/*
	 * Registers that calls overwrite come first, so that the others remain for values that live
	 * across calls.
	 */
	static const mreg order[MREG_ALLOCATABLE] = {0, 5, 4, 3, 2, 1, 9, 8, 7, 6};
	float score[MREG_ALLOCATABLE], best_score = -1;
	mreg best = MREG_NONE;

	score_hints(al, r, score);
	for (u32 i = 0; i < MREG_ALLOCATABLE; i++) {
		if (score[order[i]] > best_score && is_free(al, al->busy[order[i]], r)) {
			best = order[i];
			best_score = score[best];
		}
	}
	return best;
}

struct candidate {
	float weight;
	mreg reg;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->reg < y->reg ? -1 : x->reg > y->reg;
}

/* Returns the number of registers that got none; ret_spilled receives them. */
static u32 assign(struct allocator *al, mreg **ret_spilled)
{
	const u32 n = al->m->nregs;
	struct candidate *candidates = arena_new_array(&al->arena, struct candidate, n);
	mreg *spilled = arena_new_array(&al->arena, mreg, n);
	u32 ncandidates = 0, nspilled = 0;

	for (mreg r = MREG_FIRST; r < n; r++)
		if (al->live.first[r] != al->live.first[r + 1])
			candidates[ncandidates++] = (struct candidate){al->weight[r], r};
	qsort(candidates, ncandidates, sizeof(*candidates), compare_candidates);
	for (u32 i = 0; i < ncandidates; i++) {
		const mreg r = candidates[i].reg, to = choose(al, r);

		if (to == MREG_NONE) {
			spilled[nspilled++] = r;
			continue;
		}
		al->assigned[r] = to;
		flip(al, al->busy[to], r);
	}
	/* Now that both ends of all copies are known, some can still get the same register. */
	for (u32 i = nspilled ? 0 : ncandidates; i-- > 0;) {
		const mreg r = candidates[i].reg;

		if (al->hint_first[r] == al->hint_first[r + 1])
			continue;
		flip(al, al->busy[al->assigned[r]], r);
		al->assigned[r] = choose(al, r);
		flip(al, al->busy[al->assigned[r]], r);
	}
	*ret_spilled = spilled;
	return nspilled;
}

static void substitute(struct allocator *al)
{
	for (size_t b = 0; b < al->m->blocks.len; b++) {
		struct mblock *block = &al->m->blocks.items[b];

		for (size_t k = 0; k < block->insns.len; k++) {
			struct minsn *insn = &block->insns.items[k];

			if (insn->dst >= MREG_FIRST)
				insn->dst = al->assigned[insn->dst];
			if (insn->src >= MREG_FIRST)
				insn->src = al->assigned[insn->src];
		}
	}
}

/* ---- spilling ---- */

struct store_back {
	u32 block; /* at whose start */
	mreg reg;
	s16 off;
};

struct spiller {
	struct allocator *al;
	struct mfunction *m;
	s16 *place; /* per register: offset from r10, 0 = not spilled */
	u32 *preds; /* number of edges into each of the first nblocks blocks */
	u32 nblocks;
	VECTOR(struct store_back) store_backs;
	struct mblock out; /* being rebuilt */
};

/* Spilled registers that never live at the same time share a place. */
static void place_spilled(struct spiller *s, const mreg *spilled, u32 nspilled)
{
	struct allocator *al = s->al;
	VECTOR(u64 *) places = {0};
	const u32 base = s->m->stack_size;
	size_t i;

	for (u32 k = 0; k < nspilled; k++) {
		for (i = 0; i < places.len; i++)
			if (is_free(al, places.items[i], spilled[k]))
				break;
		if (i == places.len)
			vector_push(&places, arena_new_array(&al->arena, u64, al->words));
		flip(al, places.items[i], spilled[k]);
		s->place[spilled[k]] = (s16) - (s32)(base + 8 * (i + 1));
	}
	s->m->stack_size = base + 8 * (u32)places.len;
	vector_free(&places);
}

static void put(struct spiller *s, struct minsn insn)
{
	ir_push(s->m->arena, &s->out.insns, insn);
}

static struct minsn load(mreg dst, s16 off, struct span span)
{
	return (struct minsn){.code = BPF_LDX | BPF_MEM | BPF_DW,
			      .dst = dst,
			      .src = MREG_FRAME,
			      .off = off,
			      .span = span};
}

static struct minsn store(mreg src, s16 off, struct span span)
{
	return (struct minsn){.code = BPF_STX | BPF_MEM | BPF_DW,
			      .dst = MREG_FRAME,
			      .src = src,
			      .off = off,
			      .span = span};
}

static s16 place_of(const struct spiller *s, mreg r)
{
	return r >= MREG_FIRST ? s->place[r] : 0;
}

/* On the edge from this block to `target`, reg must be stored. Returns the block to jump to. */
static u32 store_on_edge(struct spiller *s, u32 target, mreg reg, s16 off, struct span span)
{
	struct mblock edge = {.depth = 0, .label = "store_back"};

	/* The edge has its own block already if both operands are spilled. */
	if (target >= s->nblocks || s->preds[target] == 1) {
		vector_push(&s->store_backs, (struct store_back){target, reg, off});
		return target;
	}
	edge.depth = s->m->blocks.items[target].depth;
	ir_push(s->m->arena, &edge.insns, store(reg, off, span));
	ir_push(s->m->arena, &edge.insns,
		(struct minsn){.code = BPF_JMP | BPF_JA, .then = target, .span = span});
	ir_push(s->m->arena, &s->m->blocks, edge);
	return (u32)s->m->blocks.len - 1;
}

static void rewrite_insn(struct spiller *s, struct minsn insn)
{
	const s16 dst_place = place_of(s, insn.dst), src_place = place_of(s, insn.src);
	const mreg old_dst = insn.dst, old_src = insn.src;
	bool reads_dst = false, reads_src = false, writes_dst = false, writes_src = false;
	struct mops ops;

	if (!dst_place && !src_place) {
		put(s, insn);
		return;
	}
	if (minsn_is_copy(&insn) && !dst_place) {
		put(s, load(insn.dst, src_place, insn.span));
		return;
	}
	if (minsn_is_copy(&insn) && !src_place) {
		put(s, store(insn.src, dst_place, insn.span));
		return;
	}
	minsn_operands(&insn, &ops);
	for (u32 i = 0; i < ops.nuses; i++) {
		reads_dst |= ops.uses[i] == old_dst;
		reads_src |= ops.uses[i] == old_src;
	}
	for (u32 i = 0; i < ops.ndefs; i++) {
		writes_dst |= ops.defs[i] == old_dst;
		writes_src |= ops.defs[i] == old_src;
	}
	if (dst_place && (reads_dst || writes_dst)) {
		insn.dst = s->m->nregs++;
		if (old_src == old_dst)
			insn.src = insn.dst;
		if (reads_dst)
			put(s, load(insn.dst, dst_place, insn.span));
	}
	if (src_place && (reads_src || writes_src) && (old_src != old_dst || !dst_place)) {
		insn.src = s->m->nregs++;
		put(s, load(insn.src, src_place, insn.span));
	}
	if (is_bounds_check(&insn)) {
		if (dst_place) {
			insn.then = store_on_edge(s, insn.then, insn.dst, dst_place, insn.span);
			insn.otherwise =
				store_on_edge(s, insn.otherwise, insn.dst, dst_place, insn.span);
		}
		if (src_place && reads_src && BPF_SRC(insn.code) == BPF_X) {
			insn.then = store_on_edge(s, insn.then, insn.src, src_place, insn.span);
			insn.otherwise =
				store_on_edge(s, insn.otherwise, insn.src, src_place, insn.span);
		}
	}
	put(s, insn);
	if (dst_place && writes_dst)
		put(s, store(insn.dst, dst_place, insn.span));
	else if (src_place && writes_src)
		put(s, store(insn.src, src_place, insn.span));
}

static void insert_store_backs(struct spiller *s)
{
	for (size_t i = 0; i < s->store_backs.len; i++) {
		const struct store_back *sb = &s->store_backs.items[i];
		struct mblock *b = &s->m->blocks.items[sb->block];
		const struct span span = b->insns.items[0].span;

		ir_push(s->m->arena, &b->insns, b->insns.items[0]);
		memmove(b->insns.items + 1, b->insns.items,
			(b->insns.len - 1) * sizeof(*b->insns.items));
		b->insns.items[0] = store(sb->reg, sb->off, span);
	}
}

static void spill(struct allocator *al, const mreg *spilled, u32 nspilled)
{
	struct mfunction *m = al->m;
	const size_t nblocks = m->blocks.len;
	struct spiller s = {
		.al = al,
		.m = m,
		.place = arena_new_array(&al->arena, s16, m->nregs),
		.preds = arena_new_array(&al->arena, u32, nblocks),
		.nblocks = (u32)nblocks,
	};
	u32 succ[2];

	place_spilled(&s, spilled, nspilled);
	s.preds[0] = 1;
	for (size_t b = 0; b < nblocks; b++)
		for (u32 i = mblock_successors(&m->blocks.items[b], succ); i-- > 0;)
			s.preds[succ[i]]++;
	for (size_t b = 0; b < nblocks; b++) {
		const struct mblock old = m->blocks.items[b];

		memset(&s.out, 0, sizeof(s.out));
		for (size_t k = 0; k < old.insns.len; k++)
			if (!old.insns.items[k].is_dead)
				rewrite_insn(&s, old.insns.items[k]);
		m->blocks.items[b].insns.items = s.out.insns.items;
		m->blocks.items[b].insns.len = s.out.insns.len;
		m->blocks.items[b].insns.cap = s.out.insns.cap;
	}
	insert_store_backs(&s);
	vector_free(&s.store_backs);
}

static void begin_round(struct allocator *al)
{
	liveness_compute(al->m, &al->arena, &al->live);
	al->words = al->live.npoints / 64 + 1;
	al->assigned = arena_new_array(&al->arena, mreg, al->m->nregs);
	for (mreg r = 0; r < al->m->nregs; r++)
		al->assigned[r] = r < MREG_FIRST ? r : MREG_NONE;
	for (mreg r = 0; r < MREG_ALLOCATABLE; r++) {
		al->busy[r] = arena_new_array(&al->arena, u64, al->words);
		flip(al, al->busy[r], r);
	}
	weigh(al);
	find_hints(al);
}

int regalloc(struct mfunction *m)
{
	struct allocator al = {.m = m, .first_temporary = m->nregs};
	int ret = -E2BIG;

	for (u32 round = 0; round < MAX_ROUNDS; round++) {
		mreg *spilled;
		u32 nspilled;

		begin_round(&al);
		nspilled = assign(&al, &spilled);
		if (!nspilled) {
			substitute(&al);
			ret = 0;
			break;
		}
		spill(&al, spilled, nspilled);
		arena_release(&al.arena);
		if (m->stack_size > STACK_LIMIT)
			break;
	}
	arena_release(&al.arena);
	return ret;
}
