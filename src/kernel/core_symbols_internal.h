/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of symbols, for those who go through them (core_symbols.c says what they are). */
#ifndef PANTRACE_KERNEL_CORE_SYMBOLS_INTERNAL_H
#define PANTRACE_KERNEL_CORE_SYMBOLS_INTERNAL_H

#include "kernel/core_symbols.h"
#include "kernel/core_table.h"

#define TOKENS	       256
#define MAX_TOKEN_TEXT ((size_t)64 << 10) /* 16-bit indices */

/* Most tokens have 2 to 5 letters. So many are copied at once, whether they belong to it or not. */
#define SHORT 16

#define STEP 256 /* symbols between two markers */

enum { MAX_NAME = 1024 }; /* KSYM_NAME_LEN is 512 */

struct core_symbols {
	struct core_table names, offsets,
		numbers; /* numbers: kallsyms_seqs_of_names, may be closed */
	u32 *markers;
	u32 count;
	u64 base, stext;
	enum { FROM_BASE, SIGNED, FROM_PLACE } meaning; /* of offsets */
	u16 index[TOKENS];
	char *text; /* of the tokens, with SHORT bytes behind them */
	char shorts[TOKENS][SHORT]; /* as much of each, and what is behind it */
	u8 lengths[TOKENS];
	char kinds[TOKENS],
		letters[TOKENS]; /* of names that begin with the token; letters: 0 = see the next */
};

/* Of the Nth symbol, whose offset is VALUE. */
static inline u64 address_from(const struct core_symbols *s, u32 n, u32 value)
{
	const s32 offset = (s32)value;

	switch (s->meaning) {
	case FROM_BASE:
		break;
	case SIGNED:
		return offset >= 0 ? (u64)offset : s->base - 1 - (u64)(s64)offset;
	case FROM_PLACE:
		return s->offsets.address + (u64)n * sizeof(value) + (u64)(s64)offset;
	}
	return s->base + value;
}

/* What one symbol of the names consists of; at the end NULL. */
struct name {
	const u8 *tokens;
	u32 count;
};

/* What is behind it; NULL: the table ends. */
static inline const u8 *next_name(const u8 *at, const u8 *end, struct name *ret)
{
	u32 count;

	if (end - at < 2)
		return NULL;
	count = *at++;
	if (count & 0x80)
		count = (count & 0x7f) | (u32)*at++ << 7;
	if ((size_t)(end - at) < count || !count)
		return NULL;
	*ret = (struct name){at, count};
	return at + count;
}

/* The kind, then the name. False: there is none. */
bool core_symbols_expand(const struct core_symbols *s, const struct name *n, char text[MAX_NAME]);
/* The same of the Nth symbol. */
bool core_symbols_nth(struct core_symbols *s, u32 n, char text[MAX_NAME]);
/* 0: it cannot be read. */
u64 core_symbols_nth_address(struct core_symbols *s, u32 n);
/* The Nth of the sorted names, and the number of its symbol. */
bool core_symbols_sorted(struct core_symbols *s, u32 n, u32 *ret_i, char text[MAX_NAME]);
/* The number of a symbol as it stands among the sorted. */
static inline u32 core_symbols_number(const u8 at[3])
{
	return (u32)at[0] << 16 | (u32)at[1] << 8 | at[2];
}

/* The first of the sorted names that begins with PREFIX, or would; BEHIND: the first behind those. */
u32 core_symbols_first(struct core_symbols *s, const char *prefix, bool behind);
/* The names of the symbols from the Nth marker to the next; NULL: they cannot be read. */
const u8 *core_symbols_block(struct core_symbols *s, u32 n, const u8 **ret_end);

#endif
