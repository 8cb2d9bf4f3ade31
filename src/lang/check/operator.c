/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operators: widths, signs, and what may be combined with what. */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"

bool op_is_comparison(enum op op)
{
	return op >= OP_EQ && op <= OP_GE;
}

static const struct type *bad_operands(struct check *c, struct expr *e, enum op op,
				       const struct type *l, const struct type *r)
{
	check_error(c, e->span, "The %s operator can not be used on expressions of types %s, %s",
		    op_names[op], check_type_text(c, l), check_type_text(c, r));
	return type_none();
}

static const struct type *pointer_type(struct check *c, struct expr *e, enum op op,
				       const struct type *l, const struct type *r)
{
	const bool left = type_is(l, TYPE_POINTER), right = type_is(r, TYPE_POINTER);
	const struct type *other = left ? r : l;

	if (op_is_comparison(op) || op == OP_LAND || op == OP_LOR) {
		if (left && right) {
			if (!type_equal(l->element, r->element))
				check_warning(c, e->span,
					      "comparison of distinct pointer types: %s, %s",
					      check_type_text(c, l->element),
					      check_type_text(c, r->element));
			return type_bool();
		}
		return type_is_integer(other) ? type_bool() : bad_operands(c, e, op, l, r);
	}
	/* A difference of two pointers, and bits of a pointer, are integers. */
	if (left && right)
		return op == OP_SUB ? type_int(8, true) : bad_operands(c, e, op, l, r);
	if (!type_is_integer(other))
		return bad_operands(c, e, op, l, r);
	if (op == OP_ADD)
		return left ? l : r;
	if (op == OP_SUB && left)
		return l;
	if (op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_SHR || op == OP_SHL ||
	    op == OP_MOD)
		return type_int(8, false);
	return bad_operands(c, e, op, l, r);
}

/* True if the operation on two integers is a signed one. */
static bool is_signed_operation(enum op op, const struct expr *left, const struct expr *right)
{
	bool l = left->type->is_signed, r = right->type->is_signed;

	if (op == OP_SHL || op == OP_SHR)
		return l;
	if (check_is_flexible(left) && !check_is_flexible(right))
		l = r;
	else if (check_is_flexible(right) && !check_is_flexible(left))
		r = l;
	if (l == r)
		return l;
	/* A narrower unsigned value fits a signed one; uint64 does not. */
	return (l ? right->type : left->type)->size < 8;
}

static const struct type *integer_type(enum op op, const struct expr *left,
				       const struct expr *right)
{
	bool l = left->type->is_signed, r = right->type->is_signed;

	if (op_is_comparison(op) || op == OP_LAND || op == OP_LOR)
		return type_bool();
	if (type_is(left->type, TYPE_BOOL) && type_is(right->type, TYPE_BOOL))
		return type_bool(); /* true + true is true */
	if (op == OP_SHL || op == OP_SHR)
		return type_int(8, l);
	if (op == OP_SUB)
		return type_int(8, true);
	if (check_is_flexible(left) && !check_is_flexible(right))
		l = r;
	else if (check_is_flexible(right) && !check_is_flexible(left))
		r = l;
	if (op == OP_DIV || op == OP_MOD)
		return type_int(8, is_signed_operation(op, left, right));
	return type_int(8, l || r);
}

static const struct type *aggregate_type(struct check *c, struct expr *e, enum op op,
					 const struct type *l, const struct type *r)
{
	if (type_is(l, TYPE_ARRAY) && type_is(r, TYPE_ARRAY)) {
		if (op != OP_EQ && op != OP_NE) {
			check_error(c, e->span, "The %s operator cannot be used on arrays.",
				    op_names[op]);
			return type_none();
		}
		if (l->count != r->count) {
			check_error(c, e->span,
				    "Only arrays of same size support comparison operators.");
			return type_none();
		}
		if (!type_is_integer(l->element) || !type_is_integer(r->element) ||
		    l->element->size != r->element->size) {
			check_error(
				c, e->span,
				"Only arrays of same sized integer support comparison operators.");
			return type_none();
		}
		return type_bool();
	}
	if (!check_unify(c, l, r)) {
		check_error(c, e->span, "Type mismatch for '%s': comparing %s with %s",
			    op_names[op], check_type_text(c, l), check_type_text(c, r));
		return type_none();
	}
	if (type_is(l, TYPE_STRING) && op_is_comparison(op) && (op == OP_EQ || op == OP_NE))
		return type_bool();
	return op == OP_EQ || op == OP_NE ? type_bool() : bad_operands(c, e, op, l, r);
}

const struct type *check_binary_type(struct check *c, struct expr *e, enum op op, struct expr *left,
				     struct expr *right)
{
	const struct type *l = left->type, *r = right->type;

	if (type_is_integer(l) && type_is_integer(r))
		return integer_type(op, left, right);
	if (type_is(l, TYPE_POINTER) || type_is(r, TYPE_POINTER))
		return pointer_type(c, e, op, l, r);
	/*
	 * Addresses and ids that print as names count as numbers when they are compared with
	 * numbers.
	 */
	if (type_is_scalar(l) && type_is_scalar(r) && (type_is_integer(l) || type_is_integer(r)) &&
	    !type_is(l, TYPE_PROBE_NAME) && !type_is(r, TYPE_PROBE_NAME))
		return op_is_comparison(op) || op == OP_LAND || op == OP_LOR ? type_bool()
									     : type_int(8, false);
	return aggregate_type(c, e, op, l, r);
}

static bool is_literal(const struct expr *e)
{
	return type_equal(e->type, check_literal_type((u64)e->integer, e->integer < 0));
}

/* The value of a literal, or of an expression of literals, with its sign. */
static bool literal_value(const struct expr *e, __int128 *ret)
{
	const bool big =
		e->integer < 0 && type_equal(e->type, check_literal_type((u64)e->integer, false));

	*ret = big ? (__int128)(u64)e->integer : (__int128)e->integer;
	return e->kind != EXPR_CAST && (big || is_literal(e));
}

static void refuse_fold(struct check *c, struct expr *e, __int128 right)
{
	e->type = type_none();
	check_error(c, e->span, "unable to fold literals due to overflow or underflow");
	if ((e->op == OP_DIV || e->op == OP_MOD) && !right)
		check_hint(c, "nothing can be divided by zero");
	else if (e->op == OP_SHL || e->op == OP_SHR)
		check_hint(c, "a value of 64 bits can be shifted by 0 to 63");
	else
		check_hint(c, "the result is not between %" PRId64 " and %" PRIu64, INT64_MIN,
			   UINT64_MAX);
}

/* 1 << 63 is not negative, and 7 / 0 is not a number. */
static void fold_two_literals(struct check *c, struct expr *e, __int128 a, __int128 b)
{
	__int128 value;

	if (!fold_literals(e->op, a, b, &value)) {
		refuse_fold(c, e, b);
		return;
	}
	e->is_comptime_known = true;
	e->integer = (s64)(u64)value;
	e->type = check_literal_type((u64)value, value < 0);
}

/* Texts of the script itself: "a" < "b", "a" + "b". */
static bool fold_strings(struct check *c, struct expr *e)
{
	const struct expr *l = e->left, *r = e->right;
	s64 order, value;

	if (l->kind != EXPR_STRING || r->kind != EXPR_STRING || !l->string.data || !r->string.data)
		return false;
	if (e->op == OP_ADD) {
		e->kind = EXPR_STRING;
		e->string.data = arena_printf(c->arena, "%s%s", l->string.data, r->string.data);
		e->string.len = (u32)strlen(e->string.data);
		check_expr(c, e);
		return true;
	}
	order = strcmp(l->string.data, r->string.data);
	if (!op_is_comparison(e->op) || !fold_binary(e->op, order, 0, true, &value))
		return false;
	e->type = type_bool();
	e->is_comptime_known = true;
	e->integer = value;
	return true;
}

/* The rest of a text that is known at compile time, from an offset on: "hello" + 3. */
static bool fold_offset(struct check *c, struct expr *e)
{
	const bool first = type_is(e->left->type, TYPE_STRING);
	const struct expr *text = first ? e->left : e->right, *offset = first ? e->right : e->left;
	u32 skip;

	if (e->op != OP_ADD || !text->is_comptime_known || !type_is(text->type, TYPE_STRING) ||
	    !text->string.data || !offset->is_comptime_known || !type_is(offset->type, TYPE_INT) ||
	    offset->integer < 0)
		return false;
	if (offset->integer >= text->string.len)
		check_warning(c, e->span, "literal string will always be empty");
	skip = (u32)MIN((u64)offset->integer, text->string.len);
	e->string.data = text->string.data + skip;
	e->string.len = text->string.len - skip;
	e->type = type_string(c->types, e->string.len + 1);
	e->space = SPACE_BPF;
	e->is_comptime_known = true;
	return true;
}

enum sameness { SAME, DIFFERENT, UNKNOWN };

static enum sameness same_literals(const struct expr *a, const struct expr *b);

static enum sameness same_members(const struct expr *a, const struct expr *b)
{
	enum sameness all = SAME;

	if (a->nargs != b->nargs)
		return DIFFERENT;
	for (u32 i = 0; i < a->nargs; i++) {
		u32 k = i;
		enum sameness one;

		if (a->kind == EXPR_RECORD)
			for (k = 0; k < b->nargs && !str_eq(a->names[i], b->names[k]);)
				k++;
		one = k < b->nargs ? same_literals(a->args[i], b->args[k]) : UNKNOWN;
		if (one == DIFFERENT)
			return DIFFERENT;
		all = one == SAME ? all : UNKNOWN;
	}
	return all;
}

/* Values of different kinds are different. */
static enum sameness same_literals(const struct expr *a, const struct expr *b)
{
	const bool a_many = a->kind == EXPR_TUPLE || a->kind == EXPR_RECORD,
		   b_many = b->kind == EXPR_TUPLE || b->kind == EXPR_RECORD;
	__int128 x, y;

	if (a_many && b_many && a->kind == b->kind)
		return same_members(a, b);
	if ((!a_many && !a->is_comptime_known) || (!b_many && !b->is_comptime_known))
		return UNKNOWN;
	if (a_many || b_many || a->type->kind != b->type->kind)
		return DIFFERENT;
	if (type_is(a->type, TYPE_STRING) && a->string.data && b->string.data)
		return str_eq(a->string.data, b->string.data) ? SAME : DIFFERENT;
	if (type_is(a->type, TYPE_BOOL))
		return a->integer == b->integer ? SAME : DIFFERENT;
	if (!type_is(a->type, TYPE_INT) || !literal_value(a, &x) || !literal_value(b, &y))
		return UNKNOWN;
	return x == y ? SAME : DIFFERENT;
}

/* (1, "a") == (1, "b"): tuples and records as they are written, whatever their types. */
static bool fold_tuples(struct expr *e)
{
	const struct expr *l = e->left, *r = e->right;
	enum sameness same;

	if ((e->op != OP_EQ && e->op != OP_NE) || l->kind != r->kind ||
	    (l->kind != EXPR_TUPLE && l->kind != EXPR_RECORD))
		return false;
	same = same_literals(l, r);
	if (same == UNKNOWN)
		return false;
	e->type = type_bool();
	e->is_comptime_known = true;
	e->integer = (same == SAME) == (e->op == OP_EQ);
	return true;
}

/* Two texts that are known at compile time: typeinfo($x).full_type == "uint64". */
static bool fold_texts(struct expr *e)
{
	const struct expr *l = e->left, *r = e->right;

	if (!l->is_comptime_known || !r->is_comptime_known || !type_is(l->type, TYPE_STRING) ||
	    !type_is(r->type, TYPE_STRING) || !l->string.data || !r->string.data ||
	    (e->op != OP_EQ && e->op != OP_NE) || !type_is(e->type, TYPE_BOOL))
		return false;
	e->is_comptime_known = true;
	e->integer = str_eq(l->string.data, r->string.data) == (e->op == OP_EQ);
	return true;
}

/* typeinfo($x) == typeinfo("abc") */
static bool fold_types(struct expr *e)
{
	const struct type *l = typeinfo_type(e->left), *r = typeinfo_type(e->right);

	if (!l || !r || (e->op != OP_EQ && e->op != OP_NE))
		return false;
	e->type = type_bool();
	e->is_comptime_known = true;
	e->integer = type_equal(l, r) == (e->op == OP_EQ);
	return true;
}

static void fold(struct check *c, struct expr *e)
{
	struct expr *l = e->left, *r = e->right;
	__int128 a, b;
	s64 value;

	if (fold_texts(e))
		return;

	if (!l->is_comptime_known || !r->is_comptime_known || !type_is_integer(l->type) ||
	    !type_is_integer(r->type) || !type_is_integer(e->type))
		return;
	if (literal_value(l, &a) && literal_value(r, &b)) {
		if (!type_is(e->type, TYPE_BOOL)) {
			fold_two_literals(c, e, a, b);
			return;
		}
		if (op_is_comparison(e->op)) { /* also of 18446744073709551615 and -1 */
			e->is_comptime_known = true;
			e->integer = fold_compare(e->op, a, b);
			return;
		}
	}
	if (!fold_binary(e->op, l->integer, r->integer, is_signed_operation(e->op, l, r), &value)) {
		if (type_is(e->type, TYPE_BOOL)) /* true / false */
			refuse_fold(c, e, r->integer);
		return;
	}
	e->is_comptime_known = true;
	e->integer = fold_convert(value, e->type);
}

void check_binary(struct check *c, struct expr *e)
{
	const bool logical = e->op == OP_LAND || e->op == OP_LOR;
	bool known;

	check_expr(c, e->left);
	check_expr(c, e->right);
	known = check_known(c, e->left);
	known &= check_known(c, e->right);
	if (!known) {
		if (op_is_comparison(e->op) || logical)
			e->type = type_bool();
		return;
	}
	if (logical) {
		check_condition(c, e->left);
		check_condition(c, e->right);
		e->type = type_bool();
		fold(c, e);
		return;
	}
	if (fold_types(e) || fold_strings(c, e) || fold_offset(c, e) || fold_tuples(e))
		return;
	e->type = check_binary_type(c, e, e->op, e->left, e->right);
	/* tells lower which of the two comparisons, divisions or shifts it is */
	e->is_unsigned_literal =
		!(type_is_integer(e->left->type) && type_is_integer(e->right->type) &&
		  is_signed_operation(e->op, e->left, e->right));
	if (!type_is(e->left->type, TYPE_POINTER) || type_is(e->type, TYPE_INT))
		e->space = e->left->space == e->right->space || e->right->is_comptime_known
				   ? e->left->space
				   : SPACE_UNKNOWN;
	if (e->left->is_comptime_known && !e->right->is_comptime_known)
		e->space = e->right->space;
	fold(c, e);
}

static void check_deref(struct check *c, struct expr *e)
{
	const struct type *t = e->left->type;

	if (type_is_integer(t) && !type_is(t, TYPE_BOOL)) { /* older scripts: *kaddr("jiffies") */
		e->type = type_int(8, false);
		e->space = e->left->space;
		return;
	}
	if (!type_is(t, TYPE_POINTER) || type_is(t->element, TYPE_VOID) ||
	    type_is(t->element, TYPE_FUNCTION)) {
		check_error(c, e->span, "Can not dereference '%s'", check_type_text(c, t));
		return;
	}
	if (type_complete(c->types, t->element) < 0 || !t->element->size) {
		check_error(c, e->span, "Can not dereference '%s': the type is incomplete",
			    check_type_text(c, t));
		return;
	}
	e->type = check_field_type(c, t->element, t->space, false);
	e->space = t->space;
}

static void check_address(struct check *c, struct expr *e)
{
	struct variable_symbol *v = e->left->variable;

	if (e->left->kind == EXPR_VARIABLE && v) {
		v->is_captured = true; /* it must lie in memory */
		e->type = type_pointer(c->types, v->type, SPACE_BPF);
		e->space = SPACE_BPF;
		return;
	}
	if (e->left->kind == EXPR_MAP) { /* the map itself, for functions of the kernel */
		e->type = type_pointer(c->types, type_void(), SPACE_BPF);
		e->space = SPACE_BPF;
		return;
	}
	if (e->left->kind == EXPR_MEMBER || e->left->kind == EXPR_INDEX ||
	    (e->left->kind == EXPR_UNARY && e->left->op == OP_DEREF)) {
		if (e->left->space == SPACE_KERNEL || e->left->space == SPACE_USER ||
		    e->left->space == SPACE_UNKNOWN) {
			e->type = type_pointer(c->types, e->left->type, e->left->space);
			return;
		}
	}
	check_error(c, e->span, "The address of this expression can not be taken");
}

static void fold_negative(struct check *c, struct expr *e, __int128 value)
{
	if (-value < INT64_MIN) {
		e->type = type_none();
		e->is_comptime_known = false;
		check_error(c, e->span, "negative value will underflow");
		check_hint(c, "the least number is %" PRId64, INT64_MIN);
		return;
	}
	e->type = check_literal_type((u64)-value, value > 0);
}

void check_unary(struct check *c, struct expr *e)
{
	struct expr *left = e->left;
	__int128 value;

	if (e->op == OP_ADDRESS && left->kind == EXPR_MAP) {
		left->map = check_map_symbol(c, left->name, left->span);
		left->type = type_none();
		left->map->is_read = true;
		if (c->final && !left->map->value)
			check_error(c, left->span, "Undefined map: @%s", left->name);
		check_address(c, e);
		return;
	}
	if (e->op == OP_ADDRESS && left->kind == EXPR_VARIABLE) {
		struct variable_symbol *v = check_variable_find(c, left->name);

		if (v)
			v->is_assigned = true;
	}
	check_expr(c, left);
	if (!check_known(c, left)) {
		if (e->op == OP_NOT)
			e->type = type_bool();
		return;
	}
	if (e->op == OP_DEREF) {
		check_deref(c, e);
		return;
	}
	if (e->op == OP_ADDRESS) {
		check_address(c, e);
		return;
	}
	if ((!type_is_integer(left->type) || (e->op != OP_NOT && type_is(left->type, TYPE_BOOL))) &&
	    !(e->op == OP_NOT && type_is(left->type, TYPE_POINTER))) {
		check_error(c, e->span,
			    "The %s operator can not be used on expressions of type '%s'",
			    op_names[e->op], check_type_text(c, left->type));
		return;
	}
	if (e->op == OP_NOT)
		e->type = type_bool();
	else
		e->type = type_int(8, e->op == OP_NEG || left->type->is_signed);
	if (!left->is_comptime_known || !type_is_integer(left->type))
		return;
	e->is_comptime_known = true;
	if (e->op == OP_NOT) {
		e->integer = !left->integer;
		return;
	}
	e->integer = e->op == OP_NEG ? (s64)(0 - (u64)left->integer) : ~left->integer;
	if (e->op == OP_NEG && literal_value(left, &value)) {
		fold_negative(c, e, value);
		return;
	}
	if (literal_value(left,
			  &value)) /* ~0 has 64 ones, and ~ makes a negative number positive */
		e->type = check_literal_type((u64)e->integer, false);
}

/* The type after ++ and --: 64 bits, unsigned as long as only ++ is used. */
static const struct type *step_type(const struct type *before, enum op op)
{
	return type_int(8,
			op != OP_ADD || !before || !type_is_integer(before) || before->is_signed);
}

void check_increment(struct check *c, struct expr *e)
{
	struct expr *target = e->left;

	if (target->kind == EXPR_VARIABLE) {
		struct variable_symbol *v;

		check_expr(c, target);
		v = target->variable;
		if (!v)
			return;
		if (!type_is(v->type, TYPE_POINTER))
			check_variable_assign(c, v, step_type(v->type, e->op), SPACE_UNKNOWN,
					      e->span);
		target->type = v->type;
		e->type = v->type;
		return;
	}
	if (target->kind == EXPR_MAP ||
	    (target->kind == EXPR_INDEX && target->left->kind == EXPR_MAP)) {
		struct map_symbol *m = check_map_symbol(
			c, target->kind == EXPR_MAP ? target->name : target->left->name,
			target->span);

		check_map_access(c, target);
		m->is_written = true;
		if (!m->value || !type_is(m->value, TYPE_POINTER))
			check_map_value(c, m, step_type(m->value, e->op), e->span);
		e->map = m;
		e->type = m->value ? m->value : type_int(8, true);
		return;
	}
	check_expr(c, target);
	check_error(c, e->span, "The %s operator must be applied to a map or variable",
		    e->op == OP_ADD ? "++" : "--");
}
