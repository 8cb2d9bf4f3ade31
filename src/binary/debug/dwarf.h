/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libelf and libdw over our own copy of a file: they see only the sections that were read for them,
 * they open no other file by themselves, and compressed sections have believable sizes. Shared by
 * binary/debug/lines.c and binary/debug/split.c only.
 */
#ifndef PANTRACE_BINARY_DEBUG_DWARF_H
#define PANTRACE_BINARY_DEBUG_DWARF_H

#include <elfutils/libdw.h>

#include "binary/elf/file.h"

struct dwarf_file {
	Elf *elf;
	Dwarf *dwarf; /* NULL = none */
	struct elf_file *file; /* that the DWARF is in */
	struct dwarf_file *shared; /* what several debug files have in common (dwz); NULL = none */
};

/* Zeros are fine to be closed. False: f has no DWARF. */
bool dwarf_file_open(struct dwarf_file *d, struct elf_file *f);
void dwarf_file_close(struct dwarf_file *d); /* not the file */
/* The debug sections of f; NULL: they cannot be read. f must live as long. */
Elf *debug_elf(struct elf_file *f);

#endif
