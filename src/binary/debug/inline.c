/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the compiler has put into others, at one address. */
#include <dwarf.h>

#include "binary/debug/internal.h"

const char *debug_linkage_name(Dwarf_Die *die)
{
	static const unsigned int linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute a;

	for (size_t i = 0; i < ARRAY_SIZE(linkage); i++)
		if (dwarf_attr_integrate(die, linkage[i], &a))
			return dwarf_formstring(&a);
	return NULL;
}

/* DWARF 5 may say it as an offset. */
bool debug_entry_of(Dwarf_Die *die, u64 *ret)
{
	Dwarf_Addr address, base, start, end;
	Dwarf_Attribute a;
	Dwarf_Word offset;
	ptrdiff_t at = 0;

	if (dwarf_attr(die, DW_AT_entry_pc, &a)) {
		if (dwarf_formaddr(&a, ret) == 0)
			return true;
		if (dwarf_formudata(&a, &offset) == 0 && dwarf_lowpc(die, &address) == 0) {
			*ret = address + offset;
			return true;
		}
	}
	if (dwarf_lowpc(die, ret) == 0)
		return true;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end) {
			*ret = start;
			return true;
		}
	return false;
}

bool debug_end_of(Dwarf_Die *die, u64 entry, u64 *ret)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (dwarf_highpc(die, ret) == 0)
		return true;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start <= entry && entry < end) {
			*ret = end;
			return true;
		}
	return false;
}

const char *debug_declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word file;
	Dwarf_Die unit;
	size_t n;

	/* dwarf_decl_file() takes the number 0 for none, which it is no longer in DWARF 5. */
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &a) || dwarf_formudata(&a, &file) ||
	    dwarf_cu_info(a.cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &n) || file >= n)
		return NULL;
	return dwarf_filesrc(files, file, NULL, NULL);
}

bool debug_call_of(Dwarf_Die *inlined, const char **ret_file, u32 *ret_line)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	Dwarf_Die unit;
	size_t n;

	*ret_file = NULL;
	*ret_line = 0;
	if (!dwarf_attr(inlined, DW_AT_call_line, &a) || dwarf_formudata(&a, &line) ||
	    line > INT32_MAX || !dwarf_attr(inlined, DW_AT_call_file, &a) ||
	    dwarf_formudata(&a, &file) || !dwarf_diecu(inlined, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &n) || file >= n)
		return false;
	*ret_file = dwarf_filesrc(files, file, NULL, NULL);
	*ret_line = (u32)line;
	return *ret_file != NULL;
}

u32 debug_inlines_at(struct elf_file *f, u64 address, struct debug_inline *ret, u32 max,
		     struct debug_inline *ret_outer)
{
	struct debug_inline at = {0};
	Dwarf_Die unit, *nest;
	u32 n = 0, depth;

	*ret_outer = at;
	if (debug_line_at(f, address, &at.file, &at.line) == -ENODATA ||
	    !debug_unit_at(f, address, &unit))
		return 0;
	depth = debug_scopes_at(f, &unit, address, false, &nest);
	for (u32 i = 0; i < depth && n < max; i++) {
		if (dwarf_tag(&nest[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&nest[i]) != DW_TAG_inlined_subroutine)
			continue;
		at.function = debug_linkage_name(&nest[i]);
		if (!at.function)
			at.function = dwarf_diename(&nest[i]);
		if (at.function)
			ret[n++] = at;
		debug_call_of(&nest[i], &at.file, &at.line);
	}
	free(nest);
	*ret_outer = (struct debug_inline){.file = at.file, .line = at.line};
	return n;
}

const char *debug_function_of_line(struct elf_file *f, u64 address, const char *source, u32 line)
{
	const char *name = NULL, *call_file;
	Dwarf_Die unit, *nest;
	u32 call_line;
	const u32 n = debug_unit_at(f, address, &unit)
			      ? debug_scopes_at(f, &unit, address, true, &nest)
			      : 0;

	for (u32 i = 0; i < n && !name; i++) {
		const int tag = dwarf_tag(&nest[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		/* It is the line that calls this copy. */
		if (tag == DW_TAG_inlined_subroutine &&
		    debug_call_of(&nest[i], &call_file, &call_line) && call_line == line &&
		    debug_path_ends_with(call_file, source))
			continue;
		name = debug_linkage_name(&nest[i]);
		if (!name)
			name = dwarf_diename(&nest[i]);
	}
	if (n)
		free(nest);
	return name;
}
