/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions over maps. */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"

/* The result of check(): the map, and the key expressions if one element is meant. */
struct map_plan {
	struct map_symbol *map;
	struct expr **keys;
	u32 nkeys;
	bool is_stack; /* len(stack) */
};

static struct map_plan *plan_of(struct check *c, struct expr *call)
{
	if (!call->annotation)
		call->annotation = arena_new(c->arena, struct map_plan);
	return call->annotation;
}

static bool is_bucketed(const struct map_symbol *m)
{
	return m->value && type_is_bucketed(m->value);
}

/* Buckets that an element of a histogram may have: bucket numbers are below this. */
static u32 bucket_count(const struct type *t)
{
	if (t->kind == TYPE_LHIST)
		return 2 + (t->lhist_max - t->lhist_min) / t->lhist_step;
	if (t->kind == TYPE_LLHIST) {
		const struct llhist h = type_llhist_of(t);

		return llhist_buckets(&h);
	}
	if (t->kind == TYPE_TSERIES)
		return type_tseries_of(t).count;
	return ((64 - t->hist_bits + 1) << t->hist_bits) + 1;
}

/* The second argument is a key; a literal tuple stands for several keys. */
static void check_key(struct check *c, struct expr *call, struct map_plan *plan, const char *what)
{
	struct expr *key = call->args[1];

	check_expr(c, key);
	plan->keys = key->kind == EXPR_TUPLE ? key->args : &call->args[1];
	plan->nkeys = key->kind == EXPR_TUPLE ? key->nargs : 1;
	if (!plan->map)
		return;
	if (plan->map->key && plan->map->key->kind == TYPE_NONE) {
		check_error(c, call->span,
			    "call to %s expects a map with explicit keys (non-scalar map)", what);
		return;
	}
	if (check_known(c, key))
		check_map_key(c, plan->map, plan->keys, plan->nkeys, call->span);
}

/* ---- clear, zero ---- */

static void check_clear(struct check *c, struct expr *call)
{
	struct map_plan *plan = plan_of(c, call);

	call->type = type_none();
	plan->map = check_arg_map(c, call, 0);
}

static void lower_clear(struct lower *l, struct expr *call, struct value *ret)
{
	const struct map_plan *plan = call->annotation;
	const enum action_kind kind = call->builtin->name[0] == 'c' ? ACTION_CLEAR : ACTION_ZERO;
	const u32 action = lower_action(l, kind, NULL, 0, call->span);

	l->script->actions.items[action].map = plan->map->index;
	lower_send(l, action, NULL, 0, call->span);
	*ret = (struct value){0};
}

/* ---- delete ---- */

static void check_delete(struct check *c, struct expr *call)
{
	struct map_plan *plan = plan_of(c, call);
	struct expr *e = call->args[0];

	call->type = type_bool();
	if (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP &&
	    call->nargs == 1) { /* delete(@m[k]), the older form */
		plan->map = check_map_symbol(c, e->left->name, e->left->span);
		plan->keys = e->args;
		plan->nkeys = e->nargs;
		for (u32 i = 0; i < e->nargs; i++)
			check_expr(c, e->args[i]);
		check_map_key(c, plan->map, e->args, e->nargs, e->span);
		return;
	}
	if (e->kind != EXPR_MAP) {
		check_error(c, e->span, "delete() expects a map argument");
		return;
	}
	plan->map = check_arg_map(c, call, 0);
	if (call->nargs == 2) {
		check_key(c, call, plan, "delete() with two arguments");
		return;
	}
	if (plan->map && plan->map->key && plan->map->key->kind != TYPE_NONE) {
		check_error(c, call->span,
			    "call to delete() with a single argument expects a map without "
			    "explicit keys (scalar map)");
		check_hint(c, "clear(@%s) deletes all keys", plan->map->name);
	} else if (plan->map) {
		check_map_key(c, plan->map, NULL, 0, call->span);
	}
}

/*
 * Calls helper(map, key) for each bucket of a histogram's key and returns the smallest result: 0
 * means that one existed.
 */
static ir_reg each_bucket(struct lower *l, struct map_symbol *m, ir_reg key, u32 helper)
{
	const u32 count = bucket_count(m->value);
	const bool has_switch = l->script->maps.items[m->index].switched;
	ir_reg any = ir_const(l->f, 0), r, map;
	struct lower_loop loop;
	u32 hit, next;

	map = has_switch ? lower_map_pointer(l, m) : 0;
	lower_loop_begin(l, &loop, ir_const(l->f, count), count);
	ir_store(l->f, key, lower_bucket_offset(m), 8, loop.index);
	r = ir_call_n(l->f, helper, has_switch ? map : lower_map_address(l, m->index), key);
	if (helper == BPF_FUNC_map_delete_elem)
		r = builtin_test(l, IR_EQ, r, 0);
	hit = ir_block_new(l->f, "bucket.hit");
	next = ir_block_new(l->f, "bucket.next");
	ir_branch_imm(l->f, IR_NE, r, 0, hit, next);
	ir_switch_to(l->f, hit);
	ir_assign_const(l->f, any, 1);
	ir_jump(l->f, next);
	ir_switch_to(l->f, next);
	lower_loop_end(l, &loop);
	return any;
}

static void lower_delete(struct lower *l, struct expr *call, struct value *ret)
{
	const struct map_plan *plan = call->annotation;
	struct map_symbol *m = plan->map;
	u32 action;
	ir_reg key, r;

	if (is_bucketed(m) &&
	    !plan->nkeys) { /* an array cannot delete; the engine clears it on all CPUs */
		action = lower_action(l, ACTION_CLEAR, NULL, 0, call->span);
		l->script->actions.items[action].map = m->index;
		lower_send(l, action, NULL, 0, call->span);
		*ret = value_constant(call->type, 1);
		return;
	}
	key = lower_map_key(l, m, plan->keys, plan->nkeys, call->span);
	if (is_bucketed(m)) {
		*ret = value_register(call->type, each_bucket(l, m, key, BPF_FUNC_map_delete_elem));
		return;
	}
	r = lower_map_delete(l, m, key);
	lower_helper_error(l, BPF_FUNC_map_delete_elem, r, call->span);
	*ret = value_register(call->type, builtin_test(l, IR_EQ, r, 0));
}

/* ---- has_key, find ---- */

static void check_has_key(struct check *c, struct expr *call)
{
	struct map_plan *plan = plan_of(c, call);

	call->type = type_bool();
	plan->map = check_arg_map(c, call, 0);
	check_key(c, call, plan, "has_key()");
	if (plan->map)
		plan->map->is_read = true;
}

static void lower_has_key(struct lower *l, struct expr *call, struct value *ret)
{
	const struct map_plan *plan = call->annotation;
	ir_reg key = lower_map_key(l, plan->map, plan->keys, plan->nkeys, call->span), r;

	if (is_bucketed(plan->map))
		r = each_bucket(l, plan->map, key, BPF_FUNC_map_lookup_elem);
	else
		r = builtin_test(l, IR_NE, lower_map_lookup(l, plan->map, key), 0);
	*ret = value_register(call->type, r);
}

/*
 * find(@m, k, $v) is `if has_key { $v = @m[k] }`: the assignment is a statement of its own, made
 * once.
 */
static struct stmt *make_assignment(struct check *c, struct expr *call, const struct map_plan *plan)
{
	struct expr *index = arena_new(c->arena, struct expr),
		    *value = arena_new(c->arena, struct expr);
	struct stmt *s = arena_new(c->arena, struct stmt);

	*index = (struct expr){.kind = EXPR_INDEX,
			       .span = call->span,
			       .left = call->args[0],
			       .args = plan->keys,
			       .nargs = plan->nkeys};
	*value = *index;
	*s = (struct stmt){
		.kind = STMT_ASSIGN, .span = call->span, .target = call->args[2], .value = value};
	return s;
}

struct find_plan {
	struct map_plan plan; /* first: shared with has_key */
	struct stmt *assignment;
};

static void check_find(struct check *c, struct expr *call)
{
	struct find_plan *plan = call->annotation;
	struct expr *target = call->args[2];
	struct expr *value;

	if (!plan)
		call->annotation = plan = arena_new(c->arena, struct find_plan);
	call->type = type_bool();
	plan->plan.map = check_arg_map(c, call, 0);
	check_key(c, call, &plan->plan, "find");
	if (target->kind != EXPR_VARIABLE) {
		check_error(c, target->span, "find() expects a variable as its third argument");
		return;
	}
	if (!plan->assignment)
		plan->assignment = make_assignment(c, call, &plan->plan);
	value = plan->assignment->value;
	check_expr(c, value);
	target->variable = check_variable_target(c, target->name, value->type, target->span);
	check_variable_use(c, target->variable);
	target->variable->is_assigned = true;
	/* If nothing is found, the variable keeps its value, or is zero. */
	if (target->variable->span.begin == target->span.begin)
		target->variable->is_leaked = true;
	if (check_known(c, value))
		check_variable_assign(c, target->variable, value->type, value->space, target->span);
	target->type = target->variable->type;
}

static void lower_find(struct lower *l, struct expr *call, struct value *ret)
{
	const struct find_plan *plan = call->annotation;
	const u32 found = ir_block_new(l->f, "find.found"), end = ir_block_new(l->f, "find.end");
	struct value has;
	ir_reg r;

	lower_has_key(l, call, &has);
	r = ir_move(l->f, has.reg);
	ir_branch_imm(l->f, IR_NE, r, 0, found, end);
	ir_switch_to(l->f, found);
	lower_stmt(l, plan->assignment);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	*ret = value_register(call->type, r);
}

/* ---- len ---- */

static void check_len(struct check *c, struct expr *call)
{
	struct map_plan *plan = plan_of(c, call);
	struct expr *e = call->args[0];

	call->type = type_int(8, true);
	plan->is_stack = e->kind != EXPR_MAP;
	if (e->kind == EXPR_MAP) {
		plan->map = check_arg_map(c, call, 0);
		if (!plan->map)
			return;
		plan->map->is_read = true;
		/*
		 * @s = kstack: a scalar map that holds a stack is a value; its frames are counted,
		 * not its elements.
		 */
		if (plan->map->key && plan->map->key->kind == TYPE_NONE) {
			if (plan->map->value && (plan->map->value->kind == TYPE_KSTACK ||
						 plan->map->value->kind == TYPE_USTACK)) {
				plan->is_stack = true;
				check_expr(c, e);
			} else {
				check_error(c, call->span,
					    "call to len() expects a map with explicit keys "
					    "(non-scalar map)");
			}
		} else if (is_bucketed(plan->map)) {
			check_error(c, call->span,
				    "len() cannot count the keys of a map of histograms");
		} else if (!c->options->features.for_each_map) {
			check_error(c, call->span,
				    "len() of a map needs bpf_for_each_map_elem (Linux 5.13)");
		}
		return;
	}
	check_expr(c, e);
	if (check_known(c, e) && e->type->kind != TYPE_KSTACK && e->type->kind != TYPE_USTACK)
		check_error(c, call->span, "call to len() expects a map, ustack, or kstack");
}

/* bpf_for_each_map_elem() returns how many elements it visited; the callback does nothing. */
static ir_reg count_elements(struct lower *l, struct map_symbol *m)
{
	struct ir_function *outer = l->f, *callback = ir_function_new(l->ir, "count_element");
	ir_reg function = ir_reg_new(outer), context;

	callback->is_callback = true;
	callback->nparams = 4;
	if (!callback->blocks.len)
		ir_switch_to(callback, ir_block_new(callback, "entry"));
	ir_return(callback, 0);
	ir_add(outer, (struct ir_insn){.op = IR_FUNCTION,
				       .dst = function,
				       .imm = ir_function_index(l->ir, callback)});
	context = ir_slot_address(outer, ir_slot(outer, 8, 8, "count context"));
	ir_store_imm(outer, context, 0, 8, 0);
	outer->slots.items[outer->slots.len - 1].force_stack = true;
	return ir_call_n(outer, BPF_FUNC_for_each_map_elem, lower_map_address(l, m->index),
			 function, context, ir_const(outer, 0));
}

/* The count that lies before the frames. */
static ir_reg count_frames(struct lower *l, struct expr *e)
{
	const u32 map =
		builtin_map(l->script, e->type->kind == TYPE_KSTACK ? MAP_KSTACKS : MAP_USTACKS);
	const u32 found = ir_block_new(l->f, "len.found"), end = ir_block_new(l->f, "len.end");
	ir_reg count = ir_reg_new(l->f), id, element;
	struct value v;

	lower_expr(l, e, &v);
	if (v.kind == VALUE_MEMORY) {
		v = lower_materialise(l, &v, e->span);
		id = ir_load(l->f, v.reg, v.constant, 8, false);
	} else {
		id = lower_to_register(l, &v);
	}
	ir_assign_const(l->f, count, 0);
	element = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, map),
			    builtin_spill(l, id, "stack id"));
	ir_branch_imm(l->f, IR_NE, element, 0, found, end);
	ir_switch_to(l->f, found);
	ir_assign(l->f, count, ir_load(l->f, element, 0, 4, false));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return count;
}

static void lower_len(struct lower *l, struct expr *call, struct value *ret)
{
	const struct map_plan *plan = call->annotation;

	*ret = value_register(call->type, plan->is_stack ? count_frames(l, call->args[0])
							 : count_elements(l, plan->map));
}

const struct builtin builtins_map[] = {
	{"clear", "void clear(@map)", "Deletes all keys of a map, when the request is processed.",
	 "", BUILTIN_CALL | BUILTIN_STATEMENT | BUILTIN_RAW_ARGS, 1, 1, check_clear, lower_clear},
	{"zero", "void zero(@map)",
	 "Sets all values of a map to zero, when the request is processed.", "",
	 BUILTIN_CALL | BUILTIN_STATEMENT | BUILTIN_RAW_ARGS, 1, 1, check_clear, lower_clear},
	{"delete", "bool delete(@map, key) | delete(@map[key]) | delete(@scalar)",
	 "Deletes one key of a map; false if it was not there.", "",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 2, check_delete, lower_delete},
	{"has_key", "bool has_key(@map, key)", "True if the map has the key.", "",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 2, 2, check_has_key, lower_has_key},
	{"find", "bool find(@map, key, $value)",
	 "True if the map has the key, whose value is then put into the variable.", "",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 3, 3, check_find, lower_find},
	{"len", "int64 len(@map) | len(stack)",
	 "How many keys a map has, or how many frames a stack.", "5.13",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 1, check_len, lower_len},
	{0},
};
