/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_PROBE_KPROBE_MULTI_H
#define PANTRACE_PROBE_KPROBE_MULTI_H

#include "probe/provider.h"

/*
 * Attaches a program to n kernel functions, or their returns, by one link: entries are their
 * addresses in memory, 0 = only the name is known. Functions that the kernel refuses are counted
 * in `out` and left out, halving the link until they stand alone. 0, or -EIO: none is attached.
 */
int kprobe_multi_attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
			struct probe_target *const *targets, const u64 *entries, u32 n,
			struct probe_attachments *out);

#endif
