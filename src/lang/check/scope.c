/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables and blocks. A variable lives in the block of its first assignment or `let`. Older
 * scripts assign in an inner block and use the variable outside: such a variable "leaks"; it is
 * found if no visible one matches, and starts as zero. The list of variables of a unit is kept from
 * one pass to the next, because types are learnt over several passes: the n-th declaration of a
 * pass is the n-th symbol of the list.
 */
#include "lang/check/internal.h"

void check_scope_begin(struct check *c)
{
	struct check_scopes *s = c->scopes;

	s->depth++;
}

void check_scope_end(struct check *c)
{
	struct check_scopes *s = c->scopes;

	for (u32 i = 0; i < s->next; i++) {
		struct variable_symbol *v = c->unit->variables.items[i];

		if (v->scope_depth < s->depth || !v->is_visible)
			continue;
		v->is_visible = false;
		if (v->is_declared && !v->is_assigned)
			check_warning(c, v->span, "Variable $%s was never assigned to.",
				      check_variable_name(v->name));
	}
	s->depth--;
}

static struct variable_symbol *find(struct check *c, const char *name, bool visible)
{
	struct check_scopes *s = c->scopes;

	for (u32 i = s->next; i-- > 0;) {
		struct variable_symbol *v = c->unit->variables.items[i];

		if (v->is_visible != visible || !str_eq(v->name, name))
			continue;
		if (visible || (!v->is_declared && !v->is_loop))
			return v;
	}
	return NULL;
}

struct variable_symbol *check_variable_find(struct check *c, const char *name)
{
	struct variable_symbol *v = find(c, name, true);

	if (v)
		return v;
	v = find(c, name, false);
	if (v)
		v->is_leaked = true;
	return v;
}

struct variable_symbol *check_variable_declare(struct check *c, const char *name, struct span at)
{
	struct check_scopes *s = c->scopes;
	struct unit *u = c->unit;
	struct variable_symbol *v = NULL;

	if (s->next < u->variables.len) {
		v = u->variables.items[s->next];
		if (!str_eq(v->name, name) || v->span.begin != at.begin)
			u->variables.len = s->next; /* a type learnt meanwhile changed the order */
	}
	if (s->next >= u->variables.len) {
		v = arena_new(c->arena, struct variable_symbol);
		v->name = name;
		v->span = at;
		v->type = type_none();
		vector_push(&u->variables, v);
		c->changed = true;
	}
	s->next++;
	v->scope_depth = s->depth;
	v->callback_depth = c->callback_depth;
	v->is_visible = true;
	return v;
}

struct variable_symbol *check_variable_target(struct check *c, const char *name,
					      const struct type *type, struct span at)
{
	struct variable_symbol *v = find(c, name, true);

	if (v)
		return v;
	v = find(c, name, false);
	if (v && (type_is(type, TYPE_NONE) || type_is(v->type, TYPE_NONE) ||
		  check_unify(c, v->type, type))) {
		v->is_leaked = true;
		return v;
	}
	return check_variable_declare(c, name, at);
}

void check_variable_origin(struct check *c, const struct variable_symbol *v)
{
	if (c->said)
		check_error(c, v->span, "This is the %s.",
			    v->is_parameter  ? "function parameter"
			    : v->is_loop     ? "loop variable"
			    : v->is_declared ? "initial declaration"
					     : "initial assignment");
}

void check_variable_use(struct check *c, struct variable_symbol *v)
{
	if (v->callback_depth != c->callback_depth)
		v->is_captured = true;
}

void check_variable_assign(struct check *c, struct variable_symbol *v, const struct type *type,
			   enum address_space space, struct span at)
{
	const struct type *both;

	if (type_is(type, TYPE_NONE))
		return;
	if (type_is_aggregation(type)) {
		check_error(c, at, "Value '%s' cannot be assigned to a scratch variable.",
			    check_type_text(c, type));
		return;
	}
	if (v->is_loop) {
		check_error(c, at, "The loop variable $%s is read-only",
			    check_variable_name(v->name));
		return;
	}
	both = type_is(v->type, TYPE_NONE) ? type : check_unify(c, v->type, type);
	if (v->is_typed && both && !type_equal(both, v->type)) {
		bool fits = type_is_integer(v->type) && type_is_integer(type);

		both = fits ? v->type : NULL;
	}
	if (!both) {
		check_error(
			c, at,
			"Type mismatch for $%s: trying to assign value of type '%s' when variable "
			"already has a type '%s'",
			check_variable_name(v->name), check_type_text(c, type),
			check_type_text(c, v->type));
		return;
	}
	if (type_is(v->type, TYPE_NONE))
		v->space = space;
	else if (v->space != space && type_is_integer(type))
		v->space = SPACE_UNKNOWN;
	c->changed |= !type_equal(both, v->type);
	v->type = both;
}
