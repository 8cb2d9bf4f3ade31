/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregations beyond bpftrace's: llhist and stddev. */
#include "lang/builtin/util.h"

#define LLHIST_MAX_BUCKETS 4096
#define LLHIST_MAX_ORDER   63

/* ---- llhist ---- */

/* base^(high + 1) as a signed 64-bit number. */
static bool fits(u64 base, s64 high)
{
	u64 n = 1;

	for (s64 i = 0; i <= high; i++) {
		if (n > INT64_MAX / base)
			return false;
		n *= base;
	}
	return true;
}

/*
 * Each order of magnitude must consist of equal parts: base divides steps, or steps a power of
 * base.
 */
static bool divides(u64 base, u64 steps)
{
	u64 power = base;

	while (power < steps)
		power *= base;
	return steps % base == 0 && power % steps == 0;
}

static bool check_scale(struct check *c, struct expr *call, s64 base, s64 low, s64 high, s64 steps)
{
	if (base < 2 || base > UINT16_MAX)
		check_error(c, call->args[1]->span,
			    "llhist() base must be 2..65535 (%lld provided)", (long long)base);
	else if (low < 0 || low > LLHIST_MAX_ORDER)
		check_error(c, call->args[2]->span,
			    "llhist() low order of magnitude must be 0..%d (%lld provided)",
			    LLHIST_MAX_ORDER, (long long)low);
	else if (high < low)
		check_error(c, call->args[3]->span,
			    "llhist() high order of magnitude must not be less than the low one "
			    "(%lld and %lld provided)",
			    (long long)high, (long long)low);
	else if (high > LLHIST_MAX_ORDER || !fits((u64)base, high))
		check_error(c, call->args[3]->span,
			    "llhist() %lld to the power of %lld overflows 64 bits", (long long)base,
			    (long long)high + 1);
	else if (steps < base || steps > LLHIST_MAX_BUCKETS)
		check_error(c, call->args[4]->span,
			    "llhist() steps must be at least the base, %lld, and at most %d (%lld "
			    "provided)",
			    (long long)base, LLHIST_MAX_BUCKETS, (long long)steps);
	else if (!divides((u64)base, (u64)steps))
		check_error(c, call->args[4]->span,
			    "llhist() base (%lld) must divide steps (%lld), and steps a power of "
			    "base",
			    (long long)base, (long long)steps);
	else
		return true;
	check_hint(c, "llhist(n, 10, 0, 6, 20): from 1 to 10^7, 18 buckets for each power of ten");
	return false;
}

static void check_llhist(struct check *c, struct expr *call)
{
	struct llhist h = {10, 0, 0, 10};
	s64 values[4];
	bool good = true;

	aggregate_check_number(c, call);
	call->type = type_llhist(c->types, &h);
	for (u32 i = 0; i < 4; i++)
		good = check_arg_constant(c, call, i + 1, &values[i]) && good;
	if (!good || !check_scale(c, call, values[0], values[1], values[2], values[3]))
		return;
	h = (struct llhist){(u32)values[0], (u32)values[1], (u32)values[2], (u32)values[3]};
	if (llhist_buckets(&h) > LLHIST_MAX_BUCKETS) {
		check_error(c, call->span,
			    "llhist() too many buckets, must be <= %d (would need %u)",
			    LLHIST_MAX_BUCKETS, llhist_buckets(&h));
		return;
	}
	call->type = type_llhist(c->types, &h);
}

/* n within one order: the bucket is first + (n - from) / width. */
static void order_bucket(struct ir_function *f, ir_reg bucket, ir_reg n,
			 const struct llhist_order *o)
{
	ir_reg r = ir_binary(f, IR_SUB, n, ir_const(f, (s64)o->from));

	if (o->width > 1)
		r = ir_binary(f, IR_DIV, r, ir_const(f, (s64)o->width));
	ir_assign(f, bucket, ir_binary_imm(f, IR_ADD, r, o->first_bucket));
}

ir_reg aggregate_llhist_bucket(struct ir_function *f, ir_reg n, const struct llhist *h)
{
	const u32 end = ir_block_new(f, "llhist.bucket");
	ir_reg bucket = ir_reg_new(f);
	struct llhist_order o;
	u32 next = ir_block_new(f, "llhist.order"), inside;

	llhist_begin(h, &o);
	ir_assign_const(f, bucket, 0);
	ir_branch(f, IR_SLT, n, ir_const(f, (s64)o.from), end, next);
	for (u32 m = h->low; m <= h->high; m++) {
		ir_switch_to(f, next);
		inside = ir_block_new(f, "llhist.inside");
		next = ir_block_new(f, "llhist.order");
		ir_branch(f, IR_SLT, n, ir_const(f, (s64)o.to), inside, next);
		ir_switch_to(f, inside);
		order_bucket(f, bucket, n, &o);
		ir_jump(f, end);
		if (m < h->high)
			llhist_next(h, &o);
	}
	ir_switch_to(f, next);
	ir_assign_const(f, bucket, o.first_bucket + o.buckets);
	ir_jump(f, end);
	ir_switch_to(f, end);
	return bucket;
}

static void lower_llhist(struct lower *l, struct expr *call, struct value *ret)
{
	const struct llhist h = type_llhist_of(call->type);
	ir_reg n, bucket, element;
	u32 end;

	if (!aggregate_is_usable(l, call, ret))
		return;
	n = lower_scalar(l, call->args[0]);
	bucket = aggregate_llhist_bucket(l->f, n, &h);
	end = ir_block_new(l->f, "llhist.end");
	element = aggregate_element(l, call, bucket, end);
	lower_add(l, l->assign_map, element, 0, ir_const(l->f, 1));
	aggregate_end(l, end);
}

/* ---- stddev ---- */

static void check_stddev(struct check *c, struct expr *call)
{
	aggregate_check_number(c, call);
	call->type = type_simple(TYPE_STDDEV);
	if (!c->options->features.atomic_fetch)
		check_error(c, call->span,
			    "Missing required kernel feature: atomic fetch-and-add (Linux 5.12)");
}

/*
 * 1 if sum = x + part wrapped around: part > sum. Without a branch, which would double the
 * verifier's paths.
 */
static ir_reg carry_of(struct ir_function *f, ir_reg sum, ir_reg part)
{
	const ir_reg not = ir_binary_imm(f, IR_XOR, sum, -1);
	const ir_reg both = ir_binary(f, IR_AND, not, part);
	const ir_reg any = ir_binary(f, IR_OR, not, part);
	const ir_reg less = ir_binary(f, IR_OR, both,
				      ir_binary(f, IR_AND, any, ir_binary(f, IR_SUB, sum, part)));

	return ir_binary_imm(f, IR_SHR, less, 63);
}

/* |n| * |n| in 128 bits, by halves: (a 2^32 + b)^2 = a^2 2^64 + 2ab 2^32 + b^2. */
static void square(struct ir_function *f, ir_reg n, ir_reg *ret_low, ir_reg *ret_high)
{
	/* n ^ s - s with s = n >> 63 (all ones if negative). */
	const ir_reg sign = ir_binary_imm(f, IR_SAR, n, 63);
	const ir_reg size = ir_binary(f, IR_SUB, ir_binary(f, IR_XOR, n, sign), sign);
	const ir_reg a = ir_binary_imm(f, IR_SHR, size, 32);
	const ir_reg b = ir_binary_imm(f, IR_SHR, ir_binary_imm(f, IR_SHL, size, 32), 32);
	const ir_reg ab = ir_binary(f, IR_MUL, a, b); /* below 2^63: twice it fits */
	ir_reg low = ir_binary(f, IR_MUL, b, b), high = ir_binary(f, IR_MUL, a, a), middle;

	/* 2ab 2^32 = ab 2^33: its upper 31 bits go to high. */
	high = ir_binary(f, IR_ADD, high, ir_binary_imm(f, IR_SHR, ab, 31));
	middle = ir_binary_imm(f, IR_SHL, ab, 33);
	low = ir_binary(f, IR_ADD, low, middle);
	*ret_low = low;
	*ret_high = ir_binary(f, IR_ADD, high, carry_of(f, low, middle));
}

/*
 * The lower half is added atomically, and its old value tells whether it wrapped: exact even if
 * another program interrupts this one on the same CPU.
 */
static void lower_stddev(struct lower *l, struct expr *call, struct value *ret)
{
	struct ir_function *f = l->f;
	ir_reg n, low, high, element, old;
	u32 end;

	if (!aggregate_is_usable(l, call, ret))
		return;
	n = lower_scalar(l, call->args[0]);
	square(f, n, &low, &high);
	end = ir_block_new(f, "stddev.end");
	element = aggregate_element(l, call, 0, end);
	lower_add(l, l->assign_map, element, 0, n);
	lower_add(l, l->assign_map, element, 8, ir_const(f, 1));
	old = ir_reg_new(f);
	ir_add(f, (struct ir_insn){.op = IR_ATOMIC_ADD,
				   .size = 8,
				   .dst = old,
				   .a = element,
				   .imm = 16,
				   .b = low});
	high = ir_binary(f, IR_ADD, high, carry_of(f, ir_binary(f, IR_ADD, old, low), low));
	lower_add(l, l->assign_map, element, 24, high);
	aggregate_end(l, end);
}

#define AGGREGATION (BUILTIN_CALL | BUILTIN_AGGREGATION)

const struct builtin builtins_statistics[] = {
	{"llhist", "llhist_t llhist(int64 n, const base, const low, const high, const steps)",
	 "A log-linear histogram (DTrace's llquantize): each power of base from base^low to "
	 "base^(high+1) in linear buckets as wide as its upper end / steps, and one bucket for "
	 "what is below and above.",
	 "", AGGREGATION, 5, 5, check_llhist, lower_llhist},
	{"stddev", "stddev_t stddev(int64 n)",
	 "The standard deviation of all n as an integer; squares are summed in 128 bits.", "5.12",
	 AGGREGATION, 1, 1, check_stddev, lower_stddev},
	{0},
};
