/* SPDX-License-Identifier: MIT */
/* What checking (vm_check.c), simplifying (vm_simplify.c) and running (vm.c) share. */
#ifndef PANTRACE_LIB_VM_INTERNAL_H
#define PANTRACE_LIB_VM_INTERNAL_H

#include "vm.h"

/* Codes that eBPF does not use. */
/*
 * dst = the field at context word off / 8, cut to width (BPF_B .. BPF_DW), its sign extended from
 * bit imm if that is not 0
 */
#define PT_VM_FIELD 0xe0

struct pt_vm_op {
	uint8_t code;
	uint8_t dst, src;
	uint8_t width;
	int16_t off;
	int64_t imm;
};

/* A program that is one comparison of one field: decided without the interpreter. */
struct pt_vm_quick {
	bool is_so;
	uint8_t slot;
	uint8_t width; /* of the load, BPF_B .. BPF_DW */
	uint8_t extend; /* bits from which the sign is extended after the load; 0: none */
	uint8_t compare; /* BPF_JEQ ... */
	bool narrow; /* 32 bits are compared */
	int64_t with;
	uint64_t yes, no; /* results */
};

struct pt_vm {
	size_t mapped;
	uint32_t nr;
	uint32_t scratch_size;
	bool needs_context, needs_memory, aggregates;
	struct pt_vm_quick quick;
	unsigned char *image;
	size_t image_size;
	struct pt_vm_op op[];
};

/* What programs may ask of the thread that runs them. */
struct pt_vm_who {
	uint32_t pid, tid, uid, gid, cpu;
	char name[16];
};
/* context.c, in an instrumented process alone. */
__attribute__((weak, visibility("hidden"))) void pt_thread_who(struct pt_vm_who *ret);

size_t pt_vm_type_size(uint8_t type);
/* vm_simplify.c: finds out whether the program is a pt_vm_quick. */
void pt_vm_simplify(struct pt_vm *vm);

#endif
