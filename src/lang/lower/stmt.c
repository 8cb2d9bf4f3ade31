/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements. */
#include "lang/lower/internal.h"
#include "lang/check/thread_local.h"

static bool is_map(const struct expr *e)
{
	return e->kind == EXPR_MAP || (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP);
}

static u32 key_count(const struct expr *e)
{
	return e->kind == EXPR_INDEX ? e->nargs : 0;
}

static void assign_aggregation(struct lower *l, struct stmt *s)
{
	struct value ignored;

	l->assign_map = s->target->map;
	l->assign_keys = s->target->args;
	l->assign_nkeys = key_count(s->target);
	lower_expr(l, s->value, &ignored);
	l->assign_map = NULL;
	l->assign_keys = NULL;
	l->assign_nkeys = 0;
}

static bool is_unsigned_operation(enum op op, const struct type *left, const struct type *right)
{
	if (op == OP_SHL || op == OP_SHR)
		return !left->is_signed;
	return !(left->is_signed && (right->is_signed || right->size < 8));
}

static void compound(struct lower *l, struct stmt *s, const struct value *old, struct value *ret)
{
	struct value right, left = *old;
	const bool keeps = type_is(old->type, TYPE_POINTER) ||
			   (type_is(old->type, TYPE_BOOL) && type_is(s->value->type, TYPE_BOOL));
	const struct type *t = keeps ? old->type : type_int(8, old->type->is_signed);

	if (left.kind == VALUE_REGISTER)
		left.reg = ir_move(l->f, left.reg);
	lower_expr(l, s->value, &right);
	*ret = lower_arithmetic(
		l, s->op, &left, &right, t,
		is_unsigned_operation(s->op, left.type, right.type ? right.type : t), s->span);
}

static void compound_map(struct lower *l, struct stmt *s)
{
	struct map_symbol *m = s->target->map;
	struct value old, new;
	ir_reg key;

	if ((s->op == OP_ADD || s->op == OP_SUB) && type_is(m->value, TYPE_INT) &&
	    m->value->size == 8) {
		ir_reg amount = lower_scalar(l, s->value);

		if (s->op == OP_SUB)
			amount = ir_binary(l->f, IR_SUB, ir_const(l->f, 0), amount);
		key = lower_map_key(l, m, s->target->args, key_count(s->target), s->span);
		lower_map_increment(l, m, key, amount, false, s->span);
		return;
	}
	key = lower_map_key(l, m, s->target->args, key_count(s->target), s->span);
	lower_map_read(l, m, key, &old, s->span);
	compound(l, s, &old, &new);
	lower_map_write(l, m, key, &new, s->span);
}

static void assign_map(struct lower *l, struct stmt *s)
{
	struct value v;
	ir_reg key;

	if (s->op != OP_NONE) {
		compound_map(l, s);
		return;
	}
	if (type_is_aggregation(s->value->type)) {
		assign_aggregation(l, s);
		return;
	}
	if (thread_local_is(s->target->map->name) && s->value->is_comptime_known &&
	    type_is_integer(s->value->type) && !s->value->integer) { /* absent reads as 0, too */
		lower_map_delete(l, s->target->map,
				 lower_map_key(l, s->target->map, s->target->args,
					       key_count(s->target), s->span));
		return;
	}
	lower_expr(l, s->value, &v);
	key = lower_map_key(l, s->target->map, s->target->args, key_count(s->target), s->span);
	lower_map_write(l, s->target->map, key, &v, s->span);
}

static void lower_assign(struct lower *l, struct stmt *s)
{
	struct expr *target = s->target;
	struct value v, old;

	if (target && is_map(target)) {
		assign_map(l, s);
		return;
	}
	if (!target || target->kind != EXPR_VARIABLE) { /* _ = f() */
		lower_expr(l, s->value, &v);
		return;
	}
	if (s->op == OP_NONE) {
		lower_expr(l, s->value, &v);
	} else {
		lower_variable_read(l, target->variable, &old);
		compound(l, s, &old, &v);
	}
	lower_variable_write(l, target->variable, &v, s->span);
}

static void lower_let(struct lower *l, struct stmt *s)
{
	struct value v;

	if (!s->value) {
		lower_variable_zero(l, s->variable);
		return;
	}
	lower_expr(l, s->value, &v);
	lower_variable_write(l, s->variable, &v, s->span);
}

static void lower_if(struct lower *l, struct stmt *s)
{
	const struct expr *e = s->condition;
	u32 yes, no, end;

	if (e->is_comptime_known && type_is_integer(e->type)) {
		if (e->integer)
			lower_block(l, s->body);
		else if (s->else_body)
			lower_block(l, s->else_body);
		return;
	}
	yes = ir_block_new(l->f, "if");
	no = s->else_body ? ir_block_new(l->f, "else") : 0;
	end = ir_block_new(l->f, "endif");
	lower_condition(l, s->condition, yes, s->else_body ? no : end);
	ir_switch_to(l->f, yes);
	lower_block(l, s->body);
	ir_jump(l->f, end);
	if (s->else_body) {
		ir_switch_to(l->f, no);
		lower_block(l, s->else_body);
		ir_jump(l->f, end);
	}
	ir_switch_to(l->f, end);
}

/* `@x++` as a statement does not need the old value. */
static bool lower_plain_increment(struct lower *l, struct expr *e)
{
	struct expr *target = e->left;
	s64 by = e->op == OP_ADD ? 1 : -1;

	if (e->kind != EXPR_INCREMENT || !is_map(target))
		return false;
	if (type_is(e->type, TYPE_POINTER))
		by *= MAX(e->type->element->size, 1u);
	if (l->unit->context.in_process) {
		lower_process_count(l, e->map, target->args, key_count(target), 0,
				    ir_const(l->f, by), e->span);
		return true;
	}
	lower_map_increment(l, e->map,
			    lower_map_key(l, e->map, target->args, key_count(target), e->span),
			    ir_const(l->f, by), false, e->span);
	return true;
}

static void lower_return(struct lower *l, struct stmt *s)
{
	struct lower_private *p = lower_private(l);
	struct value v;

	if (l->function_end) {
		if (s->target)
			lower_assign(l, s);
		ir_jump(l->f, l->function_end);
		return;
	}
	if (s->value) {
		lower_expr(l, s->value, &v);
		if (p->has_result && p->frame)
			ir_store(l->f, p->frame, FRAME_RESULT, 8, lower_to_register(l, &v));
		else if (p->has_result)
			ir_assign(l->f, p->result, lower_to_register(l, &v));
	}
	ir_jump(l->f, l->return_block);
}

static void lower_function(struct lower *l, struct block *b)
{
	const u32 outer = l->function_end;

	l->function_end = ir_block_new(l->f, "function.end");
	lower_block(l, b);
	ir_jump(l->f, l->function_end);
	ir_switch_to(l->f, l->function_end);
	l->function_end = outer;
}

static void lower_expression(struct lower *l, struct stmt *s)
{
	struct value ignored;

	if (!lower_plain_increment(l, s->value))
		lower_expr(l, s->value, &ignored);
}

void lower_stmt(struct lower *l, struct stmt *s)
{
	const u32 mark = lower_slot_mark(l);
	const struct span outer = l->f->span;

	l->f->span = s->span;
	switch (s->kind) {
	case STMT_EXPR:
		lower_expression(l, s);
		break;
	case STMT_ASSIGN:
		lower_assign(l, s);
		break;
	case STMT_LET:
		lower_let(l, s);
		break;
	case STMT_IF:
		lower_if(l, s);
		break;
	case STMT_WHILE:
		lower_while(l, s);
		break;
	case STMT_UNROLL:
		lower_unroll(l, s);
		break;
	case STMT_FOR_MAP:
		lower_for_map(l, s);
		break;
	case STMT_FOR_RANGE:
		lower_for_range(l, s);
		break;
	case STMT_BREAK:
		ir_jump(l->f, l->break_block);
		break;
	case STMT_CONTINUE:
		ir_jump(l->f, l->continue_block);
		break;
	case STMT_RETURN:
		lower_return(l, s);
		break;
	case STMT_BLOCK:
		if (s->body && s->body->function)
			lower_function(l, s->body);
		else
			lower_block(l, s->body);
		break;
	}
	l->f->span = outer;
	lower_slot_release(l, mark);
}

void lower_block(struct lower *l, struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++)
		lower_stmt(l, b->stmts[i]);
}
