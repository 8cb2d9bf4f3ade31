/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All functions of a unit, and what is inlined into them. */
#include <dwarf.h>

#include "binary/debug/internal.h"

enum { MAX_DEPTH = 64 };

struct walk {
	u64 *budget; /* of DIEs that are looked at: damaged trees have no end */
	int (*fn)(void *arg, Dwarf_Die *die, const Dwarf_Die *function, u64 address);
	void *arg;
	bool has_methods; /* of its language: structs may have functions in them */
	Dwarf_Die function; /* that is walked through */
};

bool debug_unit_is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

/* Most functions in a unit are only declared: that is asked in the cheapest way. */
static bool may_have_code(Dwarf_Die *function)
{
	return dwarf_hasattr(function, DW_AT_low_pc) || dwarf_hasattr(function, DW_AT_ranges) ||
	       dwarf_hasattr(function, DW_AT_entry_pc);
}

static int walk(struct walk *w, Dwarf_Die *parent, u32 depth)
{
	Dwarf_Die child;
	int result = 0;

	for (int more = dwarf_child(parent, &child); more == 0 && !result;
	     more = debug_next_sibling(&child)) {
		const Dwarf_Die around = w->function;
		u64 address;

		if (!(*w->budget)--)
			return -EBADMSG;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (!may_have_code(&child) || !debug_entry_of(&child, &address))
				continue;
			result = w->fn(w->arg, &child, NULL, address);
			w->function = child;
			break;
		case DW_TAG_inlined_subroutine:
			result = w->fn(w->arg, &child, &w->function, 0);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			if (!w->has_methods)
				continue;
			break;
		default:
			continue;
		}
		if (!result && depth < MAX_DEPTH && dwarf_haschildren(&child))
			result = walk(w, &child, depth + 1);
		w->function = around;
	}
	return result;
}

int debug_each_site(Dwarf_Die *unit, u64 *budget,
		    int (*fn)(void *arg, Dwarf_Die *die, const Dwarf_Die *function, u64 address),
		    void *arg)
{
	struct walk w = {
		.budget = budget, .fn = fn, .arg = arg, .has_methods = !debug_unit_is_c(unit)};

	return walk(&w, unit, 0);
}
