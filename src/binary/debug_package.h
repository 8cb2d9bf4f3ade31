/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packages of split debug information, FILE.dwp (DWARF 5, 7.3.5; before that a GNU extension): each unit is one in a file of its own for
 * libdw, which does not read packages. Shared by debug_lines.c only.
 */
#ifndef PANTRACE_BINARY_DEBUG_PACKAGE_H
#define PANTRACE_BINARY_DEBUG_PACKAGE_H

#include <elfutils/libdw.h>

#include "binary/elf_file.h"

struct debug_package;

/* The package of a file that has skeleton units; NULL = there is none that can be read. */
struct debug_package *debug_package_open(struct elf_file *f);
void debug_package_close(struct debug_package *p);
/* The unit that a skeleton stands for; it lives as long as the package. False: it is not there. */
bool debug_package_unit(struct debug_package *p, Dwarf_Die *skeleton, Dwarf_Die *ret);
/* The other way round: where the line table of such a unit is. False: it is not of this package. */
bool debug_package_skeleton(const struct debug_package *p, const Dwarf_Die *unit, Dwarf_Die *ret);

#endif
