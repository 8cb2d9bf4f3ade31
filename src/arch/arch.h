/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that depends on the machine: registers, calling convention, system-call tables. One file per
 * architecture (x86_64.c, next aarch64.c); nothing elsewhere may assume one.
 */
#ifndef PANTRACE_ARCH_ARCH_H
#define PANTRACE_ARCH_ARCH_H

#include "base/base.h"

struct arch_register {
	const char *name; /* canonical, as in struct pt_regs: "di", "ip" */
	u16 offset; /* bytes in struct pt_regs (and in struct bpf_perf_event_data) */
	u8 size; /* bytes; sub-registers (edi, dil) have their own rows */
	u8 shift; /* bits to the right, for ah, bh, ch, dh */
};

/* Any usual spelling: "di", "rdi", "%rdi", "edi", "dil", "r8d". NULL if unknown. */
const struct arch_register *arch_register_find(const char *name);
/* The whole register at an offset of struct pt_regs; NULL if none is there. */
const struct arch_register *arch_register_at(u16 offset);
/*
 * Offset in pt_regs of the n-th (0-based) integer argument of a function; -1 if it is on the stack.
 */
int arch_argument_offset(u32 n);
/*
 * Offset from the stack pointer at a function's entry of the n-th argument when it is on the stack.
 */
u32 arch_stack_argument_offset(u32 n);
u16 arch_retval_offset(void);
u16 arch_ip_offset(void);
u16 arch_sp_offset(void);
/*
 * Offsets in pt_regs, inside of a system call: its n-th (0-based) argument (-1 if there is none),
 * its number.
 */
int arch_syscall_argument_offset(u32 n);
u16 arch_syscall_number_offset(void);
/*
 * Calls of another ABI (32-bit programs) have these bits in the member `status` of struct
 * thread_info; 0 = there are none.
 */
u32 arch_compat_status(void);
/*
 * The number of the call whose event is syscalls:sys_enter_NAME: NAME is the function's, which is
 * not always the call's.
 */
int arch_syscall_event_number(const char *name);
/* System calls of the machine's native ABI. NULL / -1 if unknown. */
const char *arch_syscall_name(u64 nr);
int arch_syscall_number(const char *name);
/*
 * Why a virtual CPU left the guest, by the fields `isa` and `exit_reason` of kvm:kvm_exit. NULL if
 * unknown.
 */
const char *arch_kvm_exit_name(u32 isa, u32 reason);
/* Did it leave because the guest's CPU has nothing to do? */
bool arch_kvm_exit_is_halt(u32 isa, u32 reason);
u16 arch_elf_machine(void);
/*
 * Bytes of a value that a relocation of this type puts in place, the symbol's and the addend; 0:
 * it does nothing; -1: not known. *ret_relative: less the address of the place.
 */
int arch_relocation(u64 type, bool *ret_relative);
/*
 * Is the register at this offset of struct pt_regs saved for programs that ftrace calls with a part
 * of them (multi-links since 6.14: arguments, result, the stack)? The others have any values there.
 */
bool arch_register_is_partial(u16 offset, bool is_return);
/*
 * Is the instruction of a kind with which this kernel makes programs crash when a user probe stands
 * on it? What it does, in words that follow "a probe on X would crash programs: "; NULL: none of
 * these. offset: of the instruction in its file.
 */
const char *arch_probe_breaks(const u8 *code, size_t size, u64 offset);
/*
 * Bytes of the instruction at `code`, of which `size` bytes can be read; -1 if it cannot be
 * decoded.
 */
int arch_instruction_length(const u8 *code, size_t size);

#endif
