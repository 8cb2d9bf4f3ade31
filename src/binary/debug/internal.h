/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef PANTRACE_BINARY_DEBUG_INTERNAL_H
#define PANTRACE_BINARY_DEBUG_INTERNAL_H

#include <elfutils/libdw.h>

#include "base/hashmap.h"
#include "binary/debug/lines.h"

/* NULL = no DWARF. Opened on the first call. */
Dwarf *debug_dwarf(struct elf_file *f);
/* The compilation unit that has code at a virtual address. */
bool debug_unit_at(struct elf_file *f, u64 address, Dwarf_Die *ret);
/* Calls fn for each compilation unit until it returns non-zero, which is the result. */
int debug_each_unit(struct elf_file *f, int (*fn)(void *arg, Dwarf_Die *unit), void *arg);
/* The unit that has the line table: the program's own, where `unit` is split off. */
void debug_line_unit(struct elf_file *f, const Dwarf_Die *unit, Dwarf_Die *ret);
/* The first row of a line table (libdw sorts them) that is not below the address; count = none. */
size_t debug_row_from(Dwarf_Lines *lines, size_t count, u64 address);
/*
 * Functions, inlined copies and blocks around an address, innermost first, as the code lies: an
 * inlined copy is followed by what it is inlined in. malloc'ed; the number of them, or 0.
 * with_entries: optimised code may say that a copy begins at the address without having code there;
 * then that counts, too.
 */
u32 debug_scopes_at(struct elf_file *f, Dwarf_Die *unit, u64 address, bool with_entries,
		    Dwarf_Die **ret);
/* Of scope.c: what it has found out about units, by their DIEs. DWARF has been opened. */
struct hashmap *debug_outlines(struct elf_file *f);
void debug_outlines_release(struct hashmap *outlines);
/* Of unwind.c: the place of its sorted call frame information; NULL in it: there is none yet. */
struct debug_frames **debug_frames(struct elf_file *f);
void debug_frames_release(struct debug_frames *q); /* NULL is fine */
/* Where a function, or an inlined copy, begins. */
bool debug_entry_of(Dwarf_Die *die, u64 *ret);
/* Where the code ends that begins at its entry; parts that lie elsewhere (.cold) do not count. */
bool debug_end_of(Dwarf_Die *die, u64 entry, u64 *ret);
/* Where the source calls what is inlined. False: that is not known, and both are 0. */
bool debug_call_of(Dwarf_Die *inlined, const char **ret_file, u32 *ret_line);
/* The file that a DIE's declaration is in, NULL = unknown. */
const char *debug_declared_in(Dwarf_Die *die);
/* The next child of the same parent; 0, or not: there is none. Damaged trees do not go back. */
static inline int debug_next_sibling(Dwarf_Die *die)
{
	const void *const before = die->addr;

	return dwarf_siblingof(die, die) == 0 && (uintptr_t)die->addr > (uintptr_t)before ? 0 : 1;
}
/* The linkage name, NULL if it has none. */
const char *debug_linkage_name(Dwarf_Die *die);
/* die NULL = void. */
const struct type *debug_convert_type(struct elf_file *f, struct type_store *types, Dwarf_Die *die);
/* As the source spells it, "const char*", "struct foo*"; NULL if it has no short spelling. */
const char *debug_spell_type(struct type_store *types, Dwarf_Die *die);
/* The type that a DIE (parameter, member, function) refers to, NULL = void; *memory holds it. */
Dwarf_Die *debug_type_of(Dwarf_Die *die, Dwarf_Die *memory);

#endif
