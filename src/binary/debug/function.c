/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function's parameters are when it is entered.
 *
 * DWARF is believed where it says something about the first instruction (optimised code: location
 * lists). Unoptimised code says only where a parameter lies after the prologue; there, and only
 * there, the calling convention is known to hold.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "binary/debug/internal.h"

enum { MAX_PARAMETERS = 64, WORD = 8 /* bytes of a register and of a stack slot */ };

/* Names of the DWARF registers (System V ABI of each machine). */
static const char *const dwarf_registers[] = {
#if defined(__x86_64__)
	"ax", "dx", "cx",  "bx",  "si",	 "di",	"bp",  "sp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
#endif
};

static const struct arch_register *register_of(const Dwarf_Op *op)
{
	u64 n = op->atom == DW_OP_regx ? op->number : (u64)op->atom - DW_OP_reg0;

	if (op->atom != DW_OP_regx && (op->atom < DW_OP_reg0 || op->atom > DW_OP_reg31))
		return NULL;
	return n < ARRAY_SIZE(dwarf_registers) ? arch_register_find(dwarf_registers[n]) : NULL;
}

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

static struct location on_stack(u64 from_first_argument, u8 size, bool is_signed)
{
	return (struct location){.kind = LOCATION_MEMORY,
				 .size = size,
				 .is_signed = is_signed,
				 .base = arch_sp_offset(),
				 .index = 0xffff,
				 .value = (s64)(arch_stack_argument_offset(integer_registers()) +
						from_first_argument)};
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

/* The next parameter by the System V ABI; LOCATION_NONE where no program can read it. */
static struct location next_argument(struct convention *c, struct type_store *store,
				     const struct type *t, bool by_reference)
{
	struct location none = {.kind = LOCATION_NONE, .index = 0xffff};
	u32 registers = integer_registers(), words = MAX((t->size + WORD - 1) / WORD, 1u);
	u64 at;

	if (by_reference)
		words = 1;
	if (t->kind == TYPE_FLOAT && t->size <= WORD && c->floats < 8) {
		c->floats++;
		return none;
	}
	if (!by_reference && t->kind != TYPE_FLOAT && words <= 2 &&
	    c->integers + words <= registers) {
		if (!scalar_size(t) && has_float(store, t, 0)) {
			c->integers = registers; /* mixed classes: what follows is not known */
			c->floats = 8;
			c->stack = UINT32_MAX;
			return none;
		}
		c->integers += words;
		if (!scalar_size(t)) /* a struct in registers has no address */
			return none;
		return (struct location){.kind = LOCATION_REGISTER,
					 .size = scalar_size(t),
					 .is_signed = t->is_signed,
					 .index = 0xffff,
					 .offset = (u16)arch_argument_offset(c->integers - 1)};
	}
	if (by_reference && c->integers < registers)
		return (struct location){.kind = LOCATION_MEMORY,
					 .index = 0xffff,
					 .base = (u16)arch_argument_offset(c->integers++)};
	if (c->stack == UINT32_MAX || by_reference)
		return none;
	if (t->kind == TYPE_FLOAT && words == 2) /* long double */
		c->stack = ALIGN_UP(c->stack, 16u);
	at = c->stack;
	c->stack += words * WORD;
	return on_stack(at, scalar_size(t), t->is_signed);
}

/* ---- DWARF ---- */

/*
 * clang: "the register's low bits, widened": DW_OP_breg 0, a mask, conversions, DW_OP_stack_value.
 * The register itself then holds the value as long as the mask does not cut into it.
 */
static const struct arch_register *widened_register(const Dwarf_Op *ops, size_t n, u32 size)
{
	const u64 all = size >= 8 ? UINT64_MAX : ((u64)1 << size * 8) - 1;
	const Dwarf_Op plain = {.atom = (u8)(ops[0].atom - DW_OP_breg0 + DW_OP_reg0)};

	if (ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31 || ops[0].number || n < 2 ||
	    ops[n - 1].atom != DW_OP_stack_value)
		return NULL;
	for (size_t i = 1; i + 1 < n; i++)
		if (ops[i].atom != DW_OP_convert && ops[i].atom != DW_OP_and &&
		    (ops[i].atom != DW_OP_constu || (ops[i].number & all) != all))
			return NULL;
	return register_of(&plain);
}

enum answer { KNOWN, GONE, BY_CONVENTION };

/* Offset of a frame-base relative place from the first stack argument; false: it is no argument of
 * the stack, or not known. */
static bool from_first_argument(Dwarf_Die *function, s64 offset, u64 *ret)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &a) ||
	    dwarf_getlocation(&a, &ops, &n) || n != 1)
		return false;
	/* The CFA is the stack pointer before the call: where the first stack argument lies. */
	if (ops[0].atom != DW_OP_call_frame_cfa) {
		const struct arch_register *r = register_of(&ops[0]);

		/* clang -O0: relative to the frame pointer, which is 2 words below */
		if (!r || r != arch_register_find("bp"))
			return false;
		offset -= 2 * WORD;
	}
	*ret = (u64)offset;
	return offset >= 0;
}

static enum answer ask_dwarf(Dwarf_Die *function, Dwarf_Die *parameter, u64 entry,
			     const struct type *t, struct location *ret)
{
	const struct arch_register *r;
	Dwarf_Attribute a;
	Dwarf_Sword constant;
	Dwarf_Op *ops;
	size_t n;
	u64 at;

	*ret = (struct location){.kind = LOCATION_NONE, .index = 0xffff};
	if (dwarf_attr_integrate(parameter, DW_AT_const_value, &a)) {
		if (!scalar_size(t) || dwarf_formsdata(&a, &constant))
			return GONE;
		*ret = (struct location){.kind = LOCATION_CONSTANT,
					 .size = scalar_size(t),
					 .is_signed = t->is_signed,
					 .index = 0xffff,
					 .value = constant};
		return KNOWN;
	}
	if (!dwarf_attr_integrate(parameter, DW_AT_location, &a))
		return GONE;
	if (dwarf_getlocation_addr(&a, entry, &ops, &n, 1) != 1 || n == 0)
		return GONE;
	r = n == 1 ? register_of(&ops[0]) : widened_register(ops, n, t->size);
	if (r) {
		if (!scalar_size(t))
			return GONE;
		*ret = (struct location){.kind = LOCATION_REGISTER,
					 .size = scalar_size(t),
					 .is_signed = t->is_signed,
					 .index = 0xffff,
					 .offset = r->offset};
		return KNOWN;
	}
	if (ops[0].atom != DW_OP_fbreg)
		return GONE;
	if (n == 1 && from_first_argument(function, (s64)ops[0].number, &at)) {
		*ret = on_stack(at, scalar_size(t), t->is_signed);
		return KNOWN;
	}
	return BY_CONVENTION;
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

static void read_parameters(struct elf_file *f, Dwarf_Die *function, u64 entry,
			    struct type_store *store, struct debug_function *ret)
{
	struct type_member members[MAX_PARAMETERS];
	struct location locations[MAX_PARAMETERS];
	const char *spellings[MAX_PARAMETERS];
	struct convention convention = {0};
	Dwarf_Die child, memory;
	struct type *args;
	u32 n = 0;

	/* A struct result that does not fit two registers is written where a hidden first argument
	 * points. */
	if (ret->retval->size > 2 * WORD || is_by_reference(function))
		convention.integers = 1;
	for (int more = dwarf_child(function, &child); more == 0 && n < MAX_PARAMETERS;
	     more = dwarf_siblingof(&child, &child)) {
		const struct type *t;
		struct location by_convention;
		const char *name;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_diename(&child);
		t = debug_convert_type(f, store, debug_type_of(&child, &memory));
		by_convention = next_argument(&convention, store, t, is_by_reference(&child));
		if (ask_dwarf(function, &child, entry, t, &locations[n]) == BY_CONVENTION)
			locations[n] = by_convention;
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

/* The concrete function whose first instruction is at the address. */
static bool find_function(Dwarf_Die *unit, u64 address, Dwarf_Die *ret)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(unit, address, &scopes);
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		Dwarf_Addr entry;

		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram ||
		    dwarf_entrypc(&scopes[i], &entry) || entry != address)
			continue;
		*ret = scopes[i];
		found = true;
	}
	free(scopes);
	return found;
}

int debug_function_at(struct elf_file *f, u64 address, struct type_store *types,
		      struct debug_function *ret)
{
	struct debug_function r = {.retval_location = {.kind = LOCATION_NONE, .index = 0xffff}};
	Dwarf_Die unit, function, memory;
	const char *name;

	if (!debug_dwarf(f))
		return -ENODATA;
	if (!debug_unit_at(f, address, &unit) || !find_function(&unit, address, &function))
		return -ENOENT;
	name = dwarf_diename(&function);
	r.name = name ? arena_strdup(&types->arena, name) : NULL;
	r.retval = debug_convert_type(f, types, debug_type_of(&function, &memory));
	if (scalar_size(r.retval) && r.retval->kind != TYPE_FLOAT)
		r.retval_location = (struct location){.kind = LOCATION_REGISTER,
						      .size = scalar_size(r.retval),
						      .is_signed = r.retval->is_signed,
						      .index = 0xffff,
						      .offset = arch_retval_offset()};
	read_parameters(f, &function, address, types, &r);
	*ret = r;
	return 0;
}
