/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of x86-64 share. */
#ifndef PANTRACE_ARCH_X86_64_H
#define PANTRACE_ARCH_X86_64_H

#include "base/base.h"

/* arch/x86/entry/syscalls/syscall_64.tbl: names by number, NULL where there is none. */
extern const char *const x86_64_syscalls[];
extern const u32 x86_64_syscall_count;

#endif
