/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a value is when a probe is hit. */
#ifndef PANTRACE_BINARY_LOCATION_H
#define PANTRACE_BINARY_LOCATION_H

#include "base/base.h"

/* How a program finds an argument. */
enum location_kind {
	LOCATION_NONE,
	LOCATION_CONTEXT, /* load `size` bytes at context + offset */
	LOCATION_REGISTER, /* the saved register at pt_regs + offset */
	LOCATION_MEMORY, /* *(base register + offset [+ index register * scale]) in user memory */
	LOCATION_CONSTANT, /* value */
	/*
	 * the saved register at offset of the registers that the context's first word points to
	 * (typed by BTF)
	 */
	LOCATION_SYSCALL,
	LOCATION_ACCESS, /* `access` says how; size 0: only its address is a value */
};

/*
 * How debug information says that a value is fetched: steps that work on a stack of 64-bit numbers.
 * A chain (access_is_chain()) begins with one that only pushes; all others are ADDs of constants
 * and DEREFs, as a fetch argument of the kernel can say them. BPF code can be made of any.
 */
enum access_op {
	ACCESS_REGISTER, /* pushes the saved register at `offset` of struct pt_regs */
	/* pushes what that register was when the function was entered: DEBUG_FROM_CALLER alone */
	ACCESS_ENTERED,
	ACCESS_CONSTANT, /* pushes value */
	ACCESS_STATIC, /* pushes the address in memory of the file's virtual address `value` */
	ACCESS_ADD, /* adds value */
	ACCESS_DEREF, /* reads `size` bytes (1, 2, 4, 8) at the address, zero-extended */
	ACCESS_EXTEND, /* keeps the lowest `size` bytes, sign-extended if is_signed */
	ACCESS_NEGATE,
	ACCESS_NOT, /* all bits */
	/* Take two numbers, the second one from the top of the stack, and push one: */
	ACCESS_PLUS,
	ACCESS_MINUS,
	ACCESS_TIMES,
	ACCESS_AND,
	ACCESS_OR,
	ACCESS_XOR,
	ACCESS_SHIFT_LEFT,
	ACCESS_SHIFT_RIGHT, /* zeroes come in */
	ACCESS_SHIFT_SIGNED, /* copies of the sign come in */
	/* 1 or 0; of signed numbers: */
	ACCESS_EQUAL,
	ACCESS_NOT_EQUAL,
	ACCESS_LESS,
	ACCESS_LESS_EQUAL,
	ACCESS_GREATER,
	ACCESS_GREATER_EQUAL,
};

enum { ACCESS_MAX_STEPS = 64, ACCESS_MAX_STACK = 16 };

struct access_step {
	u8 op; /* enum access_op */
	u8 size;
	bool is_signed;
	u16 offset;
	s64 value;
};

enum access_result {
	ACCESS_NONE, /* it cannot be fetched: see `reason` */
	ACCESS_VALUE, /* the lowest bytes of the result are the value, as many as its type has */
	ACCESS_PLACE, /* the result is the address of the value */
};

struct access {
	enum access_result result;
	const struct access_step *steps;
	u32 count;
	/* ACCESS_NONE: why, in words that follow "x cannot be read here: " */
	const char *reason;
};

static inline bool access_is_chain(const struct access *a)
{
	bool is_chain = a->result != ACCESS_NONE && a->count && a->steps[0].op <= ACCESS_STATIC;

	for (u32 i = 1; i < a->count && is_chain; i++)
		is_chain = a->steps[i].op == ACCESS_ADD ||
			   (a->steps[i].op == ACCESS_DEREF && a->steps[i].size == 8);
	return is_chain;
}

struct location {
	enum location_kind kind;
	u8 size; /* 1, 2, 4, 8 */
	bool is_signed;
	/* LOCATION_CONTEXT; LOCATION_REGISTER: offset of the register in the saved registers */
	u16 offset;
	/* LOCATION_MEMORY: offsets of the registers in the saved registers; index 0xffff = none */
	u16 base, index;
	u8 scale;
	s64 value; /* LOCATION_CONSTANT; LOCATION_MEMORY: displacement */
	const struct access *access; /* LOCATION_ACCESS */
	/* LOCATION_ACCESS: the virtual address in its file of the place that is probed */
	u64 address;
};

/* A struct or array that is not in memory: the register's 8 bytes hold it. */
static inline bool location_is_in_register(const struct location *l)
{
	return l->kind == LOCATION_ACCESS && !l->size && l->access->result == ACCESS_VALUE;
}

#endif
