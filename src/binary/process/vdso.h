/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that the kernel maps into every process (vdso(7)). */
#ifndef PANTRACE_BINARY_PROCESS_VDSO_H
#define PANTRACE_BINARY_PROCESS_VDSO_H

#include "binary/elf/file.h"

/*
 * That of the running kernel, as 64-bit processes have it: a copy of our own. 0 or -errno.
 * elf_file_close() ends it.
 */
int vdso_open(struct elf_file **ret);

#endif
