/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the compiler has put into others, at one address. */
#include <dwarf.h>

#include "binary/debug/internal.h"

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute a;

	for (size_t i = 0; i < ARRAY_SIZE(linkage); i++)
		if (dwarf_attr_integrate(die, linkage[i], &a))
			return dwarf_formstring(&a);
	return dwarf_diename(die);
}

/* Where an inlined function was called. */
static void call_site(Dwarf_Die *unit, Dwarf_Die *die, const char **ret_file, u32 *ret_line)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t n;

	*ret_file = NULL;
	*ret_line = 0;
	if (!dwarf_attr(die, DW_AT_call_line, &a) || dwarf_formudata(&a, &line) ||
	    !dwarf_attr(die, DW_AT_call_file, &a) || dwarf_formudata(&a, &file) ||
	    dwarf_getsrcfiles(unit, &files, &n) || file >= n)
		return;
	*ret_file = dwarf_filesrc(files, file, NULL, NULL);
	*ret_line = (u32)line;
}

u32 debug_inlines_at(struct elf_file *f, u64 address, struct debug_inline *ret, u32 max,
		     struct debug_inline *ret_outer)
{
	struct debug_inline at = {0};
	Dwarf_Die unit, *around = NULL, *nest = NULL;
	u32 n = 0;
	int depth;

	*ret_outer = at;
	if (debug_line_at(f, address, &at.file, &at.line) == -ENODATA ||
	    !debug_unit_at(f, address, &unit))
		return 0;
	/* The first list goes on with what is around the inlined function's own definition. */
	depth = dwarf_getscopes(&unit, address, &around);
	if (depth > 0)
		depth = dwarf_getscopes_die(&around[0], &nest);
	for (int i = 0; i < depth && n < max; i++) {
		if (dwarf_tag(&nest[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&nest[i]) != DW_TAG_inlined_subroutine)
			continue;
		at.function = name_of(&nest[i]);
		if (at.function)
			ret[n++] = at;
		call_site(&unit, &nest[i], &at.file, &at.line);
	}
	free(around);
	free(nest);
	*ret_outer = (struct debug_inline){.file = at.file, .line = at.line};
	return n;
}
