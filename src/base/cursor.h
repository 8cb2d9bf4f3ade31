/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one bounds-checked reader of foreign bytes (ELF notes, format files,
 * recordings, packets). Failure is sticky: after the first read past the end
 * every read returns zeros and cursor.failed stays true, so a parser checks once.
 */
#ifndef PANTRACE_BASE_CURSOR_H
#define PANTRACE_BASE_CURSOR_H

#include <endian.h>

#include "base/base.h"

struct cursor {
	const u8 *data;
	size_t len, pos;
	bool failed;
};

static inline struct cursor cursor_of(const void *p, size_t n)
{
	return (struct cursor){.data = p, .len = n};
}

/* n bytes in place, or NULL (and failed). */
static inline const void *cursor_bytes(struct cursor *c, size_t n)
{
	const void *p;

	if (c->failed || n > c->len - c->pos) {
		c->failed = true;
		return NULL;
	}
	p = c->data + c->pos;
	c->pos += n;
	return p;
}

static inline u64 cursor_uint(struct cursor *c, size_t n) /* little endian, n <= 8 */
{
	const u8 *p = cursor_bytes(c, n);
	u64 v = 0;

	if (p)
		memcpy(&v, p, n);
	return le64toh(v);
}

static inline u8 cursor_u8(struct cursor *c)
{
	return (u8)cursor_uint(c, 1);
}
static inline u16 cursor_u16(struct cursor *c)
{
	return (u16)cursor_uint(c, 2);
}
static inline u32 cursor_u32(struct cursor *c)
{
	return (u32)cursor_uint(c, 4);
}
static inline u64 cursor_u64(struct cursor *c)
{
	return cursor_uint(c, 8);
}

/* An unsigned number in LEB128, as DWARF has them: 7 bits a byte, the lowest first. */
static inline u64 cursor_uleb128(struct cursor *c)
{
	u64 v = 0;
	u8 byte;

	for (u32 shift = 0; shift < 70; shift += 7) {
		byte = cursor_u8(c);
		if (shift < 64)
			v |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->failed = true;
	return 0;
}

/* A NUL-terminated string in place, or NULL (and failed) if no NUL is left. */
static inline const char *cursor_string(struct cursor *c)
{
	const u8 *p = c->data + c->pos;
	const u8 *end = c->failed ? NULL : memchr(p, 0, c->len - c->pos);

	if (!end) {
		c->failed = true;
		return NULL;
	}
	c->pos += (size_t)(end - p) + 1;
	return (const char *)p;
}

static inline void cursor_align(struct cursor *c, size_t a)
{
	size_t pad = (a - c->pos % a) % a;

	cursor_bytes(c, pad);
}

#endif
