/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value of a variable from what is known of a thread: some registers, and a copy of a part of
 * its memory. What is not among that is not known; nothing is guessed.
 */
#ifndef PANTRACE_BINARY_DEBUG_EVALUATE_H
#define PANTRACE_BINARY_DEBUG_EVALUATE_H

#include "arch/arch.h"
#include "binary/location.h"

enum { THREAD_REGISTERS = 24 }; /* words of struct pt_regs, and some to spare */

struct known_memory {
	const u8 *bytes;
	u64 address, size; /* of the first byte; how many there are */
};

/* A thread as it was in one of its functions. */
struct known_thread {
	u64 registers[THREAD_REGISTERS]; /* by word of struct pt_regs */
	u32 known; /* a bit for each of them that is known */
	struct known_memory memory;
	/* of the function's file: an address in memory, less the one in the file */
	u64 bias;
	/* What a register was when the function was entered; false: not known. NULL = never. */
	bool (*entered)(void *arg, u16 offset, u64 *ret);
	void *arg;
};

/* The register of a number of DWARF's; NULL: the kernel does not save it. */
const struct arch_register *dwarf_register(u64 number);
/* offset: in struct pt_regs. */
void known_register_set(struct known_thread *t, u16 offset, u64 value);
void known_register_forget(struct known_thread *t, u16 offset);
/* False: it is not known. */
bool known_register(const struct known_thread *t, u16 offset, u64 *ret);
/* Copies `size` bytes. False: not all of them are known; *ret is as it was. */
bool known_memory_read(const struct known_memory *m, u64 address, void *ret, u64 size);

/*
 * The value of a variable of `size` bytes. 0; -ENODATA: it takes something that is not known;
 * -EINVAL: it has no access, or more bytes than its access tells.
 */
int access_evaluate(const struct access *a, const struct known_thread *t, void *ret, u64 size);

#endif
