/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text, appended to a strbuf without printf: two digits a step. */
#ifndef PANTRACE_TRACE_FTRACE_NUMBER_TEXT_H
#define PANTRACE_TRACE_FTRACE_NUMBER_TEXT_H

#include "base/strbuf.h"

/* Room for n bytes at the end of the buffer. */
static inline char *text_room(struct strbuf *out, size_t n)
{
	return out->cap - out->len > n ? out->data + out->len : strbuf_reserve(out, n);
}

static const char text_pairs[201] UNUSED = "0001020304050607080910111213141516171819202122232425262"
					   "7282930313233343536373839404142434445464748"
					   "4950515253545556575859606162636465666768697071727374757"
					   "6777879808182838485868788899091929394959697"
					   "9899";

/* Digits of v that end before `end`; returns where they begin. */
static inline char *text_digits(char *end, u64 v)
{
	while (v >= 100) {
		end -= 2;
		memcpy(end, text_pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, text_pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

/* Constant copy of 24 bytes: cheaper than one of the exact length. The buffer has the room. */
static inline char *text_put_digits(char *p, u64 v)
{
	char digits[48], *begin;
	size_t n;

	if (v < 10) {
		*p = (char)('0' + v);
		return p + 1;
	}
	begin = text_digits(digits + 24, v);
	n = (size_t)(digits + 24 - begin);
	memcpy(p, begin, 24);
	return p + n;
}

static inline char *text_put_hex(char *p, u64 v)
{
	static const char hex[16] = "0123456789abcdef";
	int shift = v ? (63 - __builtin_clzll(v)) & ~3 : 0;

	for (; shift >= 0; shift -= 4)
		*p++ = hex[v >> shift & 15];
	return p;
}

static inline void text_end(struct strbuf *out, char *p)
{
	out->len = (size_t)(p - out->data);
	*p = '\0';
}

static inline void text_unsigned(struct strbuf *out, u64 v)
{
	text_end(out, text_put_digits(text_room(out, 48), v));
}

static inline void text_signed(struct strbuf *out, s64 v)
{
	char *p = text_room(out, 48);

	if (v < 0)
		*p++ = '-';
	text_end(out, text_put_digits(p, v < 0 ? -(u64)v : (u64)v));
}

static inline void text_hex(struct strbuf *out, u64 v)
{
	text_end(out, text_put_hex(text_room(out, 32), v));
}

/* At least `width` (<= 16) digits, zeros in front. */
static inline void text_hex_padded(struct strbuf *out, u64 v, u32 width)
{
	static const char hex[16] = "0123456789abcdef";
	char *p = text_room(out, 32);
	const int digits = v ? (67 - __builtin_clzll(v)) / 4 : 1;

	for (int i = MAX(digits, (int)width) - 1; i >= 0; i--)
		*p++ = hex[v >> (i * 4) & 15];
	text_end(out, p);
}

#endif
