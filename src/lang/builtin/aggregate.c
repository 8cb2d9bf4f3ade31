/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggregations: `@m[key] = f(n)` updates the element in place. Each CPU has its own element, so
 * updates are exact without contention; the engine adds the CPUs up. Layouts: types/type.h.
 */
#include "lib/vm.h"
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

#define HIST_MAX_BITS	  5
#define LHIST_MAX_BUCKETS 1000

/* ---- checks ---- */

static enum type_kind kind_of(const struct expr *call)
{
	static const struct {
		const char *name;
		enum type_kind kind;
	} kinds[] = {
		{"count", TYPE_COUNT}, {"sum", TYPE_SUM}, {"min", TYPE_MIN},
		{"max", TYPE_MAX},     {"avg", TYPE_AVG}, {"stats", TYPE_STATS},
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_eq(kinds[i].name, call->builtin->name))
			return kinds[i].kind;
	return TYPE_COUNT;
}

static void check_count(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_COUNT);
}

/* The number that is aggregated; false while its type is unknown or wrong. */
bool aggregate_check_number(struct check *c, struct expr *call)
{
	if (!check_known(c, call->args[0]))
		return false;
	if (builtin_is_number(call->args[0]->type))
		return true;
	check_error(c, call->span, "%s() only supports integer arguments (%s provided)",
		    call->builtin->name, type_str(c->arena, call->args[0]->type));
	return false;
}

static void check_sum(struct check *c, struct expr *call)
{
	const enum type_kind kind = kind_of(call);
	const bool is_signed = aggregate_check_number(c, call) && call->args[0]->type->is_signed;
	const struct type *known = call->annotation;
	struct type *t;

	if (!known || known->is_signed != is_signed) {
		t = type_new(c->types, kind);
		t->size = type_simple(kind)->size;
		t->align = 8;
		t->is_signed = is_signed;
		t->is_complete = true;
		call->annotation = t;
	}
	call->type = call->annotation;
}

static void check_hist(struct check *c, struct expr *call)
{
	s64 bits = 0;

	aggregate_check_number(c, call);
	if (call->nargs > 1 && !check_arg_constant(c, call, 1, &bits))
		bits = 0;
	if (bits < 0 || bits > HIST_MAX_BITS) {
		check_error(c, call->span, "hist: bits %lld must be 0..5", (long long)bits);
		bits = 0;
	}
	call->type = type_hist(c->types, bits);
}

static void check_lhist(struct check *c, struct expr *call)
{
	s64 min = 0, max = 1, step = 1;
	u64 range;

	aggregate_check_number(c, call);
	call->type = type_lhist(c->types, 0, 1, 1);
	if (!check_arg_constant(c, call, 1, &min) || !check_arg_constant(c, call, 2, &max) ||
	    !check_arg_constant(c, call, 3, &step))
		return;
	range = (u64)max - (u64)min;
	if (step <= 0) {
		check_error(c, call->span, "lhist() step must be >= 1 (%lld provided)",
			    (long long)step);
	} else if (min > max) {
		check_error(c, call->span,
			    "lhist() min must be less than max (provided min %lld and max %lld)",
			    (long long)min, (long long)max);
	} else if (range / step > LHIST_MAX_BUCKETS) {
		check_error(c, call->span,
			    "lhist() too many buckets, must be <= 1000 (would need %llu)",
			    (unsigned long long)(range / step));
	} else if (range < (u64)step) {
		check_error(c, call->span,
			    "lhist() step is too large for the given range (provided step %lld for "
			    "range %llu)",
			    (long long)step, (unsigned long long)range);
	} else {
		call->type = type_lhist(c->types, min, max, step);
	}
}

/* ---- lowering ---- */

/* The element to update; goes to `end` when there is none. bucket 0 = not a histogram. */
ir_reg aggregate_element(struct lower *l, struct expr *call, ir_reg bucket, u32 end)
{
	struct map_symbol *m = l->assign_map;
	ir_reg key = lower_map_key(l, m, l->assign_keys, l->assign_nkeys, call->span);

	if (bucket)
		ir_store(l->f, key, lower_bucket_offset(m), 8, bucket);
	return lower_map_element(l, m, key, end, call->span);
}

bool aggregate_is_usable(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = (struct value){0};
	if (l->assign_map)
		return true;
	lower_error(l, call->span, "%s() must be assigned directly to a map", call->builtin->name);
	return false;
}

/* Programs in a process: true, and the aggregation is done. */
static bool count_in_process(struct lower *l, struct expr *call, ir_reg bucket, ir_reg n)
{
	if (!l->unit->context.in_process)
		return false;
	lower_process_count(l, l->assign_map, l->assign_keys, l->assign_nkeys, bucket, n,
			    call->span);
	return true;
}

void aggregate_end(struct lower *l, u32 end)
{
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

static void lower_count(struct lower *l, struct expr *call, struct value *ret)
{
	u32 end;
	ir_reg element;

	if (!aggregate_is_usable(l, call, ret))
		return;
	if (l->unit->context.in_process) {
		count_in_process(l, call, 0, ir_const(l->f, 1));
		return;
	}
	end = ir_block_new(l->f, "count.end");
	element = aggregate_element(l, call, 0, end);
	lower_add(l, l->assign_map, element, 0, ir_const(l->f, 1));
	aggregate_end(l, end);
}

/* sum; avg and stats, which also count. */
static void lower_sum(struct lower *l, struct expr *call, struct value *ret)
{
	u32 end;
	ir_reg element, n;

	if (!aggregate_is_usable(l, call, ret))
		return;
	n = lower_scalar(l, call->args[0]);
	if (count_in_process(l, call, 0, n))
		return;
	end = ir_block_new(l->f, "sum.end");
	element = aggregate_element(l, call, 0, end);
	lower_add(l, l->assign_map, element, 0, n);
	if (kind_of(call) != TYPE_SUM)
		lower_add(l, l->assign_map, element, 8, ir_const(l->f, 1));
	aggregate_end(l, end);
}

/*
 * {value, is_set}: the value is stored before is_set, so that a program that interrupts this one on
 * the same CPU sees no value yet or a real one.
 */
static void lower_extreme(struct lower *l, struct expr *call, struct value *ret)
{
	const bool is_signed = call->type->is_signed, is_max = kind_of(call) == TYPE_MAX;
	u32 end, compare, store;
	ir_reg element, n;
	enum ir_cond better;

	if (!aggregate_is_usable(l, call, ret))
		return;
	if (is_max)
		better = is_signed ? IR_SGT : IR_GT;
	else
		better = is_signed ? IR_SLT : IR_LT;
	n = lower_scalar(l, call->args[0]);
	if (count_in_process(l, call, 0, n))
		return;
	end = ir_block_new(l->f, "extreme.end");
	compare = ir_block_new(l->f, "extreme.compare");
	store = ir_block_new(l->f, "extreme.store");
	element = aggregate_element(l, call, 0, end);
	ir_branch_imm(l->f, IR_EQ, ir_load(l->f, element, 8, 8, false), 0, store, compare);
	ir_switch_to(l->f, compare);
	ir_branch(l->f, better, n, ir_load(l->f, element, 0, 8, false), store, end);
	ir_switch_to(l->f, store);
	ir_store(l->f, element, 0, 8, n);
	ir_store_imm(l->f, element, 8, 8, 1);
	aggregate_end(l, end);
}

/*
 * hist(n, k), bucket numbers as bpftrace has them:
 *	0		n < 0
 *	1 + n		n < 2^k
 *	1 + (A, B)	A = position of the highest bit of n, minus k, plus 1; B = the k bits below
 *			it
 *
 * The position is found by six halving steps. (2^s - 1 - n) >> 63 is 1 if n >= 2^s and 0 otherwise
 * for n >= 0: no branches, which would double the verifier's paths at each step.
 */
ir_reg aggregate_hist_bucket(struct ir_function *f, ir_reg n, u32 bits)
{
	const u32 negative = ir_block_new(f, "hist.negative"),
		  small = ir_block_new(f, "hist.small");
	const u32 positive = ir_block_new(f, "hist.positive"),
		  large = ir_block_new(f, "hist.large");
	const u32 end = ir_block_new(f, "hist.bucket");
	const u64 mask = (1ULL << bits) - 1;
	ir_reg bucket = ir_reg_new(f), rest, log, step;

	ir_branch_imm(f, IR_SLT, n, 0, negative, positive);
	ir_switch_to(f, negative);
	ir_assign_const(f, bucket, 0);
	ir_jump(f, end);
	ir_switch_to(f, positive);
	ir_branch_imm(f, IR_LE, n, mask, small, large);
	ir_switch_to(f, small);
	ir_assign(f, bucket, ir_binary_imm(f, IR_ADD, n, 1));
	ir_jump(f, end);
	ir_switch_to(f, large);
	rest = ir_move(f, n);
	log = ir_const(f, -(s64)bits);
	for (int i = 5; i >= 0; i--) {
		step = ir_binary(f, IR_SUB, ir_const(f, (1LL << (1 << i)) - 1), rest);
		step = ir_binary_imm(f, IR_SHR, step, 63);
		if (i)
			step = ir_binary_imm(f, IR_SHL, step, i);
		rest = ir_binary(f, IR_SHR, rest, step);
		log = ir_binary(f, IR_ADD, log, step);
	}
	rest = ir_binary_imm(f, IR_AND, ir_binary(f, IR_SHR, n, log), mask);
	log = ir_binary_imm(f, IR_SHL, ir_binary_imm(f, IR_ADD, log, 1), bits);
	ir_assign(f, bucket, ir_binary_imm(f, IR_ADD, ir_binary(f, IR_ADD, log, rest), 1));
	ir_jump(f, end);
	ir_switch_to(f, end);
	return bucket;
}

/* 0 below min, 1 + (n - min) / step, and 1 + (max - min) / step from max on. */
ir_reg aggregate_lhist_bucket(struct ir_function *f, ir_reg n, s64 min, s64 max, s64 step)
{
	const u32 inside = ir_block_new(f, "lhist.inside"),
		  not_below = ir_block_new(f, "lhist.not_below");
	const u32 above = ir_block_new(f, "lhist.above"), end = ir_block_new(f, "lhist.bucket");
	ir_reg bucket = ir_reg_new(f), r;

	ir_assign_const(f, bucket, 0);
	ir_branch(f, IR_SLT, n, ir_const(f, min), end, not_below);
	ir_switch_to(f, not_below);
	ir_branch(f, IR_SGE, n, ir_const(f, max), above, inside);
	ir_switch_to(f, above);
	ir_assign_const(f, bucket, 1 + (max - min) / step);
	ir_jump(f, end);
	ir_switch_to(f, inside);
	r = ir_binary(f, IR_SUB, n, ir_const(f, min));
	r = ir_binary(f, IR_DIV, r, ir_const(f, step));
	ir_assign(f, bucket, ir_binary_imm(f, IR_ADD, r, 1));
	ir_jump(f, end);
	ir_switch_to(f, end);
	return bucket;
}

static void lower_hist(struct lower *l, struct expr *call, struct value *ret)
{
	const struct type *t = call->type;
	u32 end;
	ir_reg element, n, bucket;

	if (!aggregate_is_usable(l, call, ret))
		return;
	n = lower_scalar(l, call->args[0]);
	if (t->kind == TYPE_LHIST)
		bucket = aggregate_lhist_bucket(l->f, n, t->lhist_min, t->lhist_max, t->lhist_step);
	else
		bucket = l->unit->context.in_process ? ir_call_n(l->f, PT_VM_BUCKET, n,
								 ir_const(l->f, (s64)t->hist_bits))
						     : aggregate_hist_bucket(l->f, n, t->hist_bits);
	if (l->unit->context.in_process) {
		count_in_process(l, call, bucket, ir_const(l->f, 1));
		return;
	}
	end = ir_block_new(l->f, "hist.end");
	element = aggregate_element(l, call, bucket, end);
	lower_add(l, l->assign_map, element, 0, ir_const(l->f, 1));
	aggregate_end(l, end);
}

#define AGGREGATION (BUILTIN_CALL | BUILTIN_AGGREGATION)

const struct builtin builtins_aggregate[] = {
	{"count", "count_t count()", "Counts how often it is called; exact on any number of CPUs.",
	 "", AGGREGATION, 0, 0, check_count, lower_count},
	{"sum", "sum_t sum(int64 n)", "The sum of all n; exact on any number of CPUs.", "",
	 AGGREGATION, 1, 1, check_sum, lower_sum},
	{"avg", "avg_t avg(int64 n)", "The average of all n.", "", AGGREGATION, 1, 1, check_sum,
	 lower_sum},
	{"min", "min_t min(int64 n)", "The smallest n.", "", AGGREGATION, 1, 1, check_sum,
	 lower_extreme},
	{"max", "max_t max(int64 n)", "The largest n.", "", AGGREGATION, 1, 1, check_sum,
	 lower_extreme},
	{"stats", "stats_t stats(int64 n)", "Count, average and total of all n.", "", AGGREGATION,
	 1, 1, check_sum, lower_sum},
	{"hist", "hist_t hist(int64 n [, const bits])",
	 "A histogram by powers of two; with bits (0 to 5) each power is split into 2^bits equal "
	 "buckets.",
	 "", AGGREGATION, 1, 2, check_hist, lower_hist},
	{"lhist", "lhist_t lhist(int64 n, const min, const max, const step)",
	 "A linear histogram from min to max with at most 1000 buckets of width step, and one for "
	 "what is below and above.",
	 "", AGGREGATION, 4, 4, check_lhist, lower_hist},
	{0},
};
