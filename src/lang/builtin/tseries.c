/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tseries(): the last intervals of a clock, each with one value. An element of the map holds
 * interval number N with N % count; its epoch tells which one, so that the first update of a new
 * interval replaces an old one.
 */
#include "lang/builtin/util.h"

#define TSERIES_MAX_INTERVALS 1000000

/* An element: types/type.h. */
#define ELEMENT_VALUE 0
#define ELEMENT_META  8
#define ELEMENT_EPOCH 16

static const char *const how_names[] = {
	[TSERIES_AVG] = "avg", [TSERIES_MAX] = "max", [TSERIES_MIN] = "min", [TSERIES_SUM] = "sum"};

static bool check_how(struct check *c, struct expr *call, enum tseries_how *ret)
{
	const char *name;

	*ret = TSERIES_LAST;
	if (call->nargs < 4)
		return true;
	if (!check_arg_literal_string(c, call, 3))
		return false;
	name = builtin_literal(call->args[3]);
	for (u32 i = TSERIES_AVG; i < ARRAY_SIZE(how_names); i++) {
		if (!str_eq(how_names[i], name))
			continue;
		*ret = i;
		return true;
	}
	check_error(c, call->span,
		    "tseries() expects one of the following aggregation functions: avg, max, min, "
		    "sum (\"%s\" provided)",
		    name);
	return false;
}

static void check_tseries(struct check *c, struct expr *call)
{
	struct tseries ts = {.interval_ns = 1, .count = 1};
	s64 interval, count;

	ts.is_signed = aggregate_check_number(c, call) && call->args[0]->type->is_signed;
	call->type = type_tseries(c->types, &ts);
	if (!check_arg_constant(c, call, 1, &interval) || !check_arg_constant(c, call, 2, &count) ||
	    !check_how(c, call, &ts.how))
		return;
	if (interval <= 0) {
		check_error(c, call->span, "tseries() interval_ns must be >= 1 (%lld provided)",
			    (long long)interval);
	} else if (count <= 0) {
		check_error(c, call->span, "tseries() num_intervals must be >= 1 (%lld provided)",
			    (long long)count);
	} else if (count > TSERIES_MAX_INTERVALS) {
		check_error(c, call->span, "tseries() num_intervals must be <= %d (%lld provided)",
			    TSERIES_MAX_INTERVALS, (long long)count);
	} else {
		ts.interval_ns = (u64)interval;
		ts.count = (u32)count;
		call->type = type_tseries(c->types, &ts);
	}
}

/* The wall clock, or the time that a test put into its map. */
static ir_reg time_of(struct lower *l, struct span at)
{
	const char *name = l->script->config.clock_map;
	struct map_symbol *m;
	struct value v;

	if (!name)
		return builtin_wall_clock(l);
	m = hashmap_gets(&l->check->maps, *name == '@' ? name + 1 : name);
	if (!m || !m->value || !type_is(m->key, TYPE_NONE) || !type_is(m->value, TYPE_INT)) {
		lower_error(l, at, "The map of the clock, %s, is not a number", name);
		return ir_const(l->f, 0);
	}
	lower_map_read(l, m, lower_map_key(l, m, NULL, 0, at), &v, at);
	return lower_to_register(l, &v);
}

/* element.value = the better of it and n; meta = 1. */
static void store_extreme(struct lower *l, const struct tseries *ts, ir_reg element, ir_reg n)
{
	const u32 compare = ir_block_new(l->f, "tseries.compare"),
		  store = ir_block_new(l->f, "tseries.store"),
		  end = ir_block_new(l->f, "tseries.stored");
	enum ir_cond better;

	if (ts->how == TSERIES_MAX)
		better = ts->is_signed ? IR_SGT : IR_GT;
	else
		better = ts->is_signed ? IR_SLT : IR_LT;
	ir_branch_imm(l->f, IR_EQ, ir_load(l->f, element, ELEMENT_META, 8, false), 0, store,
		      compare);
	ir_switch_to(l->f, compare);
	ir_branch(l->f, better, n, ir_load(l->f, element, ELEMENT_VALUE, 8, false), store, end);
	ir_switch_to(l->f, store);
	ir_store(l->f, element, ELEMENT_VALUE, 8, n);
	ir_store_imm(l->f, element, ELEMENT_META, 8, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

static void forget_old_interval(struct lower *l, ir_reg element, ir_reg epoch)
{
	const u32 old = ir_block_new(l->f, "tseries.old"),
		  current = ir_block_new(l->f, "tseries.current");

	ir_branch(l->f, IR_NE, ir_load(l->f, element, ELEMENT_EPOCH, 8, false), epoch, old,
		  current);
	ir_switch_to(l->f, old);
	ir_store_imm(l->f, element, ELEMENT_VALUE, 8, 0);
	ir_store_imm(l->f, element, ELEMENT_META, 8, 0);
	ir_jump(l->f, current);
	ir_switch_to(l->f, current);
}

static void update(struct lower *l, const struct tseries *ts, ir_reg element, ir_reg n, ir_reg time)
{
	switch (ts->how) {
	case TSERIES_LAST:
		ir_store(l->f, element, ELEMENT_VALUE, 8, n);
		ir_store(l->f, element, ELEMENT_META, 8, time);
		break;
	case TSERIES_MIN:
	case TSERIES_MAX:
		store_extreme(l, ts, element, n);
		break;
	case TSERIES_AVG:
		lower_add(l, l->assign_map, element, ELEMENT_META, ir_const(l->f, 1));
		lower_add(l, l->assign_map, element, ELEMENT_VALUE, n);
		break;
	case TSERIES_SUM:
		lower_add(l, l->assign_map, element, ELEMENT_VALUE, n);
		break;
	}
}

static void lower_tseries(struct lower *l, struct expr *call, struct value *ret)
{
	const struct tseries ts = type_tseries_of(call->type);
	ir_reg n, time, epoch, bucket, element;
	u32 end;

	if (!aggregate_is_usable(l, call, ret))
		return;
	n = lower_scalar(l, call->args[0]);
	time = time_of(l, call->span);
	epoch = ir_binary(l->f, IR_DIV, time, ir_const(l->f, (s64)ts.interval_ns));
	bucket = ir_binary(l->f, IR_MOD, epoch, ir_const(l->f, ts.count));
	end = ir_block_new(l->f, "tseries.end");
	element = aggregate_element(l, call, bucket, end);
	if (ts.how != TSERIES_LAST)
		forget_old_interval(l, element, epoch);
	update(l, &ts, element, n, time);
	ir_store(l->f, element, ELEMENT_EPOCH, 8, epoch);
	aggregate_end(l, end);
}

const struct builtin builtins_tseries[] = {
	{"tseries",
	 "tseries_t tseries(int64 n, const interval_ns, const num_intervals [, "
	 "\"avg|max|min|sum\"])",
	 "A time series: one value for each of the last num_intervals intervals; the last n of an "
	 "interval, or what the fourth argument makes of all of them.",
	 "", BUILTIN_CALL | BUILTIN_AGGREGATION, 3, 4, check_tseries, lower_tseries},
	{0},
};
