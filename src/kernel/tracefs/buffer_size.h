/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large a trace buffer may be on this machine. */
#ifndef PANTRACE_KERNEL_TRACEFS_BUFFER_SIZE_H
#define PANTRACE_KERNEL_TRACEFS_BUFFER_SIZE_H

#include "base/diag.h"
#include "kernel/kernel.h"

/* KiB of memory that is free or could be; 0 = unknown. */
u64 available_kb(void);
/* KiB per CPU if nobody asks for another size. */
u64 buffer_default_kb(struct kernel *k);
/* Is there memory for so many KiB per CPU? 0, or -ENOMEM with a diagnostic. */
int buffer_check(struct kernel *k, struct diag *d, u64 kb);

#endif
