/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bucket numbers of hist() and lhist(): the generated code, interpreted, against the definition. */
#include "lang/builtin/util.h"
#include "tap.h"

#define MAX_REGS 512

static u64 operate(enum ir_op op, u64 a, u64 b)
{
	switch (op) {
	case IR_ADD:
		return a + b;
	case IR_SUB:
		return a - b;
	case IR_DIV:
		return b ? a / b : 0;
	case IR_AND:
		return a & b;
	case IR_SHL:
		return a << (b & 63);
	case IR_SHR:
		return a >> (b & 63);
	default:
		return 0xbad;
	}
}

static bool holds(enum ir_cond cond, u64 a, u64 b)
{
	switch (cond) {
	case IR_LE:
		return a <= b;
	case IR_SLT:
		return (s64)a < (s64)b;
	case IR_SGE:
		return (s64)a >= (s64)b;
	default:
		return false;
	}
}

/* Runs a function of one parameter that uses no memory. */
static u64 run(const struct ir_function *f, u64 n)
{
	u64 r[MAX_REGS] = {0};
	u32 block = 0;

	for (;;) {
		const struct ir_block *b = &f->blocks.items[block];

		for (size_t i = 0; i < b->insns.len; i++) {
			const struct ir_insn *insn = &b->insns.items[i];
			const u64 other = insn->b ? r[insn->b] : (u64)insn->imm;

			switch (insn->op) {
			case IR_PARAM:
				r[insn->dst] = n;
				break;
			case IR_CONST:
				r[insn->dst] = insn->imm;
				break;
			case IR_MOVE:
				r[insn->dst] = r[insn->a];
				break;
			case IR_JUMP:
				block = insn->then;
				break;
			case IR_BRANCH:
				block = holds(insn->cond, r[insn->a], other) ? insn->then
									     : insn->otherwise;
				break;
			case IR_RETURN:
				return r[insn->a];
			default:
				r[insn->dst] = operate(insn->op, r[insn->a], other);
			}
		}
	}
}

static struct ir_function *begin(struct ir_program *p, ir_reg *ret_n)
{
	struct ir_function *f = ir_function_new(p, "bucket");

	f->nparams = 1;
	if (!f->blocks.len)
		ir_switch_to(f, ir_block_new(f, "entry"));
	*ret_n = ir_reg_new(f);
	ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = *ret_n, .imm = 0});
	return f;
}

/* The definition in aggregate.c, by counting. */
static u64 hist_reference(s64 n, u32 bits)
{
	u32 position = 63;

	if (n < 0)
		return 0;
	if (n < (1LL << bits))
		return n + 1;
	while (!(n >> position))
		position--;
	position -= bits;
	return (((u64)position + 1) << bits) + (((u64)n >> position) & ((1ULL << bits) - 1)) + 1;
}

static u64 lhist_reference(s64 n, s64 min, s64 max, s64 step)
{
	if (n < min)
		return 0;
	return 1 + (n >= max ? (max - min) / step : (n - min) / step);
}

static const s64 edges[] = {INT64_MIN,
			    -1000,
			    -1,
			    0,
			    1,
			    2,
			    3,
			    4,
			    7,
			    31,
			    32,
			    33,
			    225,
			    1000,
			    65535,
			    65536,
			    INT32_MAX,
			    1LL << 32,
			    (1LL << 32) - 1,
			    (1LL << 62) + 12345,
			    INT64_MAX};

static void test_hist(u32 bits)
{
	struct arena arena = ARENA_INIT;
	struct ir_program p = {.arena = &arena, .name = "test", .scratch_map = IR_NO_MAP};
	ir_reg n;
	struct ir_function *f = begin(&p, &n);
	u32 wrong = 0;
	u64 seed = 1;

	ir_return(f, aggregate_hist_bucket(f, n, bits));
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		wrong += run(f, edges[i]) != hist_reference(edges[i], bits);
	for (u32 i = 0; i < 63; i++)
		for (s64 d = -1; d <= 1; d++)
			wrong += run(f, (1LL << i) + d) != hist_reference((1LL << i) + d, bits);
	for (u32 i = 0; i < 2000; i++) {
		s64 v = (seed = seed * 6364136223846793005ULL + 1442695040888963407ULL) >> (i % 64);

		wrong += run(f, v) != hist_reference(v, bits);
	}
	is_int(wrong, 0, "hist: every value in its bucket");
	arena_release(&arena);
}

static void test_lhist(s64 min, s64 max, s64 step)
{
	struct arena arena = ARENA_INIT;
	struct ir_program p = {.arena = &arena, .name = "test", .scratch_map = IR_NO_MAP};
	ir_reg n;
	struct ir_function *f = begin(&p, &n);
	u32 wrong = 0;

	ir_return(f, aggregate_lhist_bucket(f, n, min, max, step));
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		wrong += run(f, edges[i]) != lhist_reference(edges[i], min, max, step);
	for (s64 v = min - 3; v < min + 3000; v++)
		wrong += run(f, v) != lhist_reference(v, min, max, step);
	is_int(wrong, 0, "lhist: every value in its bucket");
	arena_release(&arena);
}

/*
 * Where the bucket of v begins: the order of magnitude that v is in, in parts of base^(m+1) /
 * steps.
 */
static s64 llhist_begin_of(s64 v, const struct llhist *h)
{
	s64 to = 1, width;

	for (u32 m = 0; m <= h->low; m++)
		to *= h->base;
	while (v >= to)
		to *= h->base;
	width = to > h->steps ? to / h->steps : 1;
	return v / width * width;
}

static void test_llhist(u32 base, u32 low, u32 high, u32 steps)
{
	const struct llhist h = {base, low, high, steps};
	struct arena arena = ARENA_INIT;
	struct ir_program p = {.arena = &arena, .name = "test", .scratch_map = IR_NO_MAP};
	ir_reg n;
	struct ir_function *f = begin(&p, &n);
	s64 first = 1, end = 1, lower = -1, step;
	u32 wrong = 0, last = llhist_buckets(&h) - 1;

	for (u32 m = 0; m <= high; m++) {
		first *= m < low ? base : 1;
		end *= base;
	}
	ir_return(f, aggregate_llhist_bucket(f, n, &h));
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
		const u64 bucket = run(f, edges[i]);

		wrong += edges[i] < first ? bucket != 0 : edges[i] >= end && bucket != last;
	}
	for (s64 v = first; v < end; v += step) {
		const u64 bucket = run(f, v);

		step = MAX(v / 977, (s64)1);
		wrong += !llhist_lower_bound(&h, bucket, &lower) || lower != llhist_begin_of(v, &h);
		wrong += lower > first && run(f, lower - 1) != bucket - 1;
	}
	wrong += !llhist_lower_bound(&h, last, &lower) || lower != end || run(f, end) != last ||
		 run(f, end - 1) != last - 1 || run(f, first) != 1;
	wrong += llhist_lower_bound(&h, 0, &lower) || llhist_lower_bound(&h, last + 1, &lower);
	is_int(wrong, 0, "llhist: every value in its bucket");
	arena_release(&arena);
}

int main(void)
{
	is_int(hist_reference(225, 2), 28, "bpftrace's own example");
	is_int(hist_reference(0, 0), 1, "zero has a bucket");
	is_int(hist_reference(1, 0), 2, "one has the next");
	is_int(hist_reference(INT64_MAX, 0), 64, "the last one");
	for (u32 bits = 0; bits <= 5; bits++)
		test_hist(bits);
	test_lhist(0, 100, 10);
	test_lhist(0, 1000, 1);
	test_lhist(-50, 55, 10);
	test_lhist(-2147483649LL, 4294967297LL, 1LL << 30);
	test_llhist(10, 0, 6, 20);
	test_llhist(10, 3, 5, 10);
	test_llhist(10, 0, 17, 100);
	test_llhist(2, 0, 61, 2);
	test_llhist(2, 3, 20, 16);
	return tap_done();
}
