/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's memory, copied by a small BPF program into memory that it shares with us. /proc/kcore is there on most kernels
 * and needs no program, but copies twice, in pages, and takes a system call for each place: to pass through 3 MB of symbol tables
 * takes 19 ms that way in a virtual machine without help, and 14 this way, to load the program included (bench/README.md).
 */
#ifndef PANTRACE_KERNEL_CORE_COPY_H
#define PANTRACE_KERNEL_CORE_COPY_H

#include "base/base.h"

enum {
	CORE_SLOT = 64 << 10, /* bytes that are copied at once */
	CORE_SLOTS = 3, /* places that they can be copied to */
	CORE_SPOT = 16, /* bytes of a spot */
	CORE_SPOTS = 32, /* that are copied at once */
};

struct core_shared;

struct core_copy {
	bool tried; /* core_copy_open() was called */
	int program, map;
	struct core_shared *shared; /* NULL: it cannot be used */
	u32 taken; /* a bit for each slot */
};

/* -errno: this kernel has no such programs (5.14), or they are not allowed. core_copy_close() in any case. */
int core_copy_open(struct core_copy *c);
void core_copy_close(struct core_copy *c);
/* A slot's CORE_SLOT bytes, until core_copy_give(); NULL: all are taken, or it cannot be used. */
u8 *core_copy_take(struct core_copy *c);
void core_copy_give(struct core_copy *c, const u8 *slot);
/* Copies the LEN bytes at ADDRESS into a slot. False: not all of it can be read. */
bool core_copy_fill(struct core_copy *c, const u8 *slot, u64 address, size_t len);
/* The CORE_SPOT bytes at each of N addresses, CORE_SPOTS of them at most; those that cannot be read are zeros. They stay until the
 * next call. NULL: it cannot be used. */
const u8 *core_copy_spots(struct core_copy *c, const u64 *addresses, u32 n);
/* Where the kernel has our own task_struct; 0: it cannot be used. */
u64 core_copy_task(struct core_copy *c);

#endif
