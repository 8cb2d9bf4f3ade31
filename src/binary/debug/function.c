/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, and their parameters when they are entered.
 *
 * DWARF is believed where it says something about the first instruction (optimised code: location
 * lists). Unoptimised code says only where a parameter lies after the prologue; there, and only
 * there, the calling convention is known to hold.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "binary/debug/access.h"

enum { MAX_PARAMETERS = 64, WORD = 8 /* bytes of a register and of a stack slot */ };

/* ---- calling convention ---- */

/* Counts what earlier parameters have used up. */
struct convention {
	u32 integers, floats;
	u32 stack; /* bytes beyond the first stack argument */
};

static u32 integer_registers(void)
{
	u32 n = 0;

	while (arch_argument_offset(n) >= 0)
		n++;
	return n;
}

static struct access on_stack(struct arena *arena, u64 from_first_argument)
{
	const struct access_step sp = {
		.op = ACCESS_REGISTER, .size = WORD, .offset = arch_sp_offset()};

	return access_simple(
		arena, ACCESS_PLACE, &sp,
		(s64)(arch_stack_argument_offset(integer_registers()) + from_first_argument));
}

static struct access in_register(struct arena *arena, enum access_result result, u32 n)
{
	const struct access_step step = {
		.op = ACCESS_REGISTER, .size = WORD, .offset = (u16)arch_argument_offset(n)};

	return access_simple(arena, result, &step, 0);
}

static u8 scalar_size(const struct type *t)
{
	bool fits = t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8;

	return type_is_integer(t) || t->kind == TYPE_POINTER || t->kind == TYPE_FLOAT
		       ? (fits ? (u8)t->size : 0)
		       : 0;
}

/* Of a struct passed by value: does it hold floating point? Then its registers are not (all)
 * integer ones. */
static bool has_float(struct type_store *store, const struct type *t, u32 depth)
{
	if (t->kind == TYPE_FLOAT || depth > 8)
		return true;
	if (t->kind == TYPE_ARRAY)
		return t->element && has_float(store, t->element, depth + 1);
	if (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION)
		return false;
	type_complete(store, t);
	for (u32 i = 0; i < t->count; i++)
		if (has_float(store, t->members[i].type, depth + 1))
			return true;
	return false;
}

/* The next parameter by the System V ABI. */
static struct access next_argument(struct convention *c, struct type_store *store,
				   const struct type *t, bool by_reference)
{
	static const char unknown[] = "what is passed before it leaves open where it is";
	u32 registers = integer_registers(), words = MAX((t->size + WORD - 1) / WORD, 1u);
	u64 at;

	if (by_reference)
		words = 1;
	if (t->kind == TYPE_FLOAT && t->size <= WORD && c->floats < 8) {
		c->floats++;
		return access_refuse("it is in a floating-point register, which programs of the "
				     "kernel cannot read");
	}
	if (!by_reference && t->kind != TYPE_FLOAT && words <= 2 &&
	    c->integers + words <= registers) {
		if (!scalar_size(t) && has_float(store, t, 0)) {
			c->integers = registers; /* mixed classes: what follows is not known */
			c->floats = 8;
			c->stack = UINT32_MAX;
			return access_refuse(unknown);
		}
		c->integers += words;
		if (words == 1)
			return in_register(&store->arena, ACCESS_VALUE, c->integers - 1);
		return access_refuse("it is passed in several registers, and has no address");
	}
	if (by_reference && c->integers < registers)
		return in_register(&store->arena, ACCESS_PLACE, c->integers++);
	if (c->stack == UINT32_MAX || by_reference)
		return access_refuse(unknown);
	if (t->kind == TYPE_FLOAT && words == 2) /* long double */
		c->stack = ALIGN_UP(c->stack, 16u);
	at = c->stack;
	c->stack += words * WORD;
	return on_stack(&store->arena, at);
}

static bool is_by_reference(Dwarf_Die *parameter)
{
	Dwarf_Die memory, *type = debug_type_of(parameter, &memory), peeled;
	Dwarf_Attribute a;
	Dwarf_Word v = 0;

	if (!type || dwarf_peel_type(type, &peeled) != 0 ||
	    !dwarf_attr(&peeled, DW_AT_calling_convention, &a))
		return false;
	return dwarf_formudata(&a, &v) == 0 && v == DW_CC_pass_by_reference;
}

/*
 * A struct result that does not fit two registers is written where a hidden first argument points.
 */
static struct convention convention_of(Dwarf_Die *function, const struct type *retval)
{
	return (struct convention){.integers =
					   retval->size > 2 * WORD || is_by_reference(function)};
}

struct access access_by_convention(const struct access_site *s, Dwarf_Die *parameter,
				   struct type_store *store)
{
	Dwarf_Die memory, child, function = s->function;
	const struct type *retval =
		debug_convert_type(s->file, store, debug_type_of(&function, &memory));
	struct convention convention = convention_of(&function, retval);

	for (int more = dwarf_child(&function, &child); more == 0;
	     more = dwarf_siblingof(&child, &child)) {
		struct access a;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		a = next_argument(
			&convention, store,
			debug_convert_type(s->file, store, debug_type_of(&child, &memory)),
			is_by_reference(&child));
		if (child.addr == parameter->addr)
			return a;
	}
	return access_refuse("the function has only begun here, and has not stored it yet");
}

struct location debug_location(struct arena *arena, const struct access *a, const struct type *t,
			       u64 address)
{
	static const struct access too_wide = {.reason = "it is a number of more than 8 bytes"};
	struct location l = {.kind = LOCATION_ACCESS,
			     /* The language has no such numbers: it copies them, as structs. */
			     .size = t->kind == TYPE_FLOAT ? 0 : scalar_size(t),
			     .is_signed = t->is_signed,
			     .index = 0xffff,
			     .access = arena_memdup(arena, a, sizeof(*a)),
			     .address = address};

	if (a->result != ACCESS_NONE && !l.size && type_is_integer(t))
		l.access = &too_wide;
	else if (a->result == ACCESS_VALUE && t->size > WORD)
		l.access = &too_wide;
	if (l.access->result == ACCESS_NONE)
		l.kind = LOCATION_NONE;
	return l;
}

static void read_parameters(struct access_site *site, struct type_store *store,
			    struct debug_function *ret)
{
	struct convention convention = convention_of(&site->function, ret->retval);
	struct type_member members[MAX_PARAMETERS];
	struct location locations[MAX_PARAMETERS];
	const char *spellings[MAX_PARAMETERS];
	Dwarf_Die child, memory;
	struct type *args;
	u32 n = 0;

	for (int more = dwarf_child(&site->function, &child); more == 0 && n < MAX_PARAMETERS;
	     more = dwarf_siblingof(&child, &child)) {
		struct access by_convention, access;
		bool unsaid;
		const struct type *t;
		const char *name;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_diename(&child);
		t = debug_convert_type(site->file, store, debug_type_of(&child, &memory));
		by_convention = next_argument(&convention, store, t, is_by_reference(&child));
		access = access_of(site, &child, &unsaid);
		locations[n] = debug_location(&store->arena, unsaid ? &by_convention : &access, t,
					      site->address);
		spellings[n] = debug_spell_type(store, debug_type_of(&child, &memory));
		members[n] =
			(struct type_member){.name = name ? arena_strdup(&store->arena, name)
							  : arena_printf(&store->arena, "arg%u", n),
					     .type = t};
		n++;
	}
	if (!n)
		return;
	args = type_new(store, TYPE_STRUCT);
	args->members = arena_memdup(&store->arena, members, n * sizeof(*members));
	args->count = n;
	args->is_complete = true;
	ret->args = args;
	ret->locations = arena_memdup(&store->arena, locations, n * sizeof(*locations));
	ret->spellings = arena_memdup(&store->arena, spellings, n * sizeof(*spellings));
}

int debug_function_at(struct elf_file *f, u64 address, struct type_store *types,
		      struct debug_function *ret)
{
	struct debug_function r = {.retval_location = {.kind = LOCATION_NONE, .index = 0xffff}};
	struct access_site site;
	Dwarf_Die unit, memory;
	const char *name;

	if (!debug_dwarf(f))
		return -ENODATA;
	if (!debug_unit_at(f, address, &unit) ||
	    !access_site_init(&site, f, &types->arena, &unit, address) || site.entry != address)
		return -ENOENT;
	name = dwarf_diename(&site.function);
	r.name = name ? arena_strdup(&types->arena, name) : NULL;
	r.retval = debug_convert_type(f, types, debug_type_of(&site.function, &memory));
	if (scalar_size(r.retval) && r.retval->kind != TYPE_FLOAT)
		r.retval_location = (struct location){.kind = LOCATION_REGISTER,
						      .size = scalar_size(r.retval),
						      .is_signed = r.retval->is_signed,
						      .index = 0xffff,
						      .offset = arch_retval_offset()};
	read_parameters(&site, types, &r);
	*ret = r;
	return 0;
}
