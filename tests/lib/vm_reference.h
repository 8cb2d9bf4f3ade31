/* SPDX-License-Identifier: MIT */
/*
 * RFC 9669 once more, written from its text and without a table: what lib/vm_check.c has to accept
 * and what lib/vm.c has to compute. Slow, plain and without pointers: an address of the stack is a
 * number up to 512.
 */
#ifndef PANTRACE_TESTS_VM_REFERENCE_H
#define PANTRACE_TESTS_VM_REFERENCE_H

#include "../../lib/vm.h"
#include <pantrace/ring.h>
#include <string.h>

#define SIZE_OF(code) \
	(((code)&0x18) == 0 ? 4u : ((code)&0x18) == 8 ? 2u : ((code)&0x18) == 16 ? 1u : 8u)

/* Whether the fields of an instruction are as they have to be, whatever is around it. */
static bool reference_accepts(const struct bpf_insn *i, const struct bpf_insn *next)
{
	const unsigned int op = i->code >> 4, class = i->code & 7, mode = i->code >> 5;
	const bool from_register = i->code & 8;

	if (i->dst_reg > 10 || i->src_reg > 10)
		return false;
	switch (class) {
	case 0: /* LD: IMM, DW */
		return i->code == 0x18 && next && !i->off && !next->code && !next->dst_reg &&
		       !next->src_reg && !next->off &&
		       (i->src_reg == 0 || (i->src_reg == 1 && !i->imm && !next->imm));
	case 1: /* LDX */
		return !i->imm && (mode == 3 || (mode == 4 && SIZE_OF(i->code) < 8));
	case 2: /* ST */
		return mode == 3 && !i->src_reg;
	case 3: /* STX */
		return !i->imm && (mode == 3 || (mode == 6 && SIZE_OF(i->code) == 8));
	case 5:
	case 6:
		if (op == 0) /* JA */
			return !from_register && !i->dst_reg && !i->src_reg &&
			       (class == 5 ? !i->imm : !i->off);
		if (op == 8) /* CALL: of what there is, number 5 */
			return i->code == 0x85 && !i->dst_reg && !i->src_reg && !i->off &&
			       i->imm == 5;
		if (op == 9) /* EXIT */
			return i->code == 0x95 && !i->dst_reg && !i->src_reg && !i->off && !i->imm;
		return op < 14 && (from_register ? !i->imm : !i->src_reg);
	default: /* ALU: 4, ALU64: 7 */
		if (op == 13) /* END */
			return !(class == 7 && from_register) && !i->src_reg && !i->off &&
			       (i->imm == 16 || i->imm == 32 || i->imm == 64);
		if (op == 8) /* NEG */
			return !from_register && !i->src_reg && !i->off && !i->imm;
		if (from_register ? i->imm : i->src_reg)
			return false;
		if (op == 3 || op == 9) /* DIV, MOD */
			return (i->off == 0 || i->off == 1) && (from_register || i->imm);
		if (op == 11 && from_register) /* MOV */
			return i->off == 0 || i->off == 8 || i->off == 16 ||
			       (class == 7 && i->off == 32);
		if (i->off || op > 13)
			return false;
		if ((op == 6 || op == 7 || op == 12) && !from_register) /* shifts */
			return i->imm >= 0 && i->imm < (class == 7 ? 64 : 32);
		return true;
	}
}

static uint64_t reference_divide(uint64_t a, uint64_t b, bool is_signed, bool is_rest, bool wide)
{
	__int128 x = is_signed ? (__int128)(int64_t)a : (__int128)a;
	__int128 y = is_signed ? (__int128)(int64_t)b : (__int128)b;

	if (!wide) {
		x = is_signed ? (int32_t)a : (__int128)(uint32_t)a;
		y = is_signed ? (int32_t)b : (__int128)(uint32_t)b;
	}
	if (!y)
		return is_rest ? (uint64_t)x : 0;
	return (uint64_t)(is_rest ? x % y : x / y);
}

static uint64_t reference_alu(const struct bpf_insn *i, uint64_t a, uint64_t b)
{
	const bool wide = (i->code & 7) == 7;
	const unsigned int shift = b & (wide ? 63 : 31);
	uint64_t value = 0;

	switch (i->code >> 4) {
	case 0:
		value = a + b;
		break;
	case 1:
		value = a - b;
		break;
	case 2:
		value = a * b;
		break;
	case 3:
		value = reference_divide(a, b, i->off, false, wide);
		break;
	case 4:
		value = a | b;
		break;
	case 5:
		value = a & b;
		break;
	case 6:
		value = a << shift;
		break;
	case 7:
		value = (wide ? a : a & 0xffffffff) >> shift;
		break;
	case 8:
		value = 0 - a;
		break;
	case 9:
		value = reference_divide(a, b, i->off, true, wide);
		break;
	case 10:
		value = a ^ b;
		break;
	case 11:
		value = i->off == 8    ? (uint64_t)(int8_t)b
			: i->off == 16 ? (uint64_t)(int16_t)b
			: i->off == 32 ? (uint64_t)(int32_t)b
				       : b;
		break;
	case 12:
		value = wide ? (uint64_t)((int64_t)a >> shift) : (uint64_t)((int32_t)a >> shift);
		break;
	default: /* END: to little, which this machine is; to big; or from one to the other */
		for (int n = 0; n < i->imm / 8; n++)
			value |= (a >> 8 * n & 0xff)
				 << 8 * (i->code == 0xd4 ? n : i->imm / 8 - 1 - n);
		return value;
	}
	return wide ? value : value & 0xffffffff;
}

static bool reference_jumps(const struct bpf_insn *i, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	if ((i->code & 7) == 6) {
		x = (int32_t)a;
		y = (int32_t)b;
		a &= 0xffffffff;
		b &= 0xffffffff;
	}
	switch (i->code >> 4) {
	case 1:
		return a == b;
	case 2:
		return a > b;
	case 3:
		return a >= b;
	case 4:
		return a & b;
	case 5:
		return a != b;
	case 6:
		return x > y;
	case 7:
		return x >= y;
	case 10:
		return a < b;
	case 11:
		return a <= b;
	case 12:
		return x < y;
	default:
		return x <= y;
	}
}

/* A load of N bytes of the context at OFF. False: it is not, or an address. */
static bool reference_field(const struct pt_vm_view *view, const uint64_t *context, int off,
			    unsigned int n, uint64_t *ret)
{
	if (off < 0 || off + n > 8 * PT_VM_SLOTS)
		return false;
	for (unsigned int slot = (unsigned int)off / 8; slot <= (off + n - 1) / 8; slot++)
		if (slot < view->nr &&
		    (view->field[slot].type & 0xe0 || view->field[slot].type >= PANTRACE_T_STRING))
			return false;
	*ret = 0;
	memcpy(ret, (const char *)context + off, n);
	return true;
}

enum reference_kind { NUMBER, CONTEXT_ADDRESS, STACK_ADDRESS };

struct reference {
	uint64_t r[11];
	enum reference_kind kind[11];
	bool written[512];
	unsigned char stack[512];
	const struct pt_vm_view *view;
	const uint64_t *context;
};

/* False: not a matter of numbers alone. */
static bool reference_memory(struct reference *m, const struct bpf_insn *i)
{
	const unsigned int class = i->code & 7, n = SIZE_OF(i->code), mode = i->code >> 5;
	const unsigned int base = class == 1 ? i->src_reg : i->dst_reg;
	const uint64_t at = m->r[base] + (uint64_t)(int64_t)i->off;
	uint64_t value = 0;

	if (class == 1 && m->kind[base] == CONTEXT_ADDRESS) {
		if (!m->context || !reference_field(m->view, m->context, i->off, n, &value))
			return false;
	} else {
		if (m->kind[base] != STACK_ADDRESS || at > 512 - n)
			return false;
		for (unsigned int k = 0; k < n && (class == 1 || mode == 6); k++)
			if (!m->written[at + k])
				return false;
		if (class == 1 || mode == 6)
			memcpy(&value, m->stack + at, n);
	}
	if (class == 1) {
		if (mode == 4)
			value = n == 4	 ? (uint64_t)(int32_t)value
				: n == 2 ? (uint64_t)(int16_t)value
					 : (uint64_t)(int8_t)value;
		m->r[i->dst_reg] = value;
		m->kind[i->dst_reg] = NUMBER;
		return true;
	}
	if (class == 3 && m->kind[i->src_reg] != NUMBER)
		return false;
	value = class == 2 ? (uint64_t)(int64_t)i->imm : value + m->r[i->src_reg];
	memcpy(m->stack + at, &value, n);
	memset(m->written + at, 1, n);
	return true;
}

/*
 * Runs instructions each of which reference_accepts(), whose registers have values and whose jumps
 * go somewhere. False: the result is not a matter of numbers alone, but of addresses, calls, or
 * memory that is not the stack's or was not written. VIEW and CONTEXT may be NULL.
 */
static bool reference_run(const struct bpf_insn *insns, const struct pt_vm_view *view,
			  const uint64_t *context, uint64_t *ret)
{
	struct reference m = {.r[10] = 512,
			      .kind = {[1] = CONTEXT_ADDRESS, [10] = STACK_ADDRESS},
			      .view = view,
			      .context = context};
	int64_t at = 0;

	*ret = 1;
	for (unsigned int steps = 0; steps < PT_VM_STEPS; steps++) {
		const struct bpf_insn *const i = &insns[at++];
		const unsigned int class = i->code & 7, op = i->code >> 4;
		const bool unary = class != 5 && class != 6 && (op == 8 || op == 13);
		const bool numbers = m.kind[i->dst_reg] == NUMBER &&
				     (!(i->code & 8) || unary || m.kind[i->src_reg] == NUMBER);
		const uint64_t a = m.r[i->dst_reg];
		const uint64_t b = i->code & 8 ? m.r[i->src_reg] : (uint64_t)(int64_t)i->imm;

		if (i->code == 0x95) {
			*ret = m.r[0];
			return m.kind[0] == NUMBER;
		}
		if (i->code == 0x85 || (i->code == 0x18 && i->src_reg))
			return false;
		if (i->code == 0x18) {
			m.r[i->dst_reg] = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
			m.kind[i->dst_reg] = NUMBER;
			at++;
		} else if (i->code == 0x05 || i->code == 0x06) {
			at += class == 5 ? i->off : i->imm;
		} else if (i->code == 0xbf && !i->off) {
			m.r[i->dst_reg] = m.r[i->src_reg];
			m.kind[i->dst_reg] = m.kind[i->src_reg];
		} else if (i->code == 0x07 && m.kind[i->dst_reg] == STACK_ADDRESS) {
			m.r[i->dst_reg] += b;
		} else if (class == 5 || class == 6) {
			if (!numbers)
				return false;
			at += reference_jumps(i, a, b) ? i->off : 0;
		} else if (class == 4 || class == 7) {
			if (!numbers && (op != 11 || (i->code & 8 && m.kind[i->src_reg] != NUMBER)))
				return false;
			m.r[i->dst_reg] = reference_alu(i, a, b);
			m.kind[i->dst_reg] = NUMBER;
		} else if (!reference_memory(&m, i)) {
			return false;
		}
	}
	return true;
}

#endif
