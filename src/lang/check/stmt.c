/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements. */
#include "lang/check/internal.h"

static const struct aggregation_example {
	enum type_kind kind;
	const char *call;
} examples[] = {
	{TYPE_COUNT, "count()"},
	{TYPE_SUM, "sum(retval)"},
	{TYPE_MIN, "min(retval)"},
	{TYPE_MAX, "max(retval)"},
	{TYPE_AVG, "avg(retval)"},
	{TYPE_HIST, "hist(retval)"},
	{TYPE_LHIST, "lhist(rand %10, 0, 10, 1)"},
	{TYPE_LLHIST, "llhist(retval, 10, 0, 6, 20)"},
	{TYPE_STDDEV, "stddev(retval)"},
	{TYPE_TSERIES, "tseries(rand %10, 10s, 1)"},
	{TYPE_STATS, "stats(arg2)"},
};

/* @a = @b where b is an aggregation: it is unclear what is meant, so it is refused. */
static bool check_map_copy(struct check *c, struct map_symbol *to, struct expr *value)
{
	const bool is_map = value->kind == EXPR_MAP || (value->kind == EXPR_INDEX && value->map);
	const struct type *t = is_map && value->map ? value->map->value : NULL;

	if (!t || !type_is_aggregation(t))
		return true;
	/* A map of numbers is assigned the aggregation's number. */
	if (to->value && type_is_integer(to->value) && check_aggregation_scalar(t))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		if (examples[i].kind == t->kind)
			check_error(
				c, value->span,
				"Map value '%s' cannot be assigned from one map to another. The "
				"function that returns this type must be called directly e.g. `@%s "
				"= %s;`.",
				check_type_text(c, t), to->name, examples[i].call);
	if (check_aggregation_scalar(t))
		check_hint(
			c,
			"Add a cast to integer if you want the value of the aggregate, e.g. `@%s = "
			"(int64)@%s;`.",
			to->name, value->map->name);
	return false;
}

static const struct type *compound_type(struct check *c, struct stmt *s, const struct type *target)
{
	const struct type *saved = s->target->type, *t;

	if (!check_known(c, s->value))
		return type_none();
	s->target->type = type_is(target, TYPE_NONE) ? type_int(8, true) : target;
	t = check_binary_type(c, s->target, s->op, s->target, s->value);
	s->target->type = saved;
	/* The result must still be a pointer: $p += 4, but not $p %= 4 or $p -= $p. */
	if (type_is(target, TYPE_POINTER) && !type_is(t, TYPE_POINTER) && !type_is(t, TYPE_NONE)) {
		check_error(c, s->span,
			    "The %s= operator can not be used on expressions of types %s, %s",
			    op_names[s->op], check_type_text(c, target),
			    check_type_text(c, s->value->type));
		return type_none();
	}
	return t;
}

static void check_assign_map(struct check *c, struct stmt *s)
{
	struct expr *target = s->target, *value = s->value;
	const bool keyed = target->kind == EXPR_INDEX;
	struct map_symbol *m = check_map_symbol(c, keyed ? target->left->name : target->name,
						keyed ? target->left->span : target->span);
	const bool was_read = m->is_read;
	const struct type *type;

	if (c->unevaluated)
		check_error(c, s->span,
			    "Map assignments not allowed inside of sizeof, offsetof, typeof or "
			    "typeinfo");
	check_map_access(c, target);
	m->is_read = was_read || s->op != OP_NONE;
	m->is_written = true;
	c->assign_map = s->op == OP_NONE ? m : NULL;
	check_expr(c, value);
	c->assign_map = NULL;
	if (s->op != OP_NONE) {
		check_map_value(c, m, compound_type(c, s, target->type), s->span);
		return;
	}
	if (!check_known(c, value) || !check_map_copy(c, m, value))
		return;
	type = value->type;
	if (type_is_aggregation(type) && !m->aggregation)
		m->aggregation = value;
	if (type_is(type, TYPE_VOID)) {
		check_error(c, value->span, "Invalid expression for assignment");
		return;
	}
	check_map_value(c, m, type, s->span);
}

/* let $x : uint8 = 300 */
static bool check_fits(struct check *c, const struct variable_symbol *v, const struct expr *value,
		       struct span at)
{
	if (!v->is_typed || !value->is_comptime_known || !type_is_integer(value->type) ||
	    !type_is(v->type, TYPE_INT) || fold_convert(value->integer, v->type) == value->integer)
		return true;
	check_error(c, at,
		    "Type mismatch for $%s: trying to assign value of type '%s' when variable "
		    "already has a type '%s'",
		    check_variable_name(v->name), check_type_text(c, value->type),
		    check_type_text(c, v->type));
	check_hint(c, "%lld does not fit; a cast cuts it: (%s)%lld", (long long)value->integer,
		   check_type_text(c, v->type), (long long)value->integer);
	return false;
}

static void check_assign_variable(struct check *c, struct stmt *s)
{
	struct expr *target = s->target, *value = s->value;
	const struct type *type;
	struct variable_symbol *v;

	check_expr(c, value);
	type = value->type;
	if (s->op != OP_NONE) {
		check_expr(c, target);
		type = compound_type(c, s, target->type);
	} else if (!check_known(c, value)) {
		type = type_none();
	}
	v = check_variable_target(c, target->name, type, target->span);
	target->variable = v;
	check_variable_use(c, v);
	v->is_assigned = true;
	if (s->op != OP_NONE || check_fits(c, v, value, s->span))
		check_variable_assign(c, v, type, s->op == OP_NONE ? value->space : v->space,
				      s->span);
	target->type = v->type;
	if (v->is_bound)
		check_bounds(c, value);
}

static void check_assign(struct check *c, struct stmt *s)
{
	struct expr *target = s->target;

	if (!target || (target->kind == EXPR_NAME && str_eq(target->name, "_"))) {
		check_expr(c, s->value);
		check_known(c, s->value);
		return;
	}
	if (target->kind == EXPR_VARIABLE) {
		check_assign_variable(c, s);
		return;
	}
	if (target->kind == EXPR_MAP ||
	    (target->kind == EXPR_INDEX && target->left->kind == EXPR_MAP)) {
		check_assign_map(c, s);
		return;
	}
	check_expr(c, s->value);
	check_error(c, target->span, "Only variables and maps can be assigned to");
}

/* `let $x` without the value that is assigned to it. */
static struct span let_span(const struct stmt *s)
{
	struct span at = s->span;

	at.end = s->target->span.end;
	return at;
}

static void check_let(struct check *c, struct stmt *s)
{
	const struct type *type = s->type_name ? check_type_name(c, s->type_name) : NULL;
	const struct check_scopes *scopes = c->scopes;
	struct variable_symbol *v, *old;

	if (s->value)
		check_expr(c, s->value);
	old = NULL;
	for (u32 i = 0; i < scopes->next; i++) {
		struct variable_symbol *candidate = c->unit->variables.items[i];

		if (candidate->is_visible && str_eq(candidate->name, s->target->name))
			old = candidate;
	}
	if (old) {
		check_error(c, let_span(s),
			    "Variable $%s was already declared. Variable shadowing is not allowed.",
			    check_variable_name(s->target->name));
		check_variable_origin(c, old);
	}
	v = check_variable_declare(c, s->target->name, let_span(s));
	v->is_declared = true;
	v->is_parameter = s->is_parameter;
	v->is_assigned = s->value || s->is_parameter || (s->type_name && !type);
	s->target->variable = v;
	if (type && (type_is(v->type, TYPE_NONE) ||
		     (s->type_name->typeof_expr && !type_equal(v->type, type)))) {
		if (type_is_aggregation(type) || !type->size) {
			check_error(c, s->span, "Invalid variable declaration type: %s",
				    check_type_text(c, type));
			return;
		}
		v->type = type;
		v->is_typed = true;
		v->space = SPACE_UNKNOWN;
		c->changed = true;
	}
	if (s->value && s->is_parameter && check_known(c, s->value) && type &&
	    !check_unify(c, type, s->value->type)) {
		check_error(c, s->value->span, "Expected %s for argument `%s` got %s",
			    check_type_text(c, type), check_variable_name(v->name),
			    check_type_text(c, s->value->type));
		return;
	}
	if (s->value && check_known(c, s->value) && check_fits(c, v, s->value, s->span))
		check_variable_assign(c, v, s->value->type, s->value->space, s->span);
	s->target->type = v->type;
	s->variable = v;
	if (v->is_bound)
		check_bounds(c, s->value);
}

static void check_if(struct check *c, struct stmt *s)
{
	const struct expr *e = s->condition;
	bool decided;

	check_expr(c, s->condition);
	check_condition(c, s->condition);
	/*
	 * If the condition is known at compile time the other branch is dropped unchecked. Types
	 * may change until the last pass, and the condition with them.
	 */
	decided = e->kind == EXPR_COMPTIME && e->is_comptime_known && type_is_integer(e->type);
	if (decided && c->final && e->integer && s->else_body)
		s->else_body->count = 0;
	else if (decided && c->final && !e->integer)
		s->body->count = 0;
	if (!decided || e->integer)
		check_block(c, s->body);
	if (s->else_body && (!decided || !e->integer))
		check_block(c, s->else_body);
}

/* What a function of this declared type may return: numbers of any size, else the same type. */
static bool returns_as(const struct type *type, const struct type *got)
{
	if (type_is_integer(type))
		return type_is_integer(got);
	if (type_is(type, TYPE_POINTER))
		return type_is(got, TYPE_POINTER) || type_is_integer(got);
	return type->kind == got->kind;
}

static void check_jump(struct check *c, struct stmt *s)
{
	if (!c->loop_depth)
		check_error(c, s->span, "'%s' statement is only allowed inside a loop",
			    s->kind == STMT_BREAK ? "break" : "continue");
}

static void function_mismatch(struct check *c, struct span at, const struct type *type,
			      const struct type *got)
{
	if ((type && type_is(type, TYPE_NONE)) || (got && type_is(got, TYPE_NONE)))
		return; /* another error says why */
	check_error(c, at, "Function %s is of type %s, cannot return %s",
		    c->function->function->name, type ? check_type_text(c, type) : "void",
		    got ? check_type_text(c, got) : "void");
}

/* A return of an inlined function sets the result and leaves the function's block. */
static void check_function_return(struct check *c, struct stmt *s)
{
	struct variable_symbol *v = s->target ? check_variable_find(c, s->target->name) : NULL;
	struct expr *value = s->value;

	if (value)
		check_expr(c, value);
	if (value && !check_known(c, value))
		return;
	if (!value != !v || (v && !returns_as(v->type, value->type))) {
		function_mismatch(c, s->span, v ? v->type : NULL, value ? value->type : NULL);
		return;
	}
	if (!v)
		return;
	s->target->variable = v;
	s->target->type = v->type;
	check_variable_use(c, v);
	if (check_fits(c, v, value, s->span))
		check_variable_assign(c, v, value->type, value->space, s->span);
}

/* Does every path through the block end in a return? */
static bool always_returns(const struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		const struct stmt *s = b->stmts[i];

		if (s->kind == STMT_RETURN)
			return true;
		if (s->kind == STMT_BLOCK && !s->body->function && always_returns(s->body))
			return true;
		if (s->kind == STMT_IF && s->else_body && always_returns(s->body) &&
		    always_returns(s->else_body))
			return true;
	}
	return false;
}

static void check_function(struct check *c, struct block *b)
{
	struct block *const outer = c->function;

	c->function = b;
	check_block(c, b);
	if (b->result && !always_returns(b)) {
		const struct variable_symbol *v = check_variable_find(c, b->result->name);

		if (v)
			function_mismatch(c, b->function->span, v->type, NULL);
	}
	c->function = outer;
}

static void check_return(struct check *c, struct stmt *s)
{
	if (c->function) {
		check_function_return(c, s);
		return;
	}
	if (!s->value)
		return;
	check_expr(c, s->value);
	if (check_known(c, s->value) && !type_is_integer(s->value->type) && !c->unit->subprogram)
		check_error(c, s->value->span, "Probe return values can only be integers. Found %s",
			    check_type_text(c, s->value->type));
}

/* Does e have an effect besides its value? */
static bool has_effect(const struct expr *e)
{
	static const char *const calls[] = {"delete",	     "find",	 "signal",
					    "signal_thread", "override", "skboutput",
					    "write_user",    "unwatch",	 "speculation"};

	if (e->kind == EXPR_INCREMENT || e->kind == EXPR_TERNARY || e->kind == EXPR_IF)
		return true;
	/* The result of a function of the script. */
	if (e->kind == EXPR_VARIABLE && strchr(e->name, '.'))
		return true;
	if (e->kind == EXPR_CALL && !e->builtin)
		return true;
	for (size_t i = 0; e->builtin && i < ARRAY_SIZE(calls); i++)
		if (str_eq(calls[i], e->builtin->name))
			return true;
	return false;
}

static void check_expression(struct check *c, struct stmt *s)
{
	struct expr *e = s->value;

	check_expr(c, e);
	if (e->kind == EXPR_MAP || e->kind == EXPR_INDEX || e->kind == EXPR_VARIABLE)
		check_known(c, e);
	if (c->final && !has_effect(e) && !type_is(e->type, TYPE_NONE) &&
	    !type_is(e->type, TYPE_VOID))
		check_warning(c, e->span, "Return value discarded.");
}

static void check_stmt(struct check *c, struct stmt *s)
{
	switch (s->kind) {
	case STMT_EXPR:
		check_expression(c, s);
		break;
	case STMT_ASSIGN:
		check_assign(c, s);
		break;
	case STMT_LET:
		check_let(c, s);
		break;
	case STMT_IF:
		check_if(c, s);
		break;
	case STMT_WHILE:
		check_while(c, s);
		break;
	case STMT_UNROLL:
		check_unroll(c, s);
		break;
	case STMT_FOR_MAP:
		check_for_map(c, s);
		break;
	case STMT_FOR_RANGE:
		check_for_range(c, s);
		break;
	case STMT_BREAK:
	case STMT_CONTINUE:
		check_jump(c, s);
		break;
	case STMT_RETURN:
		check_return(c, s);
		break;
	case STMT_BLOCK:
		if (s->body->function)
			check_function(c, s->body);
		else
			check_block(c, s->body);
		break;
	}
}

static bool leaves(const struct stmt *s)
{
	if (s->kind == STMT_EXPR)
		return s->value->kind == EXPR_CALL && str_eq(s->value->name, "exit");
	return s->kind == STMT_RETURN || s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
}

void check_statements(struct check *c, struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		check_stmt(c, b->stmts[i]);
		if (i + 1 < b->count && leaves(b->stmts[i]))
			check_warning(c, b->stmts[i + 1]->span, "Unreachable statement.");
	}
}

void check_block(struct check *c, struct block *b)
{
	check_scope_begin(c);
	check_statements(c, b);
	check_scope_end(c);
}
