/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Split debug information (-gsplit-dwarf): the program has skeleton units; the full units are in
 * .dwo files that they name, or in a package of those (binary/debug/package.h). Each full unit is
 * put into an ELF file of its own for libdw. Shared by binary/debug/lines.c and
 * binary/debug/package.c only.
 */
#ifndef PANTRACE_BINARY_DEBUG_SPLIT_H
#define PANTRACE_BINARY_DEBUG_SPLIT_H

#include <elfutils/libdw.h>

#include "binary/elf/file.h"

struct debug_split;

/* Some bytes of a section, in somebody's memory. */
struct debug_part {
	const char *name;
	const u8 *data;
	u64 size;
};

/* Of a file that has skeletons; nothing is looked for yet. */
struct debug_split *debug_split_open(struct elf_file *program);
void debug_split_close(struct debug_split *q);
/* The unit that a skeleton stands for; it lives until the end. False: it is not there. */
bool debug_split_unit(struct debug_split *q, Dwarf_Die *skeleton, Dwarf_Die *ret);
/* The other way round: where the line table of such a unit is. False: it is not of here. */
bool debug_split_skeleton(const struct debug_split *q, const Dwarf_Die *unit, Dwarf_Die *ret);
/* The file of a unit that was looked for and is not there; NULL = none. */
const char *debug_split_lacks(const struct debug_split *q);
/* The bytes of a section that is not compressed, or NULL. */
const u8 *debug_section(struct elf_file *f, const char *name, u64 *ret_size);

#endif
