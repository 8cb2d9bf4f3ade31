/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the caller's frame is, for every instruction: call frame information (.eh_frame; LSB Core,
 * "Exception Frames"; DWARF 5, 6.4) as a sorted table that a BPF program can search. x86-64: the
 * return address is always the word below the CFA.
 */
#ifndef PANTRACE_BINARY_DEBUG_UNWIND_H
#define PANTRACE_BINARY_DEBUG_UNWIND_H

#include "base/vector.h"
#include "binary/elf/file.h"

enum unwind_kind {
	UNWIND_NONE, /* nothing is known, or the outermost frame */
	UNWIND_SP, /* CFA = sp + cfa_offset */
	UNWIND_BP, /* CFA = bp + cfa_offset */
	UNWIND_BP_DEREF, /* CFA = *(bp + cfa_offset): functions that align their stack */
	UNWIND_PLT, /* CFA = sp + 8, and 8 more from the 12th byte of the 16-byte entry on */
	UNWIND_SIGNAL, /* sp points to a struct ucontext */
};

/* From `address` on, up to the next row's. 16 bytes, read by BPF programs. */
struct unwind_row {
	u64 address;
	s32 cfa_offset;
	s16 bp_offset; /* the caller's bp is at CFA + bp_offset; 0 = still in the register */
	u8 kind; /* enum unwind_kind */
	u8 bp_at_bp; /* the caller's bp is at *bp */
};

enum { UNWIND_REGISTERS = 17 }; /* ax to r15, and the return address */

/* Where a register of the caller is. */
enum unwind_saved_how {
	SAVED_IN_PLACE, /* in the register: nothing has changed it */
	SAVED_AT_CFA, /* *(CFA + offset) */
	SAVED_AT_BP, /* *(bp + offset) */
	SAVED_NOWHERE,
	SAVED_UNKNOWN, /* said in a way that is not understood */
};

struct unwind_saved {
	u8 how; /* enum unwind_saved_how */
	s64 offset;
};

struct unwind_rows {
	VECTOR(struct unwind_row) list;
};

/*
 * Adds the rows of [start, end) of a file's virtual addresses, moved by bias. 0, -ENODATA,
 * -EBADMSG.
 */
int unwind_add_file(struct unwind_rows *rows, struct elf_file *f, u64 start, u64 end, u64 bias);
/*
 * Where the frame's address (CFA) is found at one virtual address: the kind and cfa_offset of *ret;
 * UNWIND_SP, UNWIND_BP or UNWIND_BP_DEREF. .debug_frame counts, too. 0 or -ENODATA.
 */
int unwind_cfa_at(struct elf_file *f, u64 address, struct unwind_row *ret);
/*
 * How the caller's registers are found at one virtual address: ret[UNWIND_REGISTERS], by DWARF's
 * numbers. Those that functions need not save, and that nothing is told of, are SAVED_NOWHERE. 0 or
 * -ENODATA.
 */
int unwind_saved_at(struct elf_file *f, u64 address, struct unwind_saved *ret);
/* Must functions keep the register (its offset in struct pt_regs)? System V ABI, AMD64, 3.2.1 */
bool unwind_is_preserved(u16 offset);
/* All code that a process has mapped by now. 0 or -errno (-ESRCH). */
int unwind_read_process(struct unwind_rows *rows, pid_t pid);
/* By address, no two of one address, no two neighbours with the same rule. */
void unwind_sort(struct unwind_rows *rows);
void unwind_release(struct unwind_rows *rows);

#endif
