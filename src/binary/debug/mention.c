/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which units can have a function of a name, without a walk through them: a unit of C has each name
 * of a function as its offset in .debug_str, in itself or in its part of .debug_str_offsets (clang,
 * DWARF 5), or spelled out. If none of them is among those bytes, nothing in the unit has that
 * name.
 */
#include <dwarf.h>

#include "binary/debug/internal.h"
#include "binary/elf/internal.h"

enum { MAX_OFFSETS = 8 }; /* linkers keep each string once */

void debug_mention_init(struct debug_mention *m, struct elf_file *f, const char *name)
{
	const struct dwarf_file *const d = &debug_of(f)->dwarf;
	const struct elf_section *const table = elf_section_named(d->file, ".debug_str_offsets");
	const size_t n = strlen(name);
	const char *s;
	size_t len;

	*m = (struct debug_mention){.dwarf = d->dwarf, .name = name};
	if (table && !elf_section_is_packed(table))
		m->table = elf_section_bytes(d->file, table);
	m->table_len = m->table ? table->size : 0;
	for (Dwarf_Off at = 0; (s = dwarf_getstring(d->dwarf, at, &len)) != NULL; at += len + 1)
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

static bool is_by_offset(unsigned int form, bool has_table)
{
	return form == DW_FORM_strp ||
	       (has_table &&
		(form == DW_FORM_strx || form == DW_FORM_strx1 || form == DW_FORM_strx2 ||
		 form == DW_FORM_strx3 || form == DW_FORM_strx4));
}

/* An attribute of a function that leaves its name among the bytes that are looked through. */
static bool is_plain(unsigned int attribute, unsigned int form, bool has_table)
{
	switch (attribute) {
	case DW_AT_name:
		return is_by_offset(form, has_table) || form == DW_FORM_string;
	case DW_AT_linkage_name: /* of gcc's own functions */
	case DW_AT_MIPS_linkage_name:
		return is_by_offset(form, has_table);
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
		       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
	default:
		return true;
	}
}

static bool functions_are_plain(Dwarf_Die *unit)
{
	const bool has_table = dwarf_hasattr(unit, DW_AT_str_offsets_base);
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
			if (!is_plain(attribute, form, has_table))
				return false;
	}
	return true;
}

static bool has_offset(const struct debug_mention *m, const void *bytes, size_t len)
{
	for (size_t i = 0; i < m->offsets.len; i++)
		if (memmem(bytes, len, &m->offsets.items[i], sizeof(u32)))
			return true;
	return false;
}

/* Its length stands before a unit's part of the table, less 4 bytes that are no offsets. */
static bool table_has_offset(const struct debug_mention *m, Dwarf_Attribute *base)
{
	Dwarf_Word at;
	u32 len;

	if (dwarf_formudata(base, &at) || at < 8 || at > m->table_len)
		return true;
	memcpy(&len, m->table + at - 8, sizeof(len));
	return len < 4 || len - 4 > m->table_len - at || has_offset(m, m->table + at, len - 4);
}

bool debug_may_mention(const struct debug_mention *m, Dwarf_Die *unit)
{
	const u64 at = dwarf_dieoffset(unit), begin = at - dwarf_cuoffset(unit);
	Dwarf_Attribute base;
	Dwarf_Off end, next;
	size_t header;

	/* A damaged unit claims bytes beyond the section: its end is sure where another begins. */
	if (m->offsets.len > MAX_OFFSETS || dwarf_cu_getdwarf(unit->cu) != m->dwarf ||
	    !debug_unit_is_c(unit) ||
	    dwarf_nextcu(m->dwarf, begin, &end, &header, NULL, NULL, NULL) || end <= at ||
	    dwarf_nextcu(m->dwarf, end, &next, &header, NULL, NULL, NULL) ||
	    !functions_are_plain(unit))
		return true;
	return has_offset(m, unit->addr, end - at) ||
	       memmem(unit->addr, end - at, m->name, strlen(m->name)) ||
	       (dwarf_attr(unit, DW_AT_str_offsets_base, &base) && table_has_offset(m, &base));
}
