/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions: literals, names, calls, conditional values, casts, tuples. */
#include "lang/builtin/kernel_call.h"
#include "lang/lower/internal.h"

ir_reg lower_scalar(struct lower *l, struct expr *e)
{
	struct value v;

	lower_expr(l, e, &v);
	return lower_to_register(l, &v);
}

struct value lower_string_literal(struct lower *l, const char *text, u32 len, const struct type *t)
{
	struct value v;
	ir_reg slot;

	lower_slot(l, t, "literal", &slot);
	for (u32 done = 0; done < t->size;) {
		u32 step = 8;
		u64 chunk = 0;

		while (step > t->size - done)
			step /= 2;
		if (done < len)
			memcpy(&chunk, text + done, MIN(step, len - done));
		if (done >= len && t->size - done > INLINE_BYTES) {
			lower_zero(l, slot, done, t->size - done);
			break;
		}
		ir_store_imm(l->f, slot, done, step, step == 4 ? (s32)chunk : (s64)chunk);
		done += step;
	}
	v = value_memory(t, slot, 0, SPACE_BPF);
	v.is_zero_padded = true;
	return v;
}

/* ---- conditions ---- */

void lower_condition(struct lower *l, struct expr *e, u32 then, u32 otherwise)
{
	u32 next;

	if (e->is_comptime_known && type_is_integer(e->type)) {
		ir_jump(l->f, e->integer ? then : otherwise);
		return;
	}
	if (e->kind == EXPR_UNARY && e->op == OP_NOT) {
		lower_condition(l, e->left, otherwise, then);
		return;
	}
	if (e->kind == EXPR_BINARY && (e->op == OP_LAND || e->op == OP_LOR)) {
		next = ir_block_new(l->f, op_names[e->op]);
		lower_condition(l, e->left, e->op == OP_LAND ? next : then,
				e->op == OP_LAND ? otherwise : next);
		ir_switch_to(l->f, next);
		lower_condition(l, e->right, then, otherwise);
		return;
	}
	if (e->kind == EXPR_BINARY && op_is_comparison(e->op) &&
	    lower_compare_branch(l, e, then, otherwise))
		return;
	ir_branch_imm(l->f, IR_NE, lower_scalar(l, e), 0, then, otherwise);
}

static void lower_truth(struct lower *l, struct expr *e, struct value *ret)
{
	const u32 yes = ir_block_new(l->f, "true"), no = ir_block_new(l->f, "false"),
		  end = ir_block_new(l->f, "truth");
	ir_reg r = ir_reg_new(l->f);

	lower_condition(l, e, yes, no);
	ir_switch_to(l->f, yes);
	ir_assign_const(l->f, r, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, no);
	ir_assign_const(l->f, r, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	*ret = value_register(type_bool(), r);
}

/* Where the branches of a conditional expression put their value. */
struct branch_result {
	const struct type *type;
	ir_reg reg;
	u32 slot;
	bool in_memory;
};

static struct branch_result branch_begin(struct lower *l, const struct type *t)
{
	struct branch_result r = {.type = t};
	ir_reg address;

	if (type_is(t, TYPE_NONE) || type_is(t, TYPE_VOID))
		return r;
	r.in_memory = !type_is_scalar(t);
	if (r.in_memory)
		r.slot = lower_slot(l, t, "choice", &address);
	else
		r.reg = ir_reg_new(l->f);
	return r;
}

static void branch_leave(struct lower *l, const struct branch_result *r, const struct value *v,
			 u32 end, struct span at)
{
	if (r->in_memory)
		lower_store_value(l, ir_slot_address(l->f, r->slot), 0, r->type, v, at);
	else if (r->reg)
		ir_assign(l->f, r->reg, lower_to_register(l, v));
	ir_jump(l->f, end);
}

static void branch_end(struct lower *l, const struct branch_result *r, struct value *ret)
{
	if (r->in_memory) {
		*ret = value_memory(r->type, ir_slot_address(l->f, r->slot), 0, SPACE_BPF);
		ret->is_zero_padded = true;
	} else if (r->reg) {
		*ret = value_register(r->type, r->reg);
	}
}

static void lower_ternary(struct lower *l, struct expr *e, struct value *ret)
{
	const u32 yes = ir_block_new(l->f, "then"), no = ir_block_new(l->f, "else"),
		  end = ir_block_new(l->f, "chosen");
	const struct branch_result r = branch_begin(l, e->type);
	struct value v = {0};

	if (e->left) {
		lower_condition(l, e->condition, yes, no);
	} else { /* a ?: b evaluates a once */
		lower_expr(l, e->condition, &v);
		ir_branch_imm(l->f, IR_NE, lower_to_register(l, &v), 0, yes, no);
	}
	ir_switch_to(l->f, yes);
	if (e->left)
		lower_expr(l, e->left, &v);
	branch_leave(l, &r, &v, end, e->span);
	ir_switch_to(l->f, no);
	v = (struct value){0};
	if (e->right)
		lower_expr(l, e->right, &v);
	branch_leave(l, &r, &v, end, e->span);
	ir_switch_to(l->f, end);
	branch_end(l, &r, ret);
}

/* ---- unary operators and casts ---- */

ir_reg lower_convert(struct lower *l, ir_reg r, const struct type *from, const struct type *to)
{
	if (to->size >= 8 || !type_is_scalar(to))
		return r;
	if (type_is_integer(from) && from->size <= to->size && from->is_signed == to->is_signed)
		return r;
	if (type_is_integer(from) && from->size < to->size && !from->is_signed)
		return r;
	return ir_extend(l->f, r, to->size, to->is_signed);
}

static void lower_unary(struct lower *l, struct expr *e, struct value *ret)
{
	ir_reg r;

	switch (e->op) {
	case OP_NOT:
		lower_truth(l, e, ret);
		return;
	case OP_DEREF:
		lower_deref(l, e, ret);
		return;
	case OP_ADDRESS:
		lower_address_of(l, e, ret);
		return;
	case OP_NEG:
		r = ir_binary(l->f, IR_SUB, ir_const(l->f, 0), lower_scalar(l, e->left));
		break;
	default:
		r = ir_binary_imm(l->f, IR_XOR, lower_scalar(l, e->left), -1);
		break;
	}
	*ret = value_register(e->type, r);
}

static ir_reg is_not_zero(struct lower *l, ir_reg r)
{
	const u32 yes = ir_block_new(l->f, "nonzero"), end = ir_block_new(l->f, "bool");
	ir_reg result = ir_reg_new(l->f);

	ir_assign_const(l->f, result, 0);
	ir_branch_imm(l->f, IR_NE, r, 0, yes, end);
	ir_switch_to(l->f, yes);
	ir_assign_const(l->f, result, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

static void cast_from_memory(struct lower *l, struct expr *e, struct value *v, struct value *ret)
{
	static const struct type byte = {.kind = TYPE_INT, .size = 1};
	const struct type *to = e->type;

	if (type_is(to, TYPE_POINTER)) { /* an array is its address */
		*ret = value_register(to, lower_address(l, v->reg, v->constant));
		return;
	}
	if (type_is(to, TYPE_BOOL)) {
		v->type = &byte;
		*ret = value_register(to, is_not_zero(l, lower_to_register(l, v)));
		return;
	}
	if (type_is_scalar(to)) {
		struct value m = lower_materialise(l, v, e->span);
		ir_reg slot;

		lower_slot(l, type_int(8, false), "cast", &slot);
		ir_store_imm(l->f, slot, 0, 8, 0);
		lower_copy(l, slot, 0, m.reg, m.constant, MIN(8u, m.type->size));
		*ret = value_register(to, ir_extend(l->f, ir_load(l->f, slot, 0, 8, false),
						    to->size, to->is_signed));
		return;
	}
	*ret = *v;
	if (type_is(to, TYPE_STRING) && type_is(v->type, TYPE_STRING)) {
		*ret = lower_materialise(l, v, e->span); /* its type stays the smaller one */
		return;
	}
	ret->type = to;
	ret->is_zero_padded = false;
}

static void lower_cast(struct lower *l, struct expr *e, struct value *ret)
{
	const struct type *to = e->type;
	struct value v;
	ir_reg r, slot;

	lower_expr(l, e->left, &v);
	if (v.kind == VALUE_MEMORY && !type_is_scalar(v.type)) {
		cast_from_memory(l, e, &v, ret);
		return;
	}
	r = lower_to_register(l, &v);
	if (type_is(to, TYPE_BOOL)) {
		*ret = value_register(to, is_not_zero(l, r));
		return;
	}
	if (type_is(to, TYPE_POINTER) && type_is_integer(v.type) && v.type->size < 8) {
		/* An address has no sign: (int8 *)(int8)-1 is 0xff, as in bpftrace. */
		*ret = value_register(to, ir_extend(l->f, r, v.type->size, false));
		return;
	}
	if (type_is_scalar(to)) {
		*ret = value_register(to, lower_convert(l, r, v.type, to));
		return;
	}
	/* An integer as an array of smaller ones: its bytes. */
	lower_slot(l, to, "array", &slot);
	if (to->size != v.type->size)
		lower_zero(l, slot, 0, to->size);
	ir_store(l->f, slot, 0, MIN(v.type->size, to->size), r);
	*ret = value_memory(to, slot, 0, SPACE_BPF);
}

/* ---- the rest ---- */

static void lower_tuple(struct lower *l, struct expr *e, struct value *ret)
{
	const struct type *t = e->type;
	u32 slot, used = 0;
	ir_reg address;

	slot = lower_slot(l, t, "tuple", &address);
	for (u32 i = 0; i < t->count; i++)
		used += t->members[i].type->size;
	if (used != t->size)
		lower_zero(l, address, 0, t->size);
	for (u32 i = 0; i < e->nargs; i++) {
		struct value v;

		lower_expr(l, e->args[i], &v);
		lower_store_value(l, ir_slot_address(l->f, slot), t->members[i].offset,
				  t->members[i].type, &v, e->args[i]->span);
	}
	*ret = value_memory(t, ir_slot_address(l->f, slot), 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

static void lower_map_value(struct lower *l, struct expr *e, struct value *ret)
{
	const bool keyed = e->kind == EXPR_INDEX;
	const ir_reg key = lower_map_key(l, e->map, e->args, keyed ? e->nargs : 0, e->span);

	lower_map_read(l, e->map, key, ret, e->span);
}

static void lower_increment(struct lower *l, struct expr *e, struct value *ret)
{
	struct expr *target = e->left;
	const s64 unit = type_is(e->type, TYPE_POINTER) ? MAX(e->type->element->size, 1u) : 1;
	const s64 by = e->op == OP_ADD ? unit : -unit;
	ir_reg old, new;

	if (target->kind == EXPR_VARIABLE) {
		struct value v;

		lower_variable_read(l, target->variable, &v);
		old = ir_move(l->f, lower_to_register(l, &v));
		new = ir_binary_imm(l->f, IR_ADD, old, by);
		v = value_register(type_int(8, true), new);
		lower_variable_write(l, target->variable, &v, e->span);
	} else {
		const bool keyed = target->kind == EXPR_INDEX;
		const ir_reg key =
			lower_map_key(l, e->map, target->args, keyed ? target->nargs : 0, e->span);

		old = lower_map_increment(l, e->map, key, ir_const(l->f, by), true, e->span);
		new = ir_binary_imm(l->f, IR_ADD, old, by);
	}
	*ret = value_register(e->type, e->is_postfix ? old : new);
}

static void lower_block_value(struct lower *l, struct expr *e, struct value *ret)
{
	lower_block(l, e->block);
	if (e->left)
		lower_expr(l, e->left, ret);
}

static void lower_logical_or_binary(struct lower *l, struct expr *e, struct value *ret)
{
	if (e->op == OP_LAND || e->op == OP_LOR || op_is_comparison(e->op))
		lower_truth(l, e, ret);
	else
		lower_binary(l, e, ret);
}

static void lower_call(struct lower *l, struct expr *e, struct value *ret)
{
	if (e->builtin)
		e->builtin->lower(l, e, ret);
	else if (e->kind == EXPR_CALL && e->annotation)
		kernel_call_lower(l, e, ret);
	else
		lower_error(l, e->span, "Unknown function: '%s'", e->name);
}

static void lower_variable(struct lower *l, struct expr *e, struct value *ret)
{
	lower_variable_read(l, e->variable, ret);
	if (ret->kind == VALUE_REGISTER) /* what follows may change the variable */
		ret->reg = ir_move(l->f, ret->reg);
}

static void lower_comptime(struct lower *l, struct expr *e, struct value *ret)
{
	lower_expr(l, e->left, ret);
}

static void (*const lower_kinds[EXPR_COMPTIME + 1])(struct lower *, struct expr *,
						    struct value *) = {
	[EXPR_NAME] = lower_call,	    [EXPR_VARIABLE] = lower_variable,
	[EXPR_MAP] = lower_map_value,	    [EXPR_INDEX] = lower_index,
	[EXPR_MEMBER] = lower_member,	    [EXPR_UNARY] = lower_unary,
	[EXPR_INCREMENT] = lower_increment, [EXPR_BINARY] = lower_logical_or_binary,
	[EXPR_TERNARY] = lower_ternary,	    [EXPR_CALL] = lower_call,
	[EXPR_CAST] = lower_cast,	    [EXPR_TUPLE] = lower_tuple,
	[EXPR_RECORD] = lower_tuple,	    [EXPR_BLOCK] = lower_block_value,
	[EXPR_IF] = lower_ternary,	    [EXPR_COMPTIME] = lower_comptime,
};

void lower_expr(struct lower *l, struct expr *e, struct value *ret)
{
	const struct span outer = l->f->span;

	*ret = (struct value){.kind = VALUE_NONE, .type = e->type};
	l->f->span = e->span;
	if (e->is_comptime_known && type_is_integer(e->type)) {
		*ret = value_constant(e->type, e->integer);
	} else if (e->is_comptime_known && type_is(e->type, TYPE_STRING) && e->string.data) {
		*ret = lower_string_literal(l, e->string.data, e->string.len, e->type);
	} else if (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP) {
		lower_map_value(l, e, ret);
	} else if (lower_kinds[e->kind]) {
		lower_kinds[e->kind](l, e, ret);
	} else {
		lower_error(l, e->span, "This expression has no value");
	}
	l->f->span = outer;
}
