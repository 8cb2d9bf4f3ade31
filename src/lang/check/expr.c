/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions: dispatch, literals, names, variables, tuples, conditional expressions, casts, sizes.
 */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"

#include <stdio.h>

static void set_constant(struct expr *e, const struct type *t, s64 value)
{
	e->type = t;
	e->integer = value;
	e->is_comptime_known = true;
}

static void check_integer(struct check *c, struct expr *e)
{
	const bool big = e->is_unsigned_literal || e->integer < 0;

	set_constant(e, check_literal_type((u64)e->integer, !big && e->integer < 0), e->integer);
}

static void check_string(struct check *c, struct expr *e)
{
	const u64 limit = c->script->config.max_strlen;

	if (e->string.len >= limit && e->string.len > 64)
		check_error(c, e->span, "String is too long (over %" PRIu64 " bytes): %.32s...",
			    limit, e->string.data);
	e->type = type_string(c->types, e->string.len + 1);
	e->space = SPACE_BPF;
	e->is_comptime_known = true;
}

/* $1 is a number if it looks like one, else a string; if it was not given, it is 0 and "". */
static void check_positional(struct check *c, struct expr *e)
{
	const struct compile_options *o = c->options;
	const char *text;
	char *end;
	u64 value;

	if (e->is_count) {
		e->string.data = arena_printf(c->arena, "%u", o->input.npositional);
		e->string.len = (u32)strlen(e->string.data);
		e->type = check_literal_type(o->input.npositional, false);
		e->is_comptime_known = true;
		e->integer = o->input.npositional;
		return;
	}
	if (!e->annotation) { /* the index; `integer` becomes the value */
		s64 *index = arena_new(c->arena, s64);

		*index = e->integer;
		e->annotation = index;
	}
	value = (u64) * (s64 *)e->annotation;
	text = value >= 1 && value <= o->input.npositional ? o->input.positional[value - 1] : "";
	e->string.data = text;
	e->string.len = (u32)strlen(text);
	e->is_comptime_known = true;
	if (!*text) {
		set_constant(e, type_int(8, true), 0);
		return;
	}
	errno = 0;
	value = strtoull(text, &end, 0);
	if (*end || errno) {
		e->integer = 0;
		e->type = type_string(c->types, e->string.len + 1);
		return;
	}
	set_constant(e, check_literal_type(value, *text == '-'), (s64)value);
}

/* Suggests what may have been meant: a variable of another block, or one of a similar name. */
static void hint_variables(struct check *c, const char *name, struct span at)
{
	VECTOR(const char *) names = {0};
	bool elsewhere = false, later = false;

	for (size_t i = 0; i < c->unit->variables.len; i++) {
		const struct variable_symbol *v = c->unit->variables.items[i];
		const char *other = check_variable_name(v->name);

		elsewhere |= str_eq(other, name);
		later |= str_eq(other, name) && v->span.file == at.file && v->span.begin > at.begin;
		vector_push(&names, arena_printf(c->arena, "$%s", other));
	}
	if (later)
		check_hint(c, "$%s is assigned further down only", name);
	else if (elsewhere)
		check_hint(c, "$%s is known only in the block that it is declared in", name);
	else
		check_hint_nearest(c, arena_printf(c->arena, "$%s", name), names.items, names.len);
	vector_free(&names);
}

static void check_variable(struct check *c, struct expr *e)
{
	struct variable_symbol *v = check_variable_find(c, e->name);

	e->variable = v;
	if (!v) {
		check_error(c, e->span, "Undefined or undeclared variable: $%s",
			    check_variable_name(e->name));
		hint_variables(c, check_variable_name(e->name), e->span);
		return;
	}
	check_variable_use(c, v);
	if (v->is_declared && !v->is_assigned && !c->unevaluated)
		check_warning(c, e->span, "Variable used before it was assigned: $%s",
			      check_variable_name(v->name));
	e->type = v->type;
	e->space = type_is_scalar(v->type) ? v->space : SPACE_BPF;
}

/* Names that are valid where a value is expected: builtins, and jumps. */
static void hint_name(struct check *c, const char *name)
{
	static const char *const jumps[] = {"return", "break", "continue", "true", "false"};
	VECTOR(const char *) names = {0};
	const char *const *builtins;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++)
		vector_push(&names, jumps[i]);
	builtins = builtin_names(&n);
	for (size_t i = 0; i < n; i++)
		vector_push(&names, builtins[i]);
	check_hint_nearest(c, name, names.items, names.len);
	vector_free(&names);
}

void check_name(struct check *c, struct expr *e)
{
	const struct builtin *b = builtin_find(e->name);
	const struct type *t;
	s64 value;

	if (b && (b->flags & (BUILTIN_VARIABLE | BUILTIN_CALL))) {
		check_call(c, e);
		return;
	}
	t = type_find_enumerator(c->types, e->name, &value);
	if (t) {
		set_constant(e, t, value);
		return;
	}
	check_error(c, e->span, "Unknown identifier: '%s'", e->name);
	hint_name(c, e->name);
}

static void check_tuple(struct check *c, struct expr *e)
{
	const bool record = e->kind == EXPR_RECORD;
	const struct type **types = arena_new_array(c->arena, const struct type *, e->nargs + 1);
	bool known = true;

	for (u32 i = 0; i < e->nargs; i++) {
		struct expr *arg = e->args[i];

		check_expr(c, arg);
		if (!check_known(c, arg)) {
			known = false;
			continue;
		}
		if (type_is_aggregation(arg->type)) {
			check_error(c, arg->span, "Map type %s cannot exist inside a %s.",
				    check_type_text(c, arg->type), record ? "record" : "tuple");
			known = false;
		}
		types[i] = arg->type;
	}
	if (!known)
		return;
	e->type = record ? type_record(c->types, e->names, types, e->nargs)
			 : type_tuple(c->types, types, e->nargs);
	e->space = SPACE_BPF;
}

void check_condition(struct check *c, struct expr *e)
{
	if (!check_known(c, e))
		return;
	if (type_is_integer(e->type) || type_is(e->type, TYPE_POINTER))
		return;
	/* if (str($1)): is it given? */
	if (type_is(e->type, TYPE_STRING) && e->is_comptime_known && e->string.data) {
		set_constant(e, type_bool(), e->string.len != 0);
		return;
	}
	check_error(c, e->span, "Invalid condition: %s", check_kind_text(c, e->type));
}

static bool is_statement(const struct expr *e)
{
	return e->builtin && e->builtin->flags & BUILTIN_STATEMENT;
}

static void check_ternary(struct check *c, struct expr *e)
{
	struct expr *left = e->left ? e->left : e->condition;

	check_expr(c, e->condition);
	check_condition(c, e->condition);
	if (e->left)
		check_expr(c, e->left);
	check_expr(c, e->right);
	if (type_is(left->type, TYPE_NONE) || type_is(e->right->type, TYPE_NONE)) {
		if (type_is(left->type, TYPE_NONE) != type_is(e->right->type, TYPE_NONE)) {
			/* Of unknown type, as far as the other side tells. */
			const struct type *known =
				type_is(left->type, TYPE_NONE) ? e->right->type : left->type;

			if (!c->final)
				e->type = known;
			else if (is_statement(left) != is_statement(e->right))
				check_error(c, e->span,
					    "Branches must return the same type or compatible "
					    "types: have '%s' and '%s'",
					    is_statement(left) ? "void"
							       : check_type_text(c, left->type),
					    is_statement(e->right)
						    ? "void"
						    : check_type_text(c, e->right->type));
			else if (!is_statement(left) && !is_statement(e->right)) {
				check_known(c, left);
				check_known(c, e->right);
			}
		}
		return;
	}
	e->type = check_unify(c, left->type, e->right->type);
	if (!e->type) {
		e->type = type_none();
		check_error(c, e->span,
			    "Branches must return the same type or compatible types: have '%s' and "
			    "'%s'",
			    check_type_text(c, left->type), check_type_text(c, e->right->type));
		return;
	}
	e->space = left->space == e->right->space ? left->space : SPACE_UNKNOWN;
	if (!type_is_scalar(e->type))
		e->space = SPACE_BPF;
}

static bool cast_allowed(const struct type *from, const struct type *to)
{
	const bool scalar = type_is_integer(from) || type_is(from, TYPE_POINTER);

	switch (to->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		return type_is_scalar(from) ||
		       (type_is(from, TYPE_ARRAY) && from->size == to->size);
	case TYPE_BOOL:
		return scalar || type_is(from, TYPE_STRING);
	case TYPE_POINTER:
		return scalar || type_is(from, TYPE_ARRAY) || type_is(from, TYPE_STRING);
	case TYPE_STRING:
		return (type_is(from, TYPE_STRING) && to->size >= from->size) ||
		       (type_is(from, TYPE_ARRAY) && from->element->size == 1);
	case TYPE_BUFFER:
		return type_is(from, TYPE_BUFFER) && to->size >= from->size;
	case TYPE_ARRAY:
		if (!type_is_integer(to->element))
			return false;
		if (type_is_integer(from))
			return to->size == from->size || (to->size <= 8 && to->size > from->size);
		return (type_is(from, TYPE_STRING) || type_is(from, TYPE_ARRAY)) &&
		       to->size == from->size;
	case TYPE_USERNAME:
		return type_is_integer(from);
	default:
		return type_equal(from, to);
	}
}

static void check_cast(struct check *c, struct expr *e)
{
	const struct type *to = check_type_name(c, e->type_name), *from;

	check_expr(c, e->left);
	if (!to || !check_known(c, e->left))
		return;
	from = e->left->type;
	if (type_is(to, TYPE_POINTER)) {
		enum address_space space =
			type_is(from, TYPE_POINTER) ? from->space : e->left->space;

		to = type_pointer(c->types, to->element, space);
	}
	if (type_is(to, TYPE_ARRAY) && !to->count && to->element->size &&
	    from->size % to->element->size == 0)
		to = type_array(c->types, to->element, from->size / to->element->size);
	if (type_is(to, TYPE_ENUM) && to->name && e->left->kind == EXPR_INTEGER &&
	    type_complete(c->types, to) == 0 && to->count &&
	    !type_enumerator_name(c->types, to, e->left->integer)) {
		check_error(c, e->span, "Enum: %s doesn't contain a variant value of %lld",
			    to->name, (long long)e->left->integer);
		return;
	}
	if (!cast_allowed(from, to) && (type_is(from, TYPE_STRUCT) || type_is(from, TYPE_UNION))) {
		check_error(c, e->span, "Cannot cast from C type \"%s\"", check_type_text(c, from));
		return;
	}
	if (!cast_allowed(from, to)) {
		check_error(c, e->span, "Cannot cast from \"%s\" to \"%s\"",
			    check_type_text(c, from), check_type_text(c, to));
		return;
	}
	e->type = to;
	e->space = type_is_scalar(to) ? e->left->space : SPACE_BPF;
	if (e->left->is_comptime_known && type_is_integer(from) && type_is_integer(to))
		set_constant(e, to, fold_convert(e->left->integer, to));
}

const struct type *check_unevaluated(struct check *c, struct expr *e)
{
	c->unevaluated++;
	check_expr(c, e);
	c->unevaluated--;
	return check_known(c, e) ? e->type : NULL;
}

/*
 * The operand of sizeof and offsetof: the type, or the type of the expression; NULL while it is
 * unknown.
 */
static const struct type *type_operand(struct check *c, struct expr *e)
{
	return e->type_name ? check_type_name(c, e->type_name) : check_unevaluated(c, e->left);
}

static void check_sizeof(struct check *c, struct expr *e)
{
	const struct type *t = type_operand(c, e);

	if (!t)
		return;
	/* An enumerator itself is a 64-bit number, however small its enum is. */
	if (e->left && type_is(t, TYPE_ENUM) && e->left->is_comptime_known)
		set_constant(e, type_int(8, false), 8);
	else if (type_complete(c->types, t) == 0)
		set_constant(e, type_int(8, false), t->size);
}

static void check_offsetof(struct check *c, struct expr *e)
{
	const struct type *t = type_operand(c, e);
	const char *path = e->name;
	u32 total = 0;

	if (!t)
		return;
	while (*path) {
		const size_t n = strcspn(path, ".");
		const char *name = arena_strndup(c->arena, path, n);
		const struct type_member *m;
		u32 offset = 0;

		if (!type_is_record(t)) {
			check_error(c, e->span, "'%s' is not a C type.", check_type_text(c, t));
			return;
		}
		type_complete(c->types, t);
		m = type_find_member(c->types, t, name, &offset);
		if (!m) {
			check_error(c, e->span, "'%s' has no field named '%s'",
				    check_type_text(c, t), name);
			return;
		}
		total += offset;
		t = m->type;
		path += n + (path[n] == '.');
	}
	set_constant(e, type_int(8, false), total);
}

static void check_block_value(struct check *c, struct expr *e)
{
	struct map_symbol *assign = c->assign_map;

	check_scope_begin(c);
	c->assign_map = NULL;
	check_statements(c, e->block);
	c->assign_map = assign;
	if (e->left) {
		check_expr(c, e->left);
		e->type = e->left->type;
		e->space = e->left->space;
	}
	check_scope_end(c);
}

static void check_if_value(struct check *c, struct expr *e)
{
	if (!e->right) {
		check_expr(c, e->condition);
		check_condition(c, e->condition);
		check_expr(c, e->left);
		return;
	}
	check_ternary(c, e);
}

static void check_comptime(struct check *c, struct expr *e)
{
	check_expr(c, e->left);
	if (!check_known(c, e->left))
		return;
	if (typeinfo_type(e->left)) { /* its value is known, but it is not a literal */
		e->type = e->left->type;
		e->space = e->left->space;
		return;
	}
	if (!e->left->is_comptime_known) {
		check_error(c, e->span, "Unable to resolve comptime expression");
		return;
	}
	e->type = e->left->type;
	e->space = e->left->space;
	e->integer = e->left->integer;
	e->string = e->left->string;
	e->is_comptime_known = true;
}

static void check_typeof(struct check *c, struct expr *e)
{
	check_error(c, e->span, "typeof() is a type, not a value");
}

static void (*const check_kinds[])(struct check *, struct expr *) = {
	[EXPR_INTEGER] = check_integer,
	[EXPR_STRING] = check_string,
	[EXPR_NAME] = check_name,
	[EXPR_VARIABLE] = check_variable,
	[EXPR_MAP] = check_map_access,
	[EXPR_INDEX] = check_index,
	[EXPR_MEMBER] = check_member,
	[EXPR_UNARY] = check_unary,
	[EXPR_INCREMENT] = check_increment,
	[EXPR_BINARY] = check_binary,
	[EXPR_TERNARY] = check_ternary,
	[EXPR_CALL] = check_call,
	[EXPR_CAST] = check_cast,
	[EXPR_SIZEOF] = check_sizeof,
	[EXPR_OFFSETOF] = check_offsetof,
	[EXPR_TYPEOF] = check_typeof,
	[EXPR_TUPLE] = check_tuple,
	[EXPR_RECORD] = check_tuple,
	[EXPR_POSITIONAL] = check_positional,
	[EXPR_BLOCK] = check_block_value,
	[EXPR_IF] = check_if_value,
	[EXPR_COMPTIME] = check_comptime,
};

void check_expr(struct check *c, struct expr *e)
{
	e->type = type_none();
	e->space = SPACE_UNKNOWN;
	e->is_comptime_known = false;
	if (e->kind == EXPR_BOOL) {
		set_constant(e, type_bool(), e->integer);
		return;
	}
	check_kinds[e->kind](c, e);
}
