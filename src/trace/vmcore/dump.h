/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a dead machine, by physical addresses: a vmcore in one of these formats, each a
 * file of this room with one row struct dump_format.
 *
 *	elf.c	ELF core: /proc/vmcore, QEMU's dump-guest-memory
 *	kdump.c	compressed by page: makedumpfile, QEMU's dump-guest-memory -z
 *
 * Both also in makedumpfile's flattened form, as they come through a pipe (dump_file.c).
 */
#ifndef PANTRACE_TRACE_VMCORE_DUMP_H
#define PANTRACE_TRACE_VMCORE_DUMP_H

#include "base/diag.h"

struct dump;

/* Diagnostics name the path. 0 or -errno. */
int dump_open(const char *path, struct diag *d, struct dump **ret);
void dump_close(struct dump *dp); /* NULL is fine */
/*
 * n bytes. 0; -ENODATA: not all of them are in the dump; -EIO, -EINVAL: the file is damaged or
 * changes; -EOPNOTSUPP: packed by what we do not know.
 */
int dump_read(struct dump *dp, u64 physical, void *to, size_t n);
/* What the kernel says about itself (VMCOREINFO): lines "KEY=VALUE"; "" = nothing. */
const char *dump_info(const struct dump *dp);

#endif
