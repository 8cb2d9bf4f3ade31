/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions about types and the script's options; all of it is answered when the script is
 * compiled. */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "lang/lower/internal.h"

/*
 * sizeof, offsetof, typeof: the grammar has nodes of its own for them; these rows exist for the
 * documentation.
 */
static void check_syntax(struct check *c, struct expr *call)
{
	call->type = type_none();
	check_error(c, call->span, "%s() expects a type or an expression: %s", call->builtin->name,
		    call->builtin->signature);
}

/* ---- is_* ---- */

static bool is_literal(const struct expr *e)
{
	return e->kind == EXPR_INTEGER || e->kind == EXPR_STRING || e->kind == EXPR_BOOL ||
	       e->is_comptime_known ||
	       (e->kind == EXPR_UNARY && e->op == OP_NEG && e->left->kind == EXPR_INTEGER);
}

static bool answer(const char *question, const struct expr *e)
{
	const struct type *t = e->type;

	if (str_eq(question, "is_ptr"))
		return t->kind == TYPE_POINTER;
	if (str_eq(question, "is_str"))
		return t->kind == TYPE_STRING;
	if (str_eq(question, "is_array"))
		return t->kind == TYPE_ARRAY;
	if (str_eq(question, "is_integer"))
		return t->kind == TYPE_INT || t->kind == TYPE_ENUM;
	if (str_eq(question, "is_unsigned_integer"))
		return (t->kind == TYPE_INT || t->kind == TYPE_ENUM) && !t->is_signed;
	return is_literal(e);
}

static void check_predicate(struct check *c, struct expr *call)
{
	call->type = type_bool();
	if (check_known(c, call->args[0]) && call->args[0]->type->kind != TYPE_NONE)
		builtin_set_integer(call, type_bool(), answer(call->builtin->name, call->args[0]));
}

static void check_is_scalar(struct check *c, struct expr *call)
{
	struct map_symbol *m;

	call->type = type_bool();
	if (call->args[0]->kind != EXPR_MAP) {
		check_error(c, call->args[0]->span,
			    "is_scalar() expects a map for the first argument");
		return;
	}
	m = check_arg_map(c, call, 0);
	if (m && m->key)
		builtin_set_integer(call, type_bool(), m->key->kind == TYPE_NONE);
}

/* ---- typeinfo ---- */

struct typeinfo {
	const struct type *type;
	const char *text[2]; /* .base_type, .full_type */
};

/* The argument is a node of the grammar that holds a type or an expression. */
static void check_typeinfo(struct check *c, struct expr *call)
{
	static const char *const names[] = {"btf_id", "base_type", "full_type"};
	struct expr *arg = call->args[0];
	struct type_name *name = arg->type_name;
	const struct type *t, *types[3];
	struct typeinfo *info;

	call->type = type_none();
	if (name && name->typeof_expr)
		t = check_unevaluated(c, name->typeof_expr);
	else
		t = name ? check_type_name(c, name) : NULL;
	if (!t)
		return;
	types[0] = type_int(8, false);
	types[1] = type_string(c->types, strlen(builtin_kind(t)) + 1);
	types[2] = type_string(c->types, strlen(type_str(c->arena, t)) + 1);
	info = arena_new(c->arena, struct typeinfo);
	*info = (struct typeinfo){t, {builtin_kind(t), type_str(c->arena, t)}};
	call->annotation = info;
	call->type = type_record(c->types, names, types, 3);
}

const struct type *typeinfo_type(const struct expr *e)
{
	const struct typeinfo *info = e->annotation;
	const bool is_typeinfo =
		e->kind == EXPR_CALL && e->builtin && str_eq(e->builtin->name, "typeinfo");

	return is_typeinfo && info ? info->type : NULL;
}

void typeinfo_member(const struct expr *call, struct expr *e)
{
	const struct typeinfo *info = call->annotation;
	const bool full = str_eq(e->name, "full_type");

	e->is_comptime_known = info != NULL;
	if (!info)
		return;
	if (str_eq(e->name, "btf_id")) {
		e->integer = (u32)info->type->source_id;
		return;
	}
	e->string.data = info->text[full];
	e->string.len = (u32)strlen(info->text[full]);
}

static void lower_typeinfo(struct lower *l, struct expr *call, struct value *ret)
{
	const struct typeinfo *info = call->annotation;
	const struct type *t = info->type, *record = call->type;
	const char *const *text = info->text;
	ir_reg slot;

	lower_slot(l, record, "typeinfo", &slot);
	lower_zero(l, slot, 0, record->size);
	/* Only types that BTF gave have an id. */
	ir_store_imm(l->f, slot, record->members[0].offset, 8, (u32)t->source_id);
	for (u32 i = 0; i < 2; i++) {
		const struct type_member *m = &record->members[i + 1];
		const struct value v = lower_string_literal(l, text[i], strlen(text[i]), m->type);

		lower_store_value(l, slot, m->offset, m->type, &v, call->span);
	}
	*ret = value_memory(record, slot, 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

/* ---- is_err: kernel pointers that are errors, include/linux/err.h ---- */

#define MAX_ERRNO 4095

static void check_is_err(struct check *c, struct expr *call)
{
	call->type = type_bool();
	if (check_known(c, call->args[0]))
		check_arg_pointer_or_integer(c, call, 0);
}

static void lower_is_err(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type,
			      builtin_test(l, IR_GE, lower_scalar(l, call->args[0]), -MAX_ERRNO));
}

/* ---- container_of ---- */

static const char *member_path(struct arena *a, const struct expr *e)
{
	const char *left;

	if (e->kind == EXPR_NAME)
		return e->name;
	if (e->kind != EXPR_MEMBER || e->is_arrow)
		return NULL;
	left = member_path(a, e->left);
	return left ? arena_printf(a, "%s.%s", left, e->name) : NULL;
}

static struct expr *node(struct arena *a, enum expr_kind kind, struct span at)
{
	struct expr *e = arena_new(a, struct expr);

	e->kind = kind;
	e->span = at;
	return e;
}

static struct type_name *pointer_name(struct arena *a, const struct type_name *to)
{
	struct type_name *t = arena_new(a, struct type_name);

	*t = *to;
	t->pointers++;
	return t;
}

/* container_of(p, T, m) becomes (T *)((uint8 *)p - offsetof(T, m)). */
static void check_container_of(struct check *c, struct expr *call)
{
	static const struct type_name byte = {.name = "uint8"};
	struct expr *type = call->args[1], *bytes, *offset, *at;
	struct type_name *name = type->type_name;
	const char *path = member_path(c->arena, call->args[2]);

	call->type = type_none();
	if (type->kind == EXPR_NAME) {
		name = arena_new(c->arena, struct type_name);
		name->name = type->name;
		name->span = type->span;
	}
	if (!name || !path) {
		check_error(c, call->args[name ? 2 : 1]->span,
			    name ? "container_of() expects the name of a member"
				 : "container_of() expects a type");
		check_hint(c, "%s", call->builtin->signature);
		return;
	}
	offset = node(c->arena, EXPR_OFFSETOF, call->args[2]->span);
	offset->type_name = name;
	offset->name = path;
	bytes = node(c->arena, EXPR_CAST, call->args[0]->span);
	bytes->type_name = pointer_name(c->arena, &byte);
	bytes->left = call->args[0];
	at = node(c->arena, EXPR_BINARY, call->span);
	at->op = OP_SUB;
	at->left = bytes;
	at->right = offset;
	call->kind = EXPR_CAST;
	call->type_name = pointer_name(c->arena, name);
	call->left = at;
	check_expr(c, call);
}

#define QUESTION(name, doc)                                                                       \
	{                                                                                         \
		name, "bool " name "(expression)", doc " Known when the script is compiled.", "", \
			BUILTIN_CALL, 1, 1, check_predicate, builtin_lower_literal                \
	}

const struct builtin builtins_type[] = {
	{"sizeof", "uint64 sizeof(TYPE | expression)",
	 "Size of a type or value in bytes; the expression is not evaluated.", "", BUILTIN_CALL, 1,
	 1, check_syntax, builtin_lower_literal},
	{"offsetof", "uint64 offsetof(TYPE | expression, member[.member])",
	 "Offset of a member in its struct, in bytes.", "", BUILTIN_CALL, 2, 2, check_syntax,
	 builtin_lower_literal},
	{"typeof", "TYPE typeof(TYPE | expression)",
	 "The type of an expression, where a type is wanted: casts, let, sizeof.", "", BUILTIN_CALL,
	 1, 1, check_syntax, builtin_lower_literal},
	{"container_of", "T *container_of(member *p, typeof(T), member)",
	 "The struct that contains the member that p points to.", "",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 3, 3, check_container_of, builtin_lower_literal},
	{"typeinfo", "record typeinfo(TYPE | expression)",
	 "What a type is: .btf_id, .base_type (\"int\", \"string\" ...) and .full_type as it is "
	 "written.",
	 "", BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 1, check_typeinfo, lower_typeinfo},
	QUESTION("is_ptr", "True for a pointer."),
	QUESTION("is_str", "True for a string."),
	QUESTION("is_array", "True for an array."),
	QUESTION("is_integer", "True for an integer."),
	QUESTION("is_unsigned_integer", "True for an unsigned integer."),
	QUESTION("is_literal", "True for a literal."),
	{"is_scalar", "bool is_scalar(@map)",
	 "True for a map without keys. Known when the script is compiled.", "",
	 BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 1, check_is_scalar, builtin_lower_literal},
	{"is_err", "bool is_err(void *p)",
	 "True if a kernel pointer is an error number in disguise (IS_ERR).", "", BUILTIN_CALL, 1,
	 1, check_is_err, lower_is_err},
	{0},
};
