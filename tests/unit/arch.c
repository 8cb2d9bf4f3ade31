/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arch.h"

#include <asm/ptrace.h>
#include <sys/syscall.h>

#include "tap.h"

static void test_registers(void)
{
	static const struct {
		const char *name;
		u32 offset, size, shift;
	} rows[] = {
		{"di", offsetof(struct pt_regs, rdi), 8, 0},
		{"%rdi", offsetof(struct pt_regs, rdi), 8, 0},
		{"edi", offsetof(struct pt_regs, rdi), 4, 0},
		{"dil", offsetof(struct pt_regs, rdi), 1, 0},
		{"ah", offsetof(struct pt_regs, rax), 1, 8},
		{"r8d", offsetof(struct pt_regs, r8), 4, 0},
		{"r15w", offsetof(struct pt_regs, r15), 2, 0},
		{"ip", offsetof(struct pt_regs, rip), 8, 0},
		{"rsp", offsetof(struct pt_regs, rsp), 8, 0},
		{"orig_rax", offsetof(struct pt_regs, orig_rax), 8, 0},
		{"eflags", offsetof(struct pt_regs, eflags), 4, 0},
		{"cs", offsetof(struct pt_regs, cs), 8, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct arch_register *r = arch_register_find(rows[i].name);

		ok(r && r->offset == rows[i].offset && r->size == rows[i].size &&
			   r->shift == rows[i].shift,
		   "register %s", rows[i].name);
	}
	ok(!arch_register_find("rfoo") && !arch_register_find("") && !arch_register_find("%"),
	   "unknown registers");
	is_int(arch_argument_offset(0), offsetof(struct pt_regs, rdi), "first argument");
	is_int(arch_argument_offset(5), offsetof(struct pt_regs, r9), "sixth argument");
	is_int(arch_argument_offset(6), -1, "the seventh argument is on the stack");
	is_int(arch_stack_argument_offset(6), 8, "just above the return address");
	is_int(arch_retval_offset(), offsetof(struct pt_regs, rax), "return value");
}

static void test_syscalls(void)
{
	is_int(arch_syscall_number("read"), SYS_read, "read");
	is_int(arch_syscall_number("openat"), SYS_openat, "openat");
	is_int(arch_syscall_number("rseq"), 334, "rseq");
	is_int(arch_syscall_number("clone3"), SYS_clone3, "clone3");
	is_int(arch_syscall_number("open_tree_attr"), 467, "open_tree_attr");
	is_int(arch_syscall_number("nosuch"), -1, "unknown name");
	is_str(arch_syscall_name(SYS_bpf), "bpf", "name of bpf");
	is_str(arch_syscall_name(400), NULL, "a number in the gap");
	is_str(arch_syscall_name(UINT64_MAX), NULL, "minus one is no call");
	is_str(arch_syscall_name(0x40000000 + SYS_write), "write", "x32 bit");
}

int main(void)
{
	test_registers();
	test_syscalls();
	return tap_done();
}
