/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64: struct pt_regs (arch/x86/include/uapi/asm/ptrace.h) and the System V calling convention.
 */
#include "arch/arch.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "arch/x86_64.h"

#define SYSCALL_UPROBE 336
#define PAGE_BYTES     4096

/* Offsets of struct pt_regs, in bytes. */
enum {
	R15 = 0,
	R14 = 8,
	R13 = 16,
	R12 = 24,
	BP = 32,
	BX = 40,
	R11 = 48,
	R10 = 56,
	R9 = 64,
	R8 = 72,
	AX = 80,
	CX = 88,
	DX = 96,
	SI = 104,
	DI = 112,
	ORIG_AX = 120,
	IP = 128,
	CS = 136,
	FLAGS = 144,
	SP = 152,
	SS = 160,
};

struct spelling {
	const char *name;
	struct arch_register reg;
};

/* clang-format off */
/* "ax" is the whole register, as in struct pt_regs, and not its low 16 bits. */
#define LEGACY(n, o) {n, {n, o, 8, 0}}, {"r" n, {n, o, 8, 0}}, {"e" n, {n, o, 4, 0}}
#define EXTENDED(n, o)                                                                             \
	{n, {n, o, 8, 0}}, {n "d", {n, o, 4, 0}}, {n "w", {n, o, 2, 0}}, {n "b", {n, o, 1, 0}},    \
	{n "l", {n, o, 1, 0}}
/* clang-format on */

static const struct spelling spellings[] = {
	LEGACY("di", DI),
	LEGACY("si", SI),
	LEGACY("dx", DX),
	LEGACY("cx", CX),
	LEGACY("ax", AX),
	LEGACY("bx", BX),
	LEGACY("bp", BP),
	LEGACY("sp", SP),
	LEGACY("ip", IP),
	{"pc", {"ip", IP, 8, 0}},
	EXTENDED("r8", R8),
	EXTENDED("r9", R9),
	EXTENDED("r10", R10),
	EXTENDED("r11", R11),
	EXTENDED("r12", R12),
	EXTENDED("r13", R13),
	EXTENDED("r14", R14),
	EXTENDED("r15", R15),
	{"al", {"ax", AX, 1, 0}},
	{"bl", {"bx", BX, 1, 0}},
	{"cl", {"cx", CX, 1, 0}},
	{"dl", {"dx", DX, 1, 0}},
	{"ah", {"ax", AX, 1, 8}},
	{"bh", {"bx", BX, 1, 8}},
	{"ch", {"cx", CX, 1, 8}},
	{"dh", {"dx", DX, 1, 8}},
	{"dil", {"di", DI, 1, 0}},
	{"sil", {"si", SI, 1, 0}},
	{"bpl", {"bp", BP, 1, 0}},
	{"spl", {"sp", SP, 1, 0}},
	{"orig_ax", {"orig_ax", ORIG_AX, 8, 0}},
	{"orig_rax", {"orig_ax", ORIG_AX, 8, 0}},
	{"flags", {"flags", FLAGS, 8, 0}},
	{"rflags", {"flags", FLAGS, 8, 0}},
	{"eflags", {"flags", FLAGS, 4, 0}},
	{"cs", {"cs", CS, 8, 0}},
	{"ss", {"ss", SS, 8, 0}},
};

/* System V AMD64 ABI 3.2.3: integer arguments. */
static const u16 arguments[] = {DI, SI, DX, CX, R8, R9};

const struct arch_register *arch_register_find(const char *name)
{
	if (*name == '%')
		name++;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (str_eq(spellings[i].name, name))
			return &spellings[i].reg;
	return NULL;
}

const struct arch_register *arch_register_at(u16 offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (spellings[i].reg.offset == offset && spellings[i].reg.size == 8)
			return &spellings[i].reg;
	return NULL;
}

int arch_argument_offset(u32 n)
{
	return n < ARRAY_SIZE(arguments) ? arguments[n] : -1;
}

u32 arch_stack_argument_offset(u32 n)
{
	/* Eightbytes above the return address. */
	return n < ARRAY_SIZE(arguments) ? 0 : 8 + 8 * (n - (u32)ARRAY_SIZE(arguments));
}

/* arch/x86/include/asm/syscall.h, syscall_get_arguments(): r10 stands in for rcx, which the
 * instruction destroys. */
static const u16 syscall_arguments[] = {DI, SI, DX, R10, R8, R9};

int arch_syscall_argument_offset(u32 n)
{
	return n < ARRAY_SIZE(syscall_arguments) ? syscall_arguments[n] : -1;
}

u16 arch_syscall_number_offset(void)
{
	return ORIG_AX;
}

u32 arch_compat_status(void)
{
	return 0x0002; /* TS_COMPAT, arch/x86/include/asm/thread_info.h */
}

u16 arch_retval_offset(void)
{
	return AX;
}

u16 arch_ip_offset(void)
{
	return IP;
}

u16 arch_sp_offset(void)
{
	return SP;
}

u16 arch_elf_machine(void)
{
	return EM_X86_64;
}

int arch_relocation(u64 type, bool *ret_relative)
{
	*ret_relative = type == R_X86_64_PC32 || type == R_X86_64_PC64;
	switch (type) {
	case R_X86_64_NONE:
		return 0;
	case R_X86_64_64:
	case R_X86_64_PC64:
		return 8;
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_PC32:
		return 4;
	default:
		return -1;
	}
}

/* Calls of the x32 ABI have this bit set; their numbers below 512 mean the same. */
#define X32_SYSCALL_BIT 0x40000000u

const char *arch_syscall_name(u64 nr)
{
	if ((nr & X32_SYSCALL_BIT) && (nr & ~(u64)X32_SYSCALL_BIT) < 512)
		nr &= ~(u64)X32_SYSCALL_BIT;
	return nr < x86_64_syscall_count ? x86_64_syscalls[nr] : NULL;
}

int arch_syscall_number(const char *name)
{
	for (u32 i = 0; i < x86_64_syscall_count; i++)
		if (x86_64_syscalls[i] && str_eq(x86_64_syscalls[i], name))
			return (int)i;
	return -1;
}

int arch_syscall_event_number(const char *name)
{
	static const struct {
		const char *event, *call;
	} others[] = {
		{"newstat", "stat"},   {"newfstat", "fstat"},	   {"newlstat", "lstat"},
		{"newuname", "uname"}, {"sendfile64", "sendfile"}, {"umount", "umount2"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (str_eq(others[i].event, name))
			return arch_syscall_number(others[i].call);
	return arch_syscall_number(name);
}

/*
 * save_mcount_regs and return_to_handler in arch/x86/kernel/ftrace_64.S; of the latter SP since
 * 6.18.
 */
bool arch_register_is_partial(u16 offset, bool is_return)
{
	static const u16 offsets[] = {AX, DX, BP, IP, CX, SI, DI, R8, R9, SP};

	for (size_t i = 0; i < (is_return ? 4 : ARRAY_SIZE(offsets)); i++)
		if (offsets[i] == offset)
			return true;
	return false;
}

/*
 * A nop of five bytes, 0x66 as the only prefix: what Linux 6.18 takes for one (tried with seven
 * encodings).
 */
static bool is_nop5(const u8 *code, size_t size)
{
	size_t at = 0;

	if (size < 5 || arch_instruction_length(code, size) != 5)
		return false;
	while (at < 4 && code[at] == 0x66)
		at++;
	return code[at] == 0x90 || (at < 4 && code[at] == 0x0f && code[at + 1] == 0x1f);
}

/*
 * Linux 6.18 and a few after it replace a probed nop of five bytes by a call into a page of the
 * process. The call overwrites what a function without calls keeps below its stack pointer, and
 * children that are forked later have the call without the page: seen with 6.18.44. Later ones do
 * that to nops of ten bytes, and rightly; there the system call for that page answers EPROTO to
 * everybody else (arch/x86/kernel/uprobes.c).
 */
static bool nop5_becomes_call(void)
{
	return syscall(SYSCALL_UPROBE) == -1 && errno == ENXIO;
}

/*
 * AVX-512 (EVEX prefix, 0x62 in 64-bit code): seen on Linux 6.18 with `vpbroadcastb %esi,%zmm16`,
 * the first instruction of glibc's memset; the register has not its value after the step.
 */
const char *arch_probe_breaks(const u8 *code, size_t size, u64 offset)
{
	if (size && code[0] == 0x62)
		return "kernels do not execute the AVX-512 instruction there rightly";
	/* None that goes on in the next page is replaced. */
	if (is_nop5(code, size) && offset % PAGE_BYTES <= PAGE_BYTES - 5 && nop5_becomes_call())
		return "this kernel makes a call of the nop of five bytes there, which children "
		       "that they fork do not survive";
	return NULL;
}
