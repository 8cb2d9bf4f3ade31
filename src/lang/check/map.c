/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps: one symbol per name for the whole script; keys and values get their types from every use.
 */
#include "lang/check/internal.h"

struct map_symbol *check_map_symbol(struct check *c, const char *name, struct span at)
{
	struct map_symbol *m = hashmap_gets(&c->maps, name);

	if (m)
		return m;
	m = arena_new(c->arena, struct map_symbol);
	m->name = name;
	m->span = at;
	hashmap_puts(&c->maps, name, m);
	c->changed = true;
	return m;
}

static bool check_key_type(struct check *c, const struct expr *arg)
{
	if (!type_is_aggregation(arg->type) && !type_is(arg->type, TYPE_VOID))
		return true;
	check_error(c, arg->span, "Value '%s' cannot be used as a map key.",
		    check_type_text(c, arg->type));
	return false;
}

/* NULL while a part is unknown. */
static const struct type *key_of(struct check *c, struct expr *const *args, u32 nargs)
{
	const struct type **types;

	if (!nargs)
		return type_none();
	types = arena_new_array(c->arena, const struct type *, nargs);
	for (u32 i = 0; i < nargs; i++) {
		if (!check_known(c, args[i]) || !check_key_type(c, args[i]))
			return NULL;
		types[i] = args[i]->type;
	}
	return nargs == 1 ? types[0] : type_tuple(c->types, types, nargs);
}

static bool is_kernel_function(const struct expr *e)
{
	return (e->kind == EXPR_NAME || e->kind == EXPR_CALL) && str_eq(e->name, "func") &&
	       type_is(e->type, TYPE_KSYM);
}

void check_map_key(struct check *c, struct map_symbol *m, struct expr *const *args, u32 nargs,
		   struct span at)
{
	const struct type *key = key_of(c, args, nargs), *both;

	if (!key)
		return;
	m->has_other_keys |= nargs != 1 || !is_kernel_function(args[0]);
	if (!m->key) {
		m->key = key;
		m->key_is_list = type_is(key, TYPE_TUPLE);
		c->changed = true;
		return;
	}
	if (type_is(key, TYPE_NONE) != type_is(m->key, TYPE_NONE)) {
		if (type_is(key, TYPE_NONE))
			check_error(c, at,
				    "@%s used as a map without an explicit key (scalar map), "
				    "previously used with an explicit key (non-scalar map)",
				    m->name);
		else
			check_error(c, at,
				    "@%s used as a map with an explicit key (non-scalar map), "
				    "previously used without an explicit key (scalar map)",
				    m->name);
		return;
	}
	if (type_is(key, TYPE_NONE))
		return;
	both = check_unify(c, m->key, key);
	if (!both) {
		check_error(
			c, at,
			"Argument mismatch for @%s: trying to access with arguments: '%s' when map "
			"expects arguments: '%s'",
			m->name, check_type_text(c, key), check_type_text(c, m->key));
		return;
	}
	c->changed |= !type_equal(both, m->key);
	m->key = both;
}

void check_map_value(struct check *c, struct map_symbol *m, const struct type *value,
		     struct span at)
{
	const struct type *both;

	if (type_is(value, TYPE_NONE))
		return;
	if (!m->value) {
		m->value = value;
		c->changed = true;
		return;
	}
	both = check_unify(c, m->value, value);
	if (!both && m->value->kind == value->kind && type_is_bucketed(value)) {
		check_error(c, at, "Different %s in a single %s unsupported",
			    type_is(value, TYPE_HIST)	   ? "bits"
			    : type_is(value, TYPE_TSERIES) ? "tseries bounds"
			    : type_is(value, TYPE_LHIST)   ? "lhist bounds"
							   : "llhist bounds",
			    type_is(value, TYPE_HIST) ? "hist" : "map");
		return;
	}
	if (!both) {
		check_error(c, at,
			    "Type mismatch for @%s: trying to assign value of type '%s' when map "
			    "already has a type '%s'",
			    m->name, check_type_text(c, value), check_type_text(c, m->value));
		return;
	}
	c->changed |= !type_equal(both, m->value);
	m->value = both;
}

/* @x or @x[k] as a value (or as the target of an assignment, whose caller adds what it stores). */
void check_map_access(struct check *c, struct expr *e)
{
	const bool keyed = e->kind == EXPR_INDEX;
	struct map_symbol *m = check_map_symbol(c, keyed ? e->left->name : e->name,
						keyed ? e->left->span : e->span);
	const struct type *scalar;

	if (keyed) {
		e->left->map = m;
		e->left->type = type_none();
	}
	e->map = m;
	e->type = type_none();
	for (u32 i = 0; i < (keyed ? e->nargs : 0); i++)
		check_expr(c, e->args[i]);
	check_map_key(c, m, e->args, keyed ? e->nargs : 0, e->span);
	m->is_read = true;
	if (!m->value)
		return;
	scalar = check_aggregation_scalar(m->value);
	e->type = scalar ? scalar : m->value;
	e->space = type_is_scalar(e->type) ? SPACE_UNKNOWN : SPACE_BPF;
}

bool check_default_maps(struct check *c)
{
	bool found = false;

	hashmap_each (&c->maps, e) {
		struct map_symbol *m = e->value;

		/* A thread-local variable that is never assigned is a misspelling. */
		if (!m->key || m->value || !m->is_read ||
		    (!m->is_written && str_starts(m->name, "self.")))
			continue;
		m->value = check_literal_type(0, false);
		m->is_default = found = true;
	}
	return found;
}

void check_hint_map(struct check *c, const char *name)
{
	VECTOR(const char *) names = {0};

	if (strlen(name) < 3) /* any other short name would do as well */
		return;
	hashmap_each (&c->maps, e) {
		const struct map_symbol *m = e->value;

		if (m->value && !str_eq(m->name, name))
			vector_push(&names, arena_printf(c->arena, "@%s", m->name));
	}
	check_hint_nearest(c, arena_printf(c->arena, "@%s", name), names.items, names.len);
	vector_free(&names);
}

struct map_symbol *check_arg_map(struct check *c, struct expr *call, u32 n)
{
	struct expr *arg = call->args[n];

	if (arg->kind != EXPR_MAP) {
		check_error(c, arg->span, "%s() expects a map argument", call->name);
		return NULL;
	}
	arg->map = check_map_symbol(c, arg->name, arg->span);
	arg->type = type_none();
	if (c->final && !arg->map->value) {
		check_error(c, arg->span, "Undefined map: @%s", arg->name);
		check_hint_map(c, arg->name);
		return NULL;
	}
	return arg->map;
}
