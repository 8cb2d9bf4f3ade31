/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of system calls of sandbox.h. */
#ifndef PANTRACE_KERNEL_SANDBOX_FILTER_H
#define PANTRACE_KERNEL_SANDBOX_FILTER_H

/*
 * From here on all threads have it; no_new_privs is set. 0 or -errno; -EOPNOTSUPP where there is
 * none.
 */
int sandbox_filter(void);

#endif
