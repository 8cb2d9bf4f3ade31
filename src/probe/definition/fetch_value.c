/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables as fetch arguments (Documentation/trace/kprobetrace.rst): a chain of memory accesses
 * from a register, a variable in memory, or a number. What the kernel cannot say is refused.
 */
#include <stdio.h>

#include "arch/arch.h"
#include "kernel/symbols/ksyms.h"
#include "probe/definition/internal.h"

enum {
	EXPRESSION_MAX = 63, /* kernel/trace/trace_probe.h, MAX_ARGSTR_LEN */
	NESTING_MAX = 14,
	ARRAY_MAX = 64, /* MAX_ARRAY_LEN */
};

static bool refuse(struct fetch_maker *m, const char *why, const char *hint)
{
	m->result->why = why;
	m->result->hint = hint;
	return false;
}

static const char *type_text(struct fetch_maker *m, const struct type *t)
{
	return type_str(&m->translator->arena, t);
}

/* ---- memory ---- */

/* "+8(%di)", "@+0x4010", "@counter+0": what lies at the value's place. */
static const char *at_place(struct fetch_maker *m, const struct fetch_value *v, bool is_user)
{
	struct arena *a = &m->translator->arena;

	if (v->kind == BASE_CONSTANT)
		return arena_printf(a, "@0x%" PRIx64, (u64)v->offset);
	if (v->kind == BASE_TEXT)
		return arena_printf(a, "%c%s%" PRIu64 "(%s)", v->offset < 0 ? '-' : '+',
				    is_user ? "u" : "",
				    v->offset < 0 ? 0 - (u64)v->offset : (u64)v->offset, v->base);
	if (v->symbol)
		return arena_printf(a, "@%s%+" PRId64, v->symbol, v->offset);
	/* Counted from where the probed file is mapped. */
	return arena_printf(a, "@+0x%" PRIx64, (u64)v->offset - m->place->bias);
}

/* The pointer that the value is: the place that it points to. */
static bool follow(struct fetch_maker *m, bool is_user, struct fetch_value *v)
{
	if (v->bit_size)
		return refuse(m, "it is a bit-field", NULL);
	if (v->is_place) {
		v->base = at_place(m, v, is_user);
		v->kind = BASE_TEXT;
		v->symbol = NULL;
		v->offset = 0;
	}
	v->is_place = true;
	return true;
}

/* ---- from what DWARF says ---- */

/* Does the kernel find the variable by the name? Of several it takes its own before a module's. */
static bool is_told_by(struct translator *t, const char *name, u64 address)
{
	struct ksyms *const ks = t->module ? kernel_ksyms(t->kernel) : NULL;
	struct kernel_symbol found;
	u64 known;

	if (!name || !elf_file_names_only(t->file, name, address))
		return false;
	known = ks ? ksyms_address(ks, name) : 0;
	return !known || (ksyms_at(ks, known, KSYM_FIRST, &found) && found.module &&
			  str_eq(found.module, t->module));
}

/*
 * Variables of the kernel are told by their symbols, which functions' statics have with a number
 * behind the name. Where several have one, a probe of the kernel itself counts from its beginning.
 */
static bool begin_symbol(struct fetch_maker *m, const char *name, u64 address,
			 struct fetch_value *v)
{
	struct translator *const t = m->translator;
	struct elf_symbol begin;

	/* In memory, addresses of per-CPU variables are small numbers. */
	if ((s64)address >= 0 || elf_file_is_in_section(t->file, ".data..percpu", address))
		return refuse(m, "it is a per-CPU variable", NULL);
	v->offset = 0;
	v->symbol = name;
	if (is_told_by(t, v->symbol, address))
		return true;
	v->symbol = elf_file_name_at(t->file, address);
	if (is_told_by(t, v->symbol, address))
		return true;
	if (t->module || elf_file_find_symbol(t->file, "_text", &begin) || address < begin.address)
		return refuse(m, "another symbol of the kernel has its name", NULL);
	v->symbol = "_text";
	v->offset = (s64)(address - begin.address);
	return true;
}

static bool begin(struct fetch_maker *m, const struct debug_variable *d,
		  const struct access_step *step, struct fetch_value *v)
{
	const struct arch_register *r;

	switch (step->op) {
	case ACCESS_REGISTER:
		r = arch_register_at(step->offset);
		if (!r)
			return refuse(m, "its register cannot be fetched", NULL);
		v->base = arena_printf(&m->translator->arena, "%%%s", r->name);
		return true;
	case ACCESS_CONSTANT:
		v->kind = BASE_CONSTANT;
		v->offset = step->value;
		return true;
	case ACCESS_STATIC:
		v->kind = BASE_STATIC;
		v->offset = step->value;
		if (m->translator->is_user)
			return true;
		return begin_symbol(m, d->name, (u64)step->value, v);
	default:
		return refuse(m, "its value is computed, which the kernel's probes cannot do",
			      "a script can read it, as vars.NAME");
	}
}

/* Of a value that is read with fewer bytes, or cut, only what its type has counts. */
static u32 without_cuts(const struct access *a, const struct type *t)
{
	u32 n = a->count;

	while (a->result == ACCESS_VALUE && n > 1 && a->steps[n - 1].op == ACCESS_EXTEND &&
	       t->size && t->size <= a->steps[n - 1].size)
		n--;
	return n;
}

bool fetch_value_of(struct fetch_maker *m, const struct debug_variable *d, struct fetch_value *v)
{
	const struct access *const a = &d->access;
	const u32 n = without_cuts(a, d->type);

	*v = (struct fetch_value){.type = d->type};
	if (a->result == ACCESS_NONE)
		return refuse(m, a->reason ? a->reason : "its place is not known",
			      d->stored_at ? "probe a line of the function, as in FUNCTION:2"
					   : NULL);
	if (!n || !begin(m, d, &a->steps[0], v))
		return m->result->why ? false : refuse(m, "its place is not known", NULL);
	for (u32 i = 1; i < n; i++) {
		const struct access_step *const s = &a->steps[i];
		const bool is_last = i + 1 == n && a->result == ACCESS_VALUE;

		if (s->op == ACCESS_ADD) {
			v->offset += s->value;
		} else if (s->op == ACCESS_DEREF && is_last && d->type->size <= s->size) {
			v->is_place = true;
		} else if (s->op == ACCESS_DEREF && s->size == 8) {
			v->is_place = true;
			if (!follow(m, false, v))
				return false;
			v->is_place = false;
		} else {
			return refuse(m,
				      "its value is computed, which the kernel's probes cannot do",
				      "a script can read it, as vars.NAME");
		}
	}
	v->is_place |= a->result == ACCESS_PLACE;
	/* A reference is what it refers to; its address, where that has no single value. */
	if (d->spelling && str_ends(d->spelling, "&") && v->type->kind == TYPE_POINTER &&
	    (m->result->from->steps.len ||
	     (v->type->element->kind != TYPE_STRUCT && v->type->element->kind != TYPE_UNION))) {
		v->type = v->type->element;
		return follow(m, false, v);
	}
	return true;
}

/* ---- members and elements ---- */

static bool step_member(struct fetch_maker *m, const char *left, const struct point_step *s,
			struct fetch_value *v)
{
	struct translator *t = m->translator;
	const struct type_member *member;
	u32 offset;

	m->result->at = s->at;
	if (v->type->kind != TYPE_STRUCT && v->type->kind != TYPE_UNION)
		return refuse(
			m, arena_printf(&t->arena, "%s is not a data structure nor a union.", left),
			NULL);
	if (type_complete(&t->types, v->type))
		return refuse(m, "the members of its type are not known", NULL);
	member = type_find_member(&t->types, v->type, s->member, &offset);
	if (!member)
		return refuse(m,
			      arena_printf(&t->arena, "%s(type:%s) has no member %s.", left,
					   v->type->name ? v->type->name : type_text(m, v->type),
					   s->member),
			      NULL);
	if (!v->is_place && offset)
		return refuse(m, "it is in a register together with other members", NULL);
	v->offset += v->is_place ? offset : 0;
	v->type = member->type;
	v->bit_offset = member->bit_offset;
	v->bit_size = member->bit_size;
	return true;
}

static bool step_index(struct fetch_maker *m, const char *left, const struct point_step *s,
		       bool is_user, struct fetch_value *v)
{
	struct arena *a = &m->translator->arena;
	const bool is_pointer = v->type->kind == TYPE_POINTER;
	const struct type *const element = v->type->element;

	m->result->at = s->at;
	if (!is_pointer && v->type->kind != TYPE_ARRAY)
		return refuse(m, arena_printf(a, "%s is not a pointer nor array.", left), NULL);
	if (!element->size)
		return refuse(m, "the size of its elements is not known", NULL);
	if (!is_pointer && v->type->count && (s->index < 0 || s->index >= v->type->count))
		return refuse(
			m,
			arena_printf(a, "%s has %u elements, counted from 0", left, v->type->count),
			NULL);
	if (s->index > INT32_MAX || s->index < INT32_MIN)
		return refuse(m, "the index is out of range", NULL);
	if (is_pointer && !follow(m, is_user, v))
		return false;
	if (!v->is_place)
		return refuse(m, "it is not in memory here", NULL);
	v->offset += s->index * (s64)element->size;
	v->type = element;
	return true;
}

bool fetch_value_step(struct fetch_maker *m, const struct debug_variable *d,
		      const struct point_step *s, bool is_user, struct fetch_value *v)
{
	const struct point_argument *const from = m->result->from;
	const char *left = d->name;
	const bool is_pointer = v->type->kind == TYPE_POINTER;
	/* Rust has one spelling for both. */
	const bool is_rust = d->spelling && d->spelling[0] == '&';

	for (size_t i = 0; i < from->steps.len && &from->steps.items[i] != s; i++)
		if (from->steps.items[i].member)
			left = from->steps.items[i].member;
	if (!s->member) {
		/* Of what a reference to an array refers to. */
		if (is_rust && is_pointer && v->type->element->kind == TYPE_ARRAY) {
			v->type = v->type->element;
			if (!follow(m, is_user, v))
				return false;
		}
		return step_index(m, left, s, is_user, v);
	}
	m->result->at = s->at;
	if (is_pointer && !s->is_arrow && !is_rust)
		return refuse(m,
			      arena_printf(&m->translator->arena, "%s must be referred by '->'",
					   s->member),
			      NULL);
	if (!is_pointer && s->is_arrow)
		return refuse(m,
			      arena_printf(&m->translator->arena, "%s must be referred by '.'",
					   s->member),
			      NULL);
	if (is_pointer) {
		v->type = v->type->element;
		if (!follow(m, is_user, v))
			return false;
	}
	return step_member(m, left, s, v);
}

/* ---- the text ---- */

/* "s32", "x64": as the variable's own type has it; letter 0 = by its sign. */
static const char *number_type(struct fetch_maker *m, const struct type *t, char letter)
{
	const u32 size = t->kind == TYPE_POINTER ? 8 : t->size;

	if (!letter)
		letter = (t->kind == TYPE_INT || t->kind == TYPE_ENUM) && t->is_signed ? 's' : 'x';
	return arena_printf(&m->translator->arena, "%c%u", letter, size * 8);
}

static bool is_number(const struct type *t)
{
	const bool is_one = type_is_integer(t) || t->kind == TYPE_POINTER || t->kind == TYPE_FLOAT;

	return is_one && (t->kind == TYPE_POINTER || t->size == 1 || t->size == 2 || t->size == 4 ||
			  t->size == 8);
}

static const char *single_letter(const char *cast)
{
	return cast && cast[0] && strchr("usx", cast[0]) && !cast[1] ? cast : NULL;
}

/* From the lowest bit of the smallest unit that has all of it. */
static bool bit_field(struct fetch_maker *m, struct fetch_value *v, const char *cast,
		      const char **ret)
{
	u32 unit = v->type->size ? v->type->size * 8 : 32, at = v->bit_offset;

	if (v->type->is_signed && v->type->kind == TYPE_INT && !cast)
		return refuse(
			m, "it is a signed bit-field, which the kernel's probes read without sign",
			"behind it, ':u' reads its bits as a number without sign");
	if (cast && *cast == 's')
		return refuse(m, "the kernel's probes read bit-fields without sign", NULL);
	if (unit > 64)
		unit = 64;
	while (at >= unit) {
		v->offset += unit / 8;
		at -= unit;
	}
	while (at + v->bit_size > unit && unit < 64)
		unit *= 2;
	if (at + v->bit_size > unit)
		return refuse(m, "the bit-field lies across two units", NULL);
	*ret = arena_printf(&m->translator->arena, "b%u@%u/%u", v->bit_size, at, unit);
	return true;
}

static bool is_char(const struct type *t)
{
	return t->kind == TYPE_INT && t->size == 1;
}

static bool is_string(const char *cast)
{
	return str_eq(cast, "string") || str_eq(cast, "ustring");
}

static bool cast_to_string(struct fetch_maker *m, const struct fetch_value *v)
{
	const struct type *const t = v->type;
	struct arena *a = &m->translator->arena;
	const char *const name = m->result->from->variable;

	if (t->kind != TYPE_POINTER && t->kind != TYPE_ARRAY)
		return refuse(m,
			      arena_printf(a,
					   "Failed to cast into string: %s(%s) is not a pointer "
					   "nor array.",
					   name, type_text(m, t)),
			      NULL);
	if (!is_char(t->element) && t->element->kind != TYPE_VOID)
		return refuse(
			m,
			arena_printf(a, "Failed to cast into string: %s is not (unsigned) char *.",
				     name),
			NULL);
	return true;
}

/* By the variable's own type. */
static bool own_type(struct fetch_maker *m, struct fetch_value *v, const char **ret)
{
	const struct type *const t = v->type;
	struct arena *a = &m->translator->arena;

	if (is_number(t)) {
		*ret = number_type(m, t, 0);
		return true;
	}
	if (t->kind == TYPE_ARRAY && is_char(t->element) && t->element->is_char) {
		*ret = "string";
		return true;
	}
	if (t->kind == TYPE_ARRAY && is_number(t->element) && t->count && t->count <= ARRAY_MAX) {
		*ret = arena_printf(a, "%s[%u]", number_type(m, t->element, 0), t->count);
		return true;
	}
	if (t->kind == TYPE_ARRAY)
		return refuse(m, "it is an array, which has no single value",
			      "name an element, as in NAME[0]");
	if (t->kind == TYPE_STRUCT || t->kind == TYPE_UNION)
		return refuse(m,
			      arena_printf(a, "it is a %s, which has no single value",
					   t->kind == TYPE_STRUCT ? "struct" : "union"),
			      "name a member, as in NAME.MEMBER");
	return refuse(m, "a value of its type cannot be fetched", NULL);
}

static bool choose_type(struct fetch_maker *m, struct fetch_value *v, const char *cast,
			bool is_user, const char **ret)
{
	if (v->bit_size && (!cast || single_letter(cast)))
		return bit_field(m, v, cast, ret);
	if (!cast)
		return own_type(m, v, ret);
	*ret = cast;
	if (is_string(cast)) {
		const bool is_pointer = v->type->kind == TYPE_POINTER;

		return cast_to_string(m, v) && (!is_pointer || follow(m, false, v));
	}
	if (single_letter(cast)) {
		if (!is_number(v->type))
			return own_type(m, v, ret) &&
			       refuse(m, "it is an array, which has no single value", NULL);
		*ret = number_type(m, v->type, *cast);
		return true;
	}
	/* Several of what a pointer points to. */
	if (strchr(cast, '[') && v->type->kind == TYPE_POINTER)
		return follow(m, is_user, v);
	return true;
}

static u32 nesting(const char *text)
{
	u32 n = 0;

	for (; *text; text++)
		n += *text == '(';
	return n;
}

bool fetch_value_text(struct fetch_maker *m, const struct fetch_value *value, const char *cast,
		      bool is_user)
{
	struct arena *a = &m->translator->arena;
	struct fetch_value v = *value;
	const char *type, *text;
	size_t len;

	m->result->at = m->result->from->at;
	if (!choose_type(m, &v, cast, is_user, &type))
		return false;
	if (v.is_place)
		text = at_place(m, &v, is_user && (is_string(type) || strchr(type, '[')));
	else if (v.kind == BASE_CONSTANT)
		text = arena_printf(a, "\\%" PRId64, v.offset);
	else if (v.kind == BASE_STATIC)
		return refuse(m, "it is an address, which is known only when the program runs",
			      NULL);
	else if (v.offset)
		return refuse(m, "its value is a sum, which the kernel's probes cannot compute",
			      "a script can read it, as vars.NAME");
	else
		text = v.base;
	if (!v.is_place && (is_string(type) || strchr(type, '[')))
		return refuse(m, "it is not in memory here", NULL);
	if (nesting(text) > NESTING_MAX)
		return refuse(m,
			      arena_printf(a,
					   "it takes %u accesses to memory, the kernel's probes %d",
					   nesting(text), NESTING_MAX),
			      NULL);
	len = strlen(text) + 1 + strlen(type);
	if (len > EXPRESSION_MAX)
		return refuse(
			m,
			arena_printf(
				a,
				"its fetch argument would have %zu characters, the kernel takes %d",
				len, EXPRESSION_MAX),
			"probe where a pointer nearer to it is at hand");
	m->result->text = text;
	m->result->type = type;
	return true;
}
