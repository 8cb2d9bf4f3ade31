/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lengths of x86-64 instructions (Intel SDM volume 2, appendix A): enough to tell where
 * instructions begin, which is what must be known before a breakpoint is written into a function.
 */
#include "arch/arch.h"

#define MAX_LENGTH 15

enum {
	MODRM = 1, /* a ModRM byte, with SIB and displacement */
	IMM8 = 2,
	IMM16 = 4,
	IMMZ = 8, /* 4 bytes, 2 with an operand-size prefix */
	IMMV = 16, /* as IMMZ, 8 with REX.W */
	MOFFS = 32, /* an absolute address: 8 bytes, 4 with an address-size prefix */
	GROUP3 = 64, /* F6, F7: an immediate only for TEST (reg 0 and 1) */
	REL32 = 128, /* 4 bytes, whatever the prefixes */
	BAD = 256,
};

struct range {
	u8 first, last;
	u16 flags;
};

/* One-byte opcodes from 0x40 on; what is not listed has no operand bytes. Below 0x40 they follow a
 * pattern. */
static const struct range one_byte[] = {
	{0x60, 0x62, BAD},
	{0x63, 0x63, MODRM},
	{0x68, 0x68, IMMZ},
	{0x69, 0x69, MODRM | IMMZ},
	{0x6a, 0x6a, IMM8},
	{0x6b, 0x6b, MODRM | IMM8},
	{0x70, 0x7f, IMM8},
	{0x80, 0x80, MODRM | IMM8},
	{0x81, 0x81, MODRM | IMMZ},
	{0x82, 0x82, BAD},
	{0x83, 0x83, MODRM | IMM8},
	{0x84, 0x8f, MODRM},
	{0x9a, 0x9a, BAD},
	{0xa0, 0xa3, MOFFS},
	{0xa8, 0xa8, IMM8},
	{0xa9, 0xa9, IMMZ},
	{0xb0, 0xb7, IMM8},
	{0xb8, 0xbf, IMMV},
	{0xc0, 0xc1, MODRM | IMM8},
	{0xc2, 0xc2, IMM16},
	{0xc6, 0xc6, MODRM | IMM8},
	{0xc7, 0xc7, MODRM | IMMZ},
	{0xc8, 0xc8, IMM16 | IMM8},
	{0xca, 0xca, IMM16},
	{0xcd, 0xcd, IMM8},
	{0xce, 0xce, BAD},
	{0xd0, 0xd3, MODRM},
	{0xd4, 0xd6, BAD},
	{0xd8, 0xdf, MODRM},
	{0xe0, 0xe7, IMM8},
	{0xe8, 0xe9, REL32},
	{0xea, 0xea, BAD},
	{0xeb, 0xeb, IMM8},
	{0xf6, 0xf6, MODRM | IMM8 | GROUP3},
	{0xf7, 0xf7, MODRM | IMMZ | GROUP3},
	{0xfe, 0xff, MODRM},
};

/* 0F xx; what is not listed has a ModRM byte. */
static const struct range two_byte[] = {
	{0x05, 0x09, 0},
	{0x0b, 0x0b, 0},
	{0x0e, 0x0e, 0},
	{0x0f, 0x0f, MODRM | IMM8},
	{0x30, 0x37, 0},
	{0x70, 0x73, MODRM | IMM8},
	{0x77, 0x77, 0},
	{0x80, 0x8f, REL32},
	{0xa0, 0xa2, 0},
	{0xa4, 0xa4, MODRM | IMM8},
	{0xa8, 0xaa, 0},
	{0xac, 0xac, MODRM | IMM8},
	{0xba, 0xba, MODRM | IMM8},
	{0xc2, 0xc2, MODRM | IMM8},
	{0xc4, 0xc6, MODRM | IMM8},
	{0xc8, 0xcf, 0},
};

static u16 find_flags(const struct range *rows, size_t n, u8 opcode, u16 otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (opcode >= rows[i].first && opcode <= rows[i].last)
			return rows[i].flags;
	return otherwise;
}

static u16 one_byte_flags(u8 opcode)
{
	static const u16 pattern[8] = {MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD};

	return opcode < 0x40 ? pattern[opcode & 7]
			     : find_flags(one_byte, ARRAY_SIZE(one_byte), opcode, 0);
}

/* Opcode maps 1 (0F), 2 (0F 38) and 3 (0F 3A), also behind VEX and EVEX; 5 and 6 are EVEX's own. */
static u16 map_flags(u8 map, u8 opcode)
{
	switch (map) {
	case 1:
		return find_flags(two_byte, ARRAY_SIZE(two_byte), opcode, MODRM);
	case 2:
	case 5:
	case 6:
		return MODRM;
	case 3:
		return MODRM | IMM8;
	default:
		return BAD;
	}
}

struct decoder {
	const u8 *code;
	size_t size, at;
	bool operand16, address32, rex_w;
};

static u8 next(struct decoder *d)
{
	const u8 b = d->at < d->size ? d->code[d->at] : 0;

	d->at++;
	return b;
}

static void skip_prefixes(struct decoder *d)
{
	for (; d->at < d->size; d->at++)
		switch (d->code[d->at]) {
		case 0x66:
			d->operand16 = true;
			break;
		case 0x67:
			d->address32 = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		default:
			return;
		}
}

/* Reads the opcode with its escapes; returns its flags, *ret_opcode is the last byte. */
static u16 read_opcode(struct decoder *d)
{
	u8 b = next(d), map;

	if ((b & 0xf0) == 0x40) {
		d->rex_w = b & 8;
		b = next(d);
	}
	switch (b) {
	case 0x0f:
		b = next(d);
		if (b == 0x38 || b == 0x3a)
			return map_flags(b == 0x38 ? 2 : 3, next(d));
		return map_flags(1, b);
	case 0xc5: /* VEX, two bytes */
		next(d);
		return map_flags(1, next(d));
	case 0xc4: /* VEX, three bytes */
		map = next(d) & 0x1f;
		next(d);
		return map_flags(map, next(d));
	case 0x62: /* EVEX */
		map = next(d) & 7;
		next(d);
		next(d);
		return map_flags(map, next(d));
	default:
		return one_byte_flags(b);
	}
}

/* The ModRM byte and what it asks for; returns its reg field. */
static u8 skip_modrm(struct decoder *d)
{
	const u8 modrm = next(d), mod = modrm >> 6, rm = modrm & 7;
	u8 base = rm;

	if (mod == 3)
		return modrm >> 3 & 7;
	if (rm == 4)
		base = next(d) & 7;
	if (mod == 1)
		d->at += 1;
	else if (mod == 2 || base == 5)
		d->at += 4;
	return modrm >> 3 & 7;
}

int arch_instruction_length(const u8 *code, size_t size)
{
	struct decoder d = {.code = code, .size = MIN(size, (size_t)MAX_LENGTH)};
	u16 flags;

	skip_prefixes(&d);
	flags = read_opcode(&d);
	if (flags & BAD)
		return -1;
	if (flags & MODRM && skip_modrm(&d) > 1 && flags & GROUP3)
		flags &= (u16) ~(IMM8 | IMMZ);
	if (flags & IMM8)
		d.at += 1;
	if (flags & IMM16)
		d.at += 2;
	if (flags & IMMZ)
		d.at += d.operand16 ? 2 : 4;
	if (flags & IMMV)
		d.at += d.rex_w ? 8 : d.operand16 ? 2 : 4;
	if (flags & REL32)
		d.at += 4;
	if (flags & MOFFS)
		d.at += d.address32 ? 4 : 8;
	return d.at <= d.size ? (int)d.at : -1;
}
