/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call passes, by the caller's description of it (DWARF 5, 3.4). It counts if the function
 * that has been called is the one that runs: another one in between may have jumped there (a tail
 * call), with other values.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "binary/debug/access.h"
#include "binary/debug/evaluate.h"

enum { MAX_DEPTH = 64 };

static bool has_any(Dwarf_Die *die, const unsigned int *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (dwarf_hasattr(die, names[i]))
			return true;
	return false;
}

/* DWARF 5, and what compilers wrote before it. */
static Dwarf_Attribute *either(Dwarf_Die *die, unsigned int name, unsigned int older,
			       Dwarf_Attribute *memory)
{
	return dwarf_attr(die, name, memory) ?: dwarf_attr(die, older, memory);
}

static bool is_call_site(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_call_site || dwarf_tag(die) == DW_TAG_GNU_call_site;
}

/* ---- the function that runs ---- */

static bool has_tail_call(Dwarf_Die *scope, u64 *budget, u32 depth)
{
	static const unsigned int marks[] = {DW_AT_call_tail_call, DW_AT_GNU_tail_call};
	Dwarf_Die child;

	for (int more = dwarf_child(scope, &child); more == 0; more = debug_next_sibling(&child)) {
		if (!(*budget)-- || depth == MAX_DEPTH)
			return true;
		if (is_call_site(&child) ? has_any(&child, marks, ARRAY_SIZE(marks))
					 : has_tail_call(&child, budget, depth + 1))
			return true;
	}
	return false;
}

static const char *full_name(Dwarf_Die *die)
{
	return debug_linkage_name(die) ?: dwarf_diename(die);
}

/* It is no part or clone of the function that has its name: "f.part.0". */
static bool is_whole(struct elf_file *f, Dwarf_Die *function)
{
	const char *const name = full_name(function);
	struct elf_symbol symbol;
	u64 entry, into;

	return name && debug_entry_of(function, &entry) &&
	       elf_file_symbol_at(f, entry, &symbol, &into) && !into && str_eq(symbol.name, name);
}

/* All of its calls are described, and none may lead back to it without a return. */
static bool is_entered_by_calls(struct elf_file *f, Dwarf_Die *function)
{
	static const unsigned int all[] = {DW_AT_call_all_calls, DW_AT_call_all_tail_calls,
					   DW_AT_GNU_all_call_sites, DW_AT_GNU_all_tail_call_sites};
	u64 budget = debug_budget(f);

	return is_whole(f, function) && has_any(function, all, ARRAY_SIZE(all)) &&
	       !has_tail_call(function, &budget, 0);
}

/* ---- the call ---- */

/* A function of its own file only is not another one of the same name. */
static bool calls(Dwarf_Die *site, Dwarf_Die *function)
{
	Dwarf_Die origin, unit, own;
	Dwarf_Attribute a, external;
	const char *name, *wanted = full_name(function);

	if (!either(site, DW_AT_call_origin, DW_AT_abstract_origin, &a) ||
	    !dwarf_formref_die(&a, &origin))
		return false;
	name = full_name(&origin);
	if (!name || !wanted || !str_eq(name, wanted))
		return false;
	return dwarf_attr_integrate(function, DW_AT_external, &external) ||
	       (dwarf_diecu(&origin, &unit, NULL, NULL) &&
		dwarf_diecu(function, &own, NULL, NULL) && unit.addr == own.addr);
}

static bool find_call(struct elf_file *f, Dwarf_Die *unit, u64 return_to, Dwarf_Die *ret)
{
	Dwarf_Die *scopes;
	const u32 n = debug_scopes_at(f, unit, return_to - 1, false, &scopes);
	bool found = false;

	for (u32 i = 0; i < n && !found; i++)
		for (int more = dwarf_child(&scopes[i], ret); more == 0 && !found;
		     more = found ? 0 : debug_next_sibling(ret)) {
			Dwarf_Attribute a;
			Dwarf_Addr address;

			found = is_call_site(ret) &&
				either(ret, DW_AT_call_return_pc, DW_AT_low_pc, &a) &&
				!dwarf_formaddr(&a, &address) && address == return_to;
			if (found)
				break;
		}
	free(scopes);
	return found;
}

static bool is_of_register(Dwarf_Die *parameter, u16 offset)
{
	const struct arch_register *r = NULL;
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr(parameter, DW_AT_location, &a) && !dwarf_getlocation(&a, &ops, &n) &&
	    n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		r = dwarf_register(ops[0].atom - DW_OP_reg0);
	return r && r->offset == offset;
}

/* Memory may have changed since the call. */
static bool reads_memory(const struct access *a)
{
	for (u32 i = 0; i < a->count; i++)
		if (a->steps[i].op == ACCESS_DEREF)
			return true;
	return false;
}

static bool value_of(const struct access_site *s, Dwarf_Die *site, u16 offset, struct access *ret)
{
	struct access value;
	Dwarf_Attribute a;
	Dwarf_Die child;
	Dwarf_Op *ops;
	size_t n;

	for (int more = dwarf_child(site, &child); more == 0; more = debug_next_sibling(&child)) {
		if (!is_of_register(&child, offset) ||
		    !either(&child, DW_AT_call_value, DW_AT_GNU_call_site_value, &a) ||
		    dwarf_getlocation(&a, &ops, &n) || !n)
			continue;
		value = access_translate(s, &a, ops, n, sizeof(u64));
		if (value.result == ACCESS_NONE || reads_memory(&value))
			return false;
		value.result = ACCESS_VALUE; /* the expression is the value, not its place */
		*ret = value;
		return true;
	}
	return false;
}

static bool function_at(struct elf_file *f, u64 address, Dwarf_Die *ret)
{
	Dwarf_Die unit, *scopes;
	const u32 n = debug_dwarf(f) && debug_unit_at(f, address, &unit)
			      ? debug_scopes_at(f, &unit, address, false, &scopes)
			      : 0;

	if (!n)
		return false;
	*ret = scopes[n - 1];
	free(scopes);
	return dwarf_tag(ret) == DW_TAG_subprogram;
}

int debug_passed(const struct debug_call *c, struct arena *arena, u16 offset, struct access *ret)
{
	struct access_site s;
	Dwarf_Die function, unit, site;

	if (!function_at(c->callee, c->address, &function) ||
	    !is_entered_by_calls(c->callee, &function) || !debug_dwarf(c->caller) ||
	    !debug_unit_at(c->caller, c->return_to - 1, &unit) ||
	    !find_call(c->caller, &unit, c->return_to, &site) || !calls(&site, &function))
		return -ENODATA;
	access_site_init(&s, c->caller, arena, &unit, c->return_to - 1);
	s.from_caller = true;
	return value_of(&s, &site, offset, ret) ? 0 : -ENODATA;
}
