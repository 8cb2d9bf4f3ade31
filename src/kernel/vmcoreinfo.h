/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel writes down for crash dumps: where some of its variables are, a line each ("SYMBOL(_stext)=ffffffff81000000",
 * Documentation/admin-guide/kdump/vmcoreinfo.rst). It is a note of /proc/kcore, and lies in memory.
 */
#ifndef PANTRACE_KERNEL_VMCOREINFO_H
#define PANTRACE_KERNEL_VMCOREINFO_H

#include "kernel/core_copy.h"

/* Its text among ELF notes, which the caller frees; NULL: it is not there. */
char *vmcoreinfo_in_notes(const u8 *notes, size_t len);
/* The same out of the running kernel's memory, for kernels that have no /proc/kcore. */
char *vmcoreinfo_in_memory(struct core_copy *copy);
/* The address of a symbol that it names, or 0. text may be NULL. */
u64 vmcoreinfo_symbol(const char *text, const char *name);

#endif
