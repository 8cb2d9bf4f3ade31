/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/function_args.h"

#include <stdio.h>

#include "trace/ftrace/number_text.h"

static const struct type *prototype(struct function_args *f, const char *name)
{
	struct btf_function found;
	bool is_new;
	void **place = hashmap_put(&f->functions, name, strlen(name), &is_new);

	if (is_new)
		*place = f->btf && !btf_find_function(f->btf, NULL, name, &found)
				 ? (void *)found.type
				 : (void *)type_none();
	return *place == (void *)type_none() ? NULL : *place;
}

/* The kernel compares the whole register with the value that its type's 32 bits are. */
static const char *enumerator(struct function_args *f, const struct type *t, u64 v)
{
	if (f->bare_enums || type_complete(f->types, t))
		return NULL;
	for (u32 i = 0; i < t->count; i++)
		if ((u64)(s64)(s32)t->enumerators[i].value == v)
			return t->enumerators[i].name;
	return NULL;
}

static const char *kind_name(const struct type *t)
{
	return t->kind == TYPE_STRUCT  ? "STRUCT"
	       : t->kind == TYPE_UNION ? "UNION"
	       : t->kind == TYPE_FLOAT ? "FLOAT"
	       : t->kind == TYPE_ENUM  ? "ENUM64"
				       : NULL;
}

static u64 value_at(const u8 *args, u32 i)
{
	u64 v;

	memcpy(&v, args + (size_t)i * 8, sizeof(v));
	return v;
}

static void print_hex(u64 v, struct strbuf *out)
{
	strbuf_addstr(out, "0x");
	text_hex(out, v);
}

/* "(STRUCT)[0x1:0x2]": as many registers as it fills. False where there are no more. */
static bool print_registers(const struct type *t, const u8 *args, u32 *at, struct strbuf *out)
{
	strbuf_addch(out, '(');
	strbuf_addstr(out, kind_name(t));
	strbuf_addstr(out, ")[");
	print_hex(value_at(args, *at), out);
	for (u32 size = 8; size < t->size; size += 8) {
		strbuf_addch(out, ':');
		if (++*at == FUNCTION_ARGS_RECORDED) {
			strbuf_addstr(out, "...]");
			return false;
		}
		print_hex(value_at(args, *at), out);
	}
	strbuf_addch(out, ']');
	return true;
}

static bool print_value(struct function_args *f, const struct type *t, const u8 *args, u32 *at,
			struct strbuf *out)
{
	const u64 v = value_at(args, *at);
	const char *name;

	if (t->kind == TYPE_ENUM && t->size <= 4) {
		text_signed(out, (s64)v);
		name = enumerator(f, t, v);
		if (name) {
			strbuf_addstr(out, " [");
			strbuf_addstr(out, name);
			strbuf_addch(out, ']');
		}
	} else if (t->kind == TYPE_INT && t->is_signed) {
		text_signed(out, (s64)v);
	} else if (kind_name(t)) {
		return print_registers(t, args, at, out);
	} else {
		print_hex(v, out);
	}
	return true;
}

static void print_parameters(struct function_args *f, const struct type *t, const u8 *args,
			     struct strbuf *out)
{
	for (u32 i = 0, at = 0; i < t->count + t->is_variadic; i++, at++) {
		if (i)
			strbuf_addstr(out, ", ");
		if (at == FUNCTION_ARGS_RECORDED) {
			strbuf_addstr(out, "...");
			return;
		}
		if (i == t->count) { /* "...": a parameter without name and type */
			strbuf_addstr(out, "=?");
			print_hex(value_at(args, at), out);
			return;
		}
		if (t->members[i].name)
			strbuf_addstr(out, t->members[i].name);
		strbuf_addch(out, '=');
		if (!print_value(f, t->members[i].type, args, &at, out))
			return;
	}
}

static const struct type *prototype_at(struct function_args *f, struct ksyms *symbols, u64 function)
{
	struct strbuf name = STRBUF_INIT;
	const struct type *t;

	symbol_print(symbols, function, SYMBOL_PLAIN, &name);
	t = prototype(f, name.data);
	strbuf_release(&name);
	return t;
}

void function_args_print(struct function_args *f, struct ksyms *symbols, u64 function,
			 const u8 *args, size_t count, struct strbuf *out)
{
	const struct type *const t = prototype_at(f, symbols, function);

	strbuf_addch(out, '(');
	if (t && count >= FUNCTION_ARGS_RECORDED)
		print_parameters(f, t, args, out);
	strbuf_addch(out, ')');
}

/* ---- JSON ---- */

/* What is above the type's bits in a register means nothing (System V ABI, 3.2.3). */
static u64 narrow(const struct type *t, u64 v)
{
	const u32 unused = t->size < 8 ? 64 - t->size * 8 : 0;

	if (!t->size || !unused)
		return v;
	return t->is_signed ? (u64)((s64)(v << unused) >> unused) : v << unused >> unused;
}

static void json_enum(struct function_args *f, const struct type *t, u64 v, struct json *j)
{
	if (!type_complete(f->types, t))
		for (u32 i = 0; i < t->count; i++)
			if ((u64)t->enumerators[i].value == v) {
				json_text(j, t->enumerators[i].name);
				return;
			}
	json_s64(j, (s64)v);
}

/* A value in more than one register is an array of them. */
static void json_registers(const struct type *t, const u8 *args, u32 *at, struct json *j)
{
	json_array(j);
	json_hex(j, value_at(args, *at));
	for (u32 size = 8; size < t->size && *at + 1 < FUNCTION_ARGS_RECORDED; size += 8)
		json_hex(j, value_at(args, ++*at));
	json_end(j, ']');
}

static void json_value(struct function_args *f, const struct type *t, const u8 *args, u32 *at,
		       struct json *j)
{
	const u64 v = narrow(t, value_at(args, *at));

	if (t->kind == TYPE_ENUM)
		json_enum(f, t, v, j);
	else if (t->kind == TYPE_BOOL)
		json_bool(j, v);
	else if (t->kind == TYPE_INT && t->is_signed)
		json_s64(j, (s64)v);
	else if (t->kind == TYPE_INT)
		json_u64(j, v);
	else if (kind_name(t))
		json_registers(t, args, at, j);
	else
		json_hex(j, v);
}

void function_args_json(struct function_args *f, struct ksyms *symbols, u64 function,
			const u8 *args, size_t count, struct json *j)
{
	const struct type *const t = prototype_at(f, symbols, function);

	json_object(j);
	for (u32 i = 0, at = 0;
	     t && count >= FUNCTION_ARGS_RECORDED && i < t->count && at < FUNCTION_ARGS_RECORDED;
	     i++, at++) {
		char number[16];

		snprintf(number, sizeof(number), "arg%u", i);
		json_key(j, t->members[i].name ?: number);
		json_value(f, t->members[i].type, args, &at, j);
	}
	json_end(j, '}');
}

void function_args_release(struct function_args *f)
{
	hashmap_release(&f->functions);
}
