/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/elf_internal.h"

void debug_release(struct elf_file *f)
{
	free(f->dwarf);
}
