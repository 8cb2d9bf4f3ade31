/* SPDX-License-Identifier: MIT */
/*
 * What the actions of vm_ops.h are made of, for whoever runs them: `op` is the instruction, `r` the
 * registers, `at` the index of the next instruction. CALL_HELPER, READ, WRITE and ADD_TO are the
 * including file's own: it knows what memory there is.
 */
#ifndef PANTRACE_LIB_VM_RUN_H
#define PANTRACE_LIB_VM_RUN_H

#include "vm_ops.h"
#include <stdint.h>

static inline uint64_t extend(uint64_t value, unsigned int bits)
{
	return bits ? (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits)) : value;
}

/* The low 16, 32 or 64 bits. */
static inline uint64_t low(uint64_t value, uint64_t bits)
{
	return bits == 16 ? (uint16_t)value : bits == 32 ? (uint32_t)value : value;
}

/* What is in them, from the last byte to the first. */
static inline uint64_t swap(uint64_t value, uint64_t bits)
{
	return __builtin_bswap64(value) >> (64 - bits);
}

/* The operands of vm_ops.h, and its actions. */
#define SRC r[op->src]
#define IMM ((uint64_t)op->imm)
#define OPERANDS(bits, operand)                                  \
	typedef uint##bits##_t word __attribute__((unused));     \
	typedef int##bits##_t integer __attribute__((unused));   \
	const word a __attribute__((unused)) = (word)r[op->dst]; \
	const word b __attribute__((unused)) = (word)(operand);
#define SET(bits, operand, value)                                   \
	{                                                           \
		OPERANDS(bits, operand) r[op->dst] = (word)(value); \
	}
#define SET_64(operand, value) SET(64, operand, value)
#define SET_32(operand, value) SET(32, operand, value)
#define GO(distance)	       at = (uint32_t)((int64_t)at + (distance))
#define IF(bits, operand, condition)                                \
	{                                                           \
		OPERANDS(bits, operand) if (condition) GO(op->off); \
	}
#define IF_64(operand, condition) IF(64, operand, condition)
#define IF_32(operand, condition) IF(32, operand, condition)
#define WHERE(base)		  ((base) + (uint64_t)(int64_t)op->off)
#define RUNS(code, form, action) \
	case code:               \
		action;          \
		break;

#endif
