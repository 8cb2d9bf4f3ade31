/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by binary/debug/lines.c, binary/debug/function.c and binary/debug/type.c. */
#ifndef PANTRACE_BINARY_DEBUG_INTERNAL_H
#define PANTRACE_BINARY_DEBUG_INTERNAL_H

#include <elfutils/libdw.h>

#include "binary/debug/lines.h"

/* NULL = no DWARF. Opened on the first call. */
Dwarf *debug_dwarf(struct elf_file *f);
/* The compilation unit that has code at a virtual address. */
bool debug_unit_at(struct elf_file *f, u64 address, Dwarf_Die *ret);
/* Calls fn for each compilation unit until it returns non-zero, which is the result. */
int debug_each_unit(struct elf_file *f, int (*fn)(void *arg, Dwarf_Die *unit), void *arg);
/* die NULL = void. */
const struct type *debug_convert_type(struct elf_file *f, struct type_store *types, Dwarf_Die *die);
/* As the source spells it, "const char*", "struct foo*"; NULL if it has no short spelling. */
const char *debug_spell_type(struct type_store *types, Dwarf_Die *die);
/* The type that a DIE (parameter, member, function) refers to, NULL = void; *memory holds it. */
Dwarf_Die *debug_type_of(Dwarf_Die *die, Dwarf_Die *memory);

#endif
