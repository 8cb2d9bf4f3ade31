/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types: unification, literals, names as written in casts and `let`. */
#include "lang/check/internal.h"

#define MAX_ARRAY_ELEMENTS 65536

const char *check_type_text(struct check *c, const struct type *t)
{
	return type_str(c->arena, t);
}

const struct type *check_literal_type(u64 value, bool is_negative)
{
	s64 v = (s64)value;

	if (!is_negative && value > INT64_MAX)
		return type_int_extreme(8, 1);
	if (v < 0)
		return type_int_extreme(v >= INT8_MIN	 ? 1
					: v >= INT16_MIN ? 2
					: v >= INT32_MIN ? 4
							 : 8,
					-1);
	if (v <= INT8_MAX)
		return type_int(1, true);
	if (v <= INT16_MAX)
		return type_int(2, true);
	if (v <= INT32_MAX)
		return type_int(4, true);
	return type_int(8, true);
}

const struct type *check_aggregation_scalar(const struct type *t)
{
	switch (t->kind) {
	case TYPE_COUNT:
		return type_int(8, true);
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
		return type_int(8, t->is_signed);
	case TYPE_AVG:
		return type_int(8, t->is_signed);
	default:
		return NULL;
	}
}

static const struct type *with_extreme(const struct type *t, s8 extreme)
{
	return extreme ? type_int_extreme(t->size, extreme) : t;
}

/*
 * The smallest type for the values of both. No type holds all values of an unsigned and a signed
 * 64-bit one: then a constant decides, else it is the signed one. NULL: one constant is negative,
 * the other above INT64_MAX.
 */
static const struct type *unify_integers(const struct type *a, const struct type *b)
{
	const s8 extreme = a->extreme ? a->extreme : b->extreme;
	u32 size = MAX(a->size, b->size);

	if (a->extreme && b->extreme && a->extreme != b->extreme)
		return NULL;
	if (type_is(a, TYPE_ENUM) && type_is(b, TYPE_ENUM) && type_equal(a, b))
		return a;
	if (type_is(a, TYPE_BOOL) && type_is(b, TYPE_BOOL))
		return a;
	if (a->is_signed == b->is_signed)
		return with_extreme(type_int(size, a->is_signed), extreme);
	/*
	 * A non-negative literal has the smallest signed type, and can be combined with every
	 * unsigned one.
	 */
	if ((a->is_signed ? b : a)->size == 8 &&
	    (extreme > 0 || (!extreme && (a->is_signed ? a : b)->size < 8)))
		return with_extreme(type_int(8, false), extreme);
	size = MIN(8u, MAX((a->is_signed ? a : b)->size, 2 * (a->is_signed ? b : a)->size));
	return with_extreme(type_int(size, true), extreme);
}

const struct type_member *check_same_member(const struct type *a, u32 i, const struct type *b)
{
	if (type_is(a, TYPE_TUPLE))
		return i < b->count ? &b->members[i] : NULL;
	for (u32 k = 0; k < b->count; k++)
		if (str_eq(a->members[i].name, b->members[k].name))
			return &b->members[k];
	return NULL;
}

static const struct type *unify_members(struct check *c, const struct type *a, const struct type *b)
{
	const struct type **types;
	const char **names;

	if (a->kind != b->kind || a->count != b->count)
		return NULL;
	types = arena_new_array(c->arena, const struct type *, a->count + 1);
	names = arena_new_array(c->arena, const char *, a->count + 1);
	for (u32 i = 0; i < a->count; i++) {
		const struct type_member *other = check_same_member(a, i, b);

		names[i] = a->members[i].name;
		types[i] = other ? check_unify(c, a->members[i].type, other->type) : NULL;
		if (!types[i])
			return NULL;
	}
	return type_is(a, TYPE_TUPLE) ? type_tuple(c->types, types, a->count)
				      : type_record(c->types, names, types, a->count);
}

static const struct type *unify_pointers(struct check *c, const struct type *a,
					 const struct type *b)
{
	enum address_space space = a->space == b->space ? a->space : SPACE_UNKNOWN;

	if (type_equal(a->element, b->element))
		return a->space == space ? a : type_pointer(c->types, a->element, space);
	if (type_is(a->element, TYPE_VOID))
		return type_pointer(c->types, b->element, space);
	if (type_is(b->element, TYPE_VOID))
		return type_pointer(c->types, a->element, space);
	/* &$x of a variable that grew meanwhile */
	if (space == SPACE_BPF && type_is_integer(a->element) && type_is_integer(b->element))
		return a->element->size >= b->element->size ? a : b;
	return NULL;
}

const struct type *check_unify(struct check *c, const struct type *a, const struct type *b)
{
	if (a == b)
		return a;
	if (type_equal(a, b) && !type_is(a, TYPE_TUPLE) && !type_is(a, TYPE_RECORD))
		return a->extreme ? a : b->extreme ? b : a;
	if (type_is(a, TYPE_NONE) || type_is(b, TYPE_NONE))
		return NULL;
	if (type_is_integer(a) && type_is_integer(b))
		return unify_integers(a, b);
	if (type_is(a, TYPE_POINTER) && type_is_integer(b))
		return a;
	if (type_is(b, TYPE_POINTER) && type_is_integer(a))
		return b;
	if (a->kind != b->kind)
		return NULL;
	switch (a->kind) {
	case TYPE_STRING:
	case TYPE_BUFFER:
		return a->size >= b->size ? a : b;
	case TYPE_TUPLE:
	case TYPE_RECORD:
		return unify_members(c, a, b);
	case TYPE_POINTER:
		return unify_pointers(c, a, b);
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
	case TYPE_AVG:
	case TYPE_STATS:
		return a->is_signed ? a : b;
	case TYPE_STRUCT:
	case TYPE_UNION:
		return a->name && b->name && str_eq(a->name, b->name) && a->size == b->size ? a
											    : NULL;
	default:
		return NULL;
	}
}

const struct type *check_field_type(struct check *c, const struct type *t, enum address_space space,
				    bool is_user)
{
	if (type_is(t, TYPE_ARRAY) && t->element->is_char && t->count)
		return type_string(c->types, t->count);
	if (!type_is(t, TYPE_POINTER))
		return t;
	if (is_user)
		return t->space == SPACE_USER ? t : type_pointer(c->types, t->element, SPACE_USER);
	if (t->space != SPACE_UNKNOWN)
		return t;
	if (space == SPACE_CONTEXT || space == SPACE_TRUSTED)
		space = SPACE_KERNEL;
	if (space != SPACE_KERNEL && space != SPACE_USER)
		return t;
	return type_pointer(c->types, t->element, space);
}

/* "string[64]", "buffer[16]": the number is a size, not a count of elements. */
static const struct type *sized_type(struct check *c, const struct type_name *n, const char *name)
{
	s64 size = (s64)c->script->config.max_strlen;

	if (n->dimensions) {
		if (!n->counts[0])
			size = 0;
		else if (check_expr(c, n->counts[0]),
			 !check_constant(n->counts[0], &size) || size < 1 || size > 1 << 20) {
			check_error(c, n->span, "Invalid size for type \"%s\"", name);
			return NULL;
		}
	}
	return str_eq(name, "string") ? type_string(c->types, (u32)size)
				      : type_buffer(c->types, (u32)size);
}

/* Types that the probe's target defines come before the kernel's, and after the script's own. */
static const struct type *find_type(struct check *c, const char *name)
{
	const struct probe_context *x = c->unit ? &c->unit->context : NULL;
	const struct type *t = NULL, *known;

	if (x && x->find_type) {
		known = hashmap_gets(&c->types->named, name);
		if (!known || known->source_id)
			t = x->find_type(x->find_type_arg, c->types, name);
	}
	return t ? t : type_named(c->types, name);
}

static const struct type *base_type(struct check *c, const struct type_name *n)
{
	static const char *const plain[] = {"int8",   "int16",	"int32",  "int64", "uint8",
					    "uint16", "uint32", "uint64", "bool",  "string",
					    "buffer", "size_t", "char",	  "void"};
	const struct type *t;

	if (n->inner)
		return check_type_name(c, n->inner);
	if (n->typeof_expr && n->typeof_expr->kind == EXPR_MAP) {
		/* The type of a map with keys is that of its key. */
		const struct map_symbol *m =
			check_map_symbol(c, n->typeof_expr->name, n->typeof_expr->span);

		if (m->key && !type_is(m->key, TYPE_NONE))
			return m->key;
		if (!m->value && !c->final)
			return NULL;
	}
	if (n->typeof_expr)
		return check_unevaluated(c, n->typeof_expr);
	t = find_type(c, n->name);
	if (t)
		return t;
	/* A bare tag: (task_struct *) as (struct task_struct *). */
	for (size_t i = 0; i < 3; i++) {
		static const char *const tags[] = {"struct", "union", "enum"};

		t = find_type(c, arena_printf(c->arena, "%s %s", tags[i], n->name));
		if (t)
			return t;
	}
	if (str_starts(n->name, "enum "))
		check_error(c, n->span, "Unknown enum: %s", n->name + 5);
	else
		check_error(c, n->span, "Cannot resolve unknown type \"%s\"", n->name);
	check_hint_nearest(c, n->name, plain, ARRAY_SIZE(plain));
	if (c->script->ast.why_passed_over)
		check_hint(c, "a part of the included headers could not be read: %s",
			   c->script->ast.why_passed_over);
	return NULL;
}

const struct type *check_type_name(struct check *c, const struct type_name *n)
{
	const struct type *t;

	if (n->name && !n->pointers && (str_eq(n->name, "string") || str_eq(n->name, "buffer")))
		return sized_type(c, n, n->name);
	t = base_type(c, n);
	if (!t)
		return NULL;
	for (u32 i = 0; i < n->pointers; i++)
		t = type_pointer(c->types, t, SPACE_UNKNOWN);
	for (u32 i = n->dimensions; i-- > 0;) {
		s64 count = 0;

		if (n->counts[i]) {
			check_expr(c, n->counts[i]);
			if (!check_constant(n->counts[i], &count) || count < 0 ||
			    count > MAX_ARRAY_ELEMENTS) {
				check_error(c, n->span, "Invalid number of array elements");
				return NULL;
			}
		}
		t = type_array(c->types, t, (u32)count);
	}
	return t;
}
