/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which units can have a function of a name, without a walk through them: a unit of C has each name
 * of a function as its offset in .debug_str, or spelled out. If neither is among the bytes of the
 * unit, nothing in it has that name.
 */
#include <dwarf.h>

#include "binary/debug/internal.h"

enum { MAX_OFFSETS = 8 }; /* linkers keep each string once */

void debug_mention_init(struct debug_mention *m, Dwarf *dwarf, const char *name)
{
	const size_t n = strlen(name);
	const char *s;
	size_t len;

	*m = (struct debug_mention){.dwarf = dwarf, .name = name};
	for (Dwarf_Off at = 0; (s = dwarf_getstring(dwarf, at, &len)) != NULL; at += len + 1)
		/* Linkers let a string begin within a longer one that ends alike. */
		if (len >= n && memcmp(s + len - n, name, n) == 0)
			vector_push(&m->offsets, (u32)(at + len - n));
		else if (*s == '_' && mangled_name_matches(name, s))
			vector_push(&m->offsets, (u32)at);
}

void debug_mention_release(struct debug_mention *m)
{
	vector_free(&m->offsets);
}

/* An attribute of a function whose name is among the bytes of its unit. */
static bool is_spelled_here(unsigned int attribute, unsigned int form)
{
	switch (attribute) {
	case DW_AT_name:
		return form == DW_FORM_strp || form == DW_FORM_string;
	case DW_AT_linkage_name: /* of gcc's own functions */
	case DW_AT_MIPS_linkage_name:
		return form == DW_FORM_strp;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
		       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
	default:
		return true;
	}
}

static bool names_are_spelled_here(Dwarf_Die *unit)
{
	Dwarf_Abbrev *a;
	size_t len = 0;

	for (Dwarf_Off at = 0; (a = dwarf_getabbrev(unit, at, &len)) != DWARF_END_ABBREV;
	     at += len) {
		const unsigned int tag = a ? dwarf_getabbrevtag(a) : 0;
		unsigned int attribute, form;

		if (!a)
			return false;
		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		for (size_t i = 0; dwarf_getabbrevattr(a, i, &attribute, &form, NULL) == 0; i++)
			if (!is_spelled_here(attribute, form))
				return false;
	}
	return true;
}

bool debug_may_mention(const struct debug_mention *m, Dwarf_Die *unit)
{
	const u64 at = dwarf_dieoffset(unit), begin = at - dwarf_cuoffset(unit);
	Dwarf_Off end;
	size_t header;

	if (m->offsets.len > MAX_OFFSETS || dwarf_cu_getdwarf(unit->cu) != m->dwarf ||
	    !debug_unit_is_c(unit) ||
	    dwarf_nextcu(m->dwarf, begin, &end, &header, NULL, NULL, NULL) || end <= at ||
	    !names_are_spelled_here(unit))
		return true;
	for (size_t i = 0; i < m->offsets.len; i++)
		if (memmem(unit->addr, end - at, &m->offsets.items[i], sizeof(u32)))
			return true;
	return memmem(unit->addr, end - at, m->name, strlen(m->name)) != NULL;
}
