/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of system calls of sandbox.h. */
#ifndef PANTRACE_KERNEL_SANDBOX_FILTER_H
#define PANTRACE_KERNEL_SANDBOX_FILTER_H

/*
 * Installs it for all threads; no_new_privs is set before. 0 or -errno; -EOPNOTSUPP if this
 * architecture or kernel has none.
 */
int sandbox_filter(void);

#endif
