/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packages of split debug information, FILE.dwp (DWARF 5, 7.3.5; before that a GNU extension):
 * which part of each section is a unit's. Shared by binary/debug/split.c only.
 */
#ifndef PANTRACE_BINARY_DEBUG_PACKAGE_H
#define PANTRACE_BINARY_DEBUG_PACKAGE_H

#include "binary/debug/split.h"

struct debug_package;

/* The package beside a program; NULL = there is none that can be read. */
struct debug_package *debug_package_open(const struct elf_file *program);
void debug_package_close(struct debug_package *p);
/*
 * What a unit has, by the names of the sections in the package, in the package's memory; 0: it is
 * not there.
 */
u32 debug_package_parts(struct debug_package *p, u64 signature, struct debug_part *ret, u32 max);

#endif
