/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format strings of printf and its family, parsed once at compile time.
 *
 *	%[-+ #0][width|*][.precision|.*][hh|h|l|ll|j|z|t|L]conversion
 *
 * conversion: d i u o x X c s p r rx rh gr, T (nanoseconds as seconds), a (an argument vector), and
 * %% for a percent sign. What is no conversion stays literal text, as bpftrace has it. The
 * arguments of '*' come right before the value: width, precision, value; format_part.argument is
 * the index of the value.
 */
#ifndef PANTRACE_VIEW_PRINTF_FORMAT_H
#define PANTRACE_VIEW_PRINTF_FORMAT_H

#include "base/arena.h"
#include "types/type.h"

enum conversion_kind { /* one %... of a format */
		       CONVERSION_LITERAL, /* text up to the next conversion, %% resolved */
		       CONVERSION_ARGUMENT,
};

struct format_part {
	enum conversion_kind kind;
	const char *text; /* literal, or the conversion as written ("%-10s") */
	u32 len;
	char conversion; /* d i u x X o c s p r ... */
	bool left, plus, space, zero, alternate;
	bool is_hex_escape; /* %rx: all bytes as \xNN; %rh: hex without \x */
	char r_mode;
	u8 length_bytes; /* from hh h l ll: 1 2 4 8; 0 = by argument's type */
	s32 width, precision; /* -1 = none; width -2 = '*': taken from an argument */
	u32 argument; /* index of the payload member */
};

struct format {
	const char *text;
	struct format_part *parts;
	u32 nparts;
};

/* Widths and precisions beyond this are refused: nobody reads such a line. */
#define FORMAT_MAX_WIDTH 65535

/*
 * Everything is allocated in the arena; text need not outlive the call. Returns NULL, or what is
 * wrong (for the person who wrote it). *ret_arguments: how many arguments the format consumes.
 */
const char *format_parse(struct arena *a, const char *text, size_t len, struct format *ret,
			 u32 *ret_arguments);
/*
 * Checks the number of arguments and whether each fits its conversion. Returns NULL or the
 * complaint; *ret_argument is then the offending argument, or UINT32_MAX if it is about the format
 * as a whole.
 */
const char *format_check(struct arena *a, const struct format *f, const struct type *const *types,
			 u32 ntypes, u32 *ret_argument);

#endif
