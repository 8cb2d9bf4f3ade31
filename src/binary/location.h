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
};

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
};

#endif
