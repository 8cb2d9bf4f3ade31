/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing string. Invariants: data is always NUL-terminated and never NULL
 * (an empty buffer points at a static empty string with cap 0); len excludes the
 * NUL; data may hold NULs in the middle.
 */
#ifndef PANTRACE_BASE_STRBUF_H
#define PANTRACE_BASE_STRBUF_H

#include "base/base.h"

struct strbuf {
	char *data;
	size_t len, cap;
};

extern char strbuf_empty[1];
#define STRBUF_INIT                \
	{                          \
		strbuf_empty, 0, 0 \
	}

void strbuf_add(struct strbuf *sb, const void *p, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
/* n copies of c; n <= 0 adds nothing. */
void strbuf_addchars(struct strbuf *sb, char c, int n);
/* 7 bits a byte, the lowest first; the last byte is below 128. Protobuf's and Thrift's varint. */
void strbuf_add_leb128(struct strbuf *sb, u64 v);
/* Two digits a byte, in small letters. */
void strbuf_add_hex(struct strbuf *sb, const void *p, size_t n);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);
void strbuf_reset(struct strbuf *sb); /* empty, memory kept */
void strbuf_release(struct strbuf *sb);
char *strbuf_detach(struct strbuf *sb); /* the caller frees the string; sb becomes empty */
/* Make room for n more bytes and return where they go; add what was used to len. */
char *strbuf_reserve(struct strbuf *sb, size_t n);

#endif
