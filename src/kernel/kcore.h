/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's memory as /proc/kcore shows it (fs/proc/kcore.c): an ELF core file with a segment for
 * each range of addresses, and a note with what crash dumps need to know (VMCOREINFO,
 * vmcoreinfo.h). Root may read it unless the kernel is locked down. A kernel that has no such file, where programs may read
 * memory (core_copy.h), is read by these alone.
 */
#ifndef PANTRACE_KERNEL_KCORE_H
#define PANTRACE_KERNEL_KCORE_H

#include <elf.h>

#include "kernel/core_copy.h"

struct kcore {
	int fd; /* -1: there is no file, and copy is used for everything */
	Elf64_Phdr *segments;
	u32 nsegments;
	char *info; /* VMCOREINFO's text, or NULL */
	struct core_copy *copy; /* of this kernel, or NULL: a file */
	u8 *slot; /* where there is no file: to copy to */
};

/* path NULL = this kernel's: /proc/kcore, or without it. 0 or -errno; kcore_close() in any case. */
int kcore_open(struct kcore *c, const char *path);
/* This kernel's without the file. */
int kcore_open_memory(struct kcore *c);
void kcore_close(struct kcore *c);
/* Much is going to be read: from now on by a program, where there can be one. */
void kcore_expect_much(const struct kcore *c);
/* Copies the bytes at an address. How many there are until the last that could be read; what lies between segments reads as
 * zeros. */
size_t kcore_read(const struct kcore *c, u64 address, void *buffer, size_t len);
/* All of them, or false. */
bool kcore_read_all(const struct kcore *c, u64 address, void *buffer, size_t len);
/* The CORE_SPOT bytes at each of N ascending addresses, CORE_SPOTS at most; those that cannot be read are zeros. */
void kcore_read_spots(const struct kcore *c, const u64 *addresses, u32 n, u8 *buffer);
/* The address of a symbol that VMCOREINFO names, or 0. */
u64 kcore_symbol(const struct kcore *c, const char *name);

#endif
