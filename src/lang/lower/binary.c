/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic and comparisons. */
#include "lang/lower/internal.h"

static const struct {
	enum ir_op with_unsigned, with_signed;
} arithmetic[] = {
	[OP_ADD] = {IR_ADD, IR_ADD},  [OP_SUB] = {IR_SUB, IR_SUB},  [OP_MUL] = {IR_MUL, IR_MUL},
	[OP_DIV] = {IR_DIV, IR_SDIV}, [OP_MOD] = {IR_MOD, IR_SMOD}, [OP_AND] = {IR_AND, IR_AND},
	[OP_OR] = {IR_OR, IR_OR},     [OP_XOR] = {IR_XOR, IR_XOR},  [OP_SHL] = {IR_SHL, IR_SHL},
	[OP_SHR] = {IR_SHR, IR_SAR},
};

static const struct {
	enum ir_cond with_unsigned, with_signed;
} comparisons[] = {
	[OP_EQ] = {IR_EQ, IR_EQ},  [OP_NE] = {IR_NE, IR_NE},  [OP_LT] = {IR_LT, IR_SLT},
	[OP_LE] = {IR_LE, IR_SLE}, [OP_GT] = {IR_GT, IR_SGT}, [OP_GE] = {IR_GE, IR_SGE},
};

/* The verifier refuses shifts and divisions by constants that are undefined. */
static bool odd_constant(struct lower *l, enum op op, ir_reg left, s64 c, bool unsigned_op,
			 ir_reg *ret)
{
	if ((op == OP_SHL || op == OP_SHR) && (u64)c > 63) {
		*ret = op == OP_SHR && !unsigned_op ? ir_binary_imm(l->f, IR_SAR, left, 63)
						    : ir_const(l->f, 0);
		return true;
	}
	return false;
}

/* A division by zero gives 1, with a warning. The machine itself would give 0, or the dividend. */
static ir_reg divide(struct lower *l, enum ir_op op, ir_reg a, ir_reg b, struct span at)
{
	const u32 plain = ir_block_new(l->f, "divide"), zero = ir_block_new(l->f, "divide.zero"),
		  end = ir_block_new(l->f, "divided");
	ir_reg r = ir_reg_new(l->f);

	ir_branch_imm(l->f, IR_EQ, b, 0, zero, plain);
	ir_switch_to(l->f, zero);
	lower_runtime_error(l,
			    "Divide or modulo by 0 detected. This can lead to unexpected results. "
			    "1 is being used as the result.",
			    at);
	ir_assign_const(l->f, r, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, plain);
	ir_assign(l->f, r, ir_binary(l->f, op, a, b));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return r;
}

static ir_reg scale(struct lower *l, const struct value *v, s64 unit)
{
	if (v->kind == VALUE_CONSTANT)
		return ir_const(l->f, v->constant * unit);
	return unit == 1 ? lower_to_register(l, v)
			 : ir_binary_imm(l->f, IR_MUL, lower_to_register(l, v), unit);
}

static s64 pointer_unit(const struct type *t)
{
	return type_is(t, TYPE_POINTER) && t->element->size ? t->element->size : 1;
}

static struct value pointer_arithmetic(struct lower *l, enum op op, const struct value *left,
				       const struct value *right, const struct type *type)
{
	const bool both = type_is(left->type, TYPE_POINTER) && type_is(right->type, TYPE_POINTER);
	ir_reg a, b;

	if (both) {
		a = ir_binary(l->f, IR_SUB, lower_to_register(l, left),
			      lower_to_register(l, right));
		return value_register(type,
				      ir_binary_imm(l->f, IR_SDIV, a, pointer_unit(left->type)));
	}
	a = scale(l, left, type_is(left->type, TYPE_POINTER) ? 1 : pointer_unit(right->type));
	b = scale(l, right, type_is(right->type, TYPE_POINTER) ? 1 : pointer_unit(left->type));
	return value_register(type, ir_binary(l->f, op == OP_ADD ? IR_ADD : IR_SUB, a, b));
}

struct value lower_arithmetic(struct lower *l, enum op op, const struct value *left,
			      const struct value *right, const struct type *type, bool unsigned_op,
			      struct span at)
{
	const enum ir_op o =
		unsigned_op ? arithmetic[op].with_unsigned : arithmetic[op].with_signed;
	const bool pointer =
		type_is(left->type, TYPE_POINTER) || type_is(right->type, TYPE_POINTER);
	ir_reg a, r;

	if (pointer && (op == OP_ADD || op == OP_SUB))
		return pointer_arithmetic(l, op, left, right, type);
	a = lower_to_register(l, left);
	if ((op == OP_DIV || op == OP_MOD) && (right->kind != VALUE_CONSTANT || !right->constant)) {
		r = divide(l, o, a, lower_to_register(l, right), at);
	} else if (right->kind == VALUE_CONSTANT) {
		if (!odd_constant(l, op, a, right->constant, unsigned_op, &r))
			r = ir_binary_imm(l->f, o, a, right->constant);
	} else {
		r = ir_binary(l->f, o, a, lower_to_register(l, right));
	}
	if (type_is(type,
		    /* true + true is true: the top bit of r | -r says that r is not 0 */
		    TYPE_BOOL))
		r = ir_binary_imm(
			l->f, IR_SHR,
			ir_binary(l->f, IR_OR, r, ir_binary(l->f, IR_SUB, ir_const(l->f, 0), r)),
			63);
	return value_register(type, r);
}

void lower_binary(struct lower *l, struct expr *e, struct value *ret)
{
	struct value left, right;

	lower_expr(l, e->left, &left);
	if (left.kind == VALUE_MEMORY) /* read before the other operand is */
		left = lower_fetch(l, &left);
	lower_expr(l, e->right, &right);
	*ret = lower_arithmetic(l, e->op, &left, &right, e->type, e->is_unsigned_literal, e->span);
}

/* ---- comparisons ---- */

static enum op swapped(enum op op)
{
	switch (op) {
	case OP_LT:
		return OP_GT;
	case OP_LE:
		return OP_GE;
	case OP_GT:
		return OP_LT;
	case OP_GE:
		return OP_LE;
	default:
		return op;
	}
}

static void compare_scalars(struct lower *l, struct expr *e, u32 then, u32 otherwise)
{
	struct value left, right;
	enum op op = e->op;
	enum ir_cond cond;

	lower_expr(l, e->left, &left);
	if (left.kind == VALUE_MEMORY)
		left = lower_fetch(l, &left);
	lower_expr(l, e->right, &right);
	if (left.kind == VALUE_CONSTANT) {
		const struct value v = left;

		left = right;
		right = v;
		op = swapped(op);
	}
	cond = e->is_unsigned_literal ? comparisons[op].with_unsigned : comparisons[op].with_signed;
	if (right.kind == VALUE_CONSTANT)
		ir_branch_imm(l->f, cond, lower_to_register(l, &left), right.constant, then,
			      otherwise);
	else
		ir_branch(l->f, cond, lower_to_register(l, &left), lower_to_register(l, &right),
			  then, otherwise);
}

/* Against a literal: its bytes are immediate operands. */
static bool compare_literal(struct lower *l, struct expr *string, struct expr *literal, u32 then,
			    u32 otherwise)
{
	struct value v;
	const u32 text = literal->string.len + 1;
	u32 n;

	if (!literal->is_comptime_known || !literal->string.data ||
	    !type_is(string->type, TYPE_STRING))
		return false;
	if (string->type->size < literal->string.len) { /* too short to be equal */
		lower_expr(l, string, &v);
		ir_jump(l->f, otherwise);
		return true;
	}
	if (text > INLINE_BYTES)
		return false;
	lower_expr(l, string, &v);
	v = lower_materialise(l, &v, string->span);
	n = MIN(text, v.type->size);
	for (u32 done = 0, step; done < n; done += step) {
		const u32 next = ir_block_new(l->f, "same");
		u64 chunk = 0;

		for (step = 8; step > n - done || ((v.constant + done) & (step - 1)); step /= 2)
			;
		memcpy(&chunk, literal->string.data + done, MIN(step, text - done));
		ir_branch_imm(l->f, IR_EQ, ir_load(l->f, v.reg, v.constant + done, step, false),
			      (s64)chunk, next, otherwise);
		ir_switch_to(l->f, next);
	}
	ir_jump(l->f, then);
	return true;
}

static void compare_aggregates(struct lower *l, struct expr *e, u32 then, u32 otherwise)
{
	struct value left, right;
	ir_reg equal;

	lower_expr(l, e->left, &left);
	left = lower_materialise(l, &left, e->span);
	lower_expr(l, e->right, &right);
	if (type_is(left.type, TYPE_STRING) && type_is(right.type, TYPE_STRING)) {
		equal = lower_compare_strings(l, &left, &right, 0, e->span);
	} else {
		const struct type *both = check_unify(l->check, left.type, right.type);
		ir_reg slot;

		right = lower_materialise(l, &right, e->span);
		if (both && !type_equal(both, left.type)) {
			lower_slot(l, both, "left", &slot);
			lower_store_value(l, slot, 0, both, &left, e->span);
			left = value_memory(both, slot, 0, SPACE_BPF);
		}
		if (both && !type_equal(both, right.type)) {
			lower_slot(l, both, "right", &slot);
			lower_store_value(l, slot, 0, both, &right, e->span);
			right = value_memory(both, slot, 0, SPACE_BPF);
		}
		equal = lower_compare_memory(l, left.reg, left.constant, right.reg, right.constant,
					     MIN(left.type->size, right.type->size));
	}
	ir_branch_imm(l->f, e->op == OP_EQ ? IR_NE : IR_EQ, equal, 0, then, otherwise);
}

bool lower_compare_branch(struct lower *l, struct expr *e, u32 then, u32 otherwise)
{
	const struct span outer = l->f->span;

	l->f->span = e->span;
	if (type_is_scalar(e->left->type) && type_is_scalar(e->right->type)) {
		compare_scalars(l, e, then, otherwise);
	} else {
		const u32 yes = e->op == OP_EQ ? then : otherwise,
			  no = e->op == OP_EQ ? otherwise : then;

		if (!compare_literal(l, e->left, e->right, yes, no) &&
		    !compare_literal(l, e->right, e->left, yes, no))
			compare_aggregates(l, e, then, otherwise);
	}
	l->f->span = outer;
	return true;
}
