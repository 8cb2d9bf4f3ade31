/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"

#include <stdio.h>

char strbuf_empty[1];

char *strbuf_reserve(struct strbuf *sb, size_t n)
{
	size_t need = sb->len + n + 1;

	if (need > sb->cap) {
		size_t cap = MAX(need, sb->cap * 2);

		cap = MAX(cap, (size_t)64);
		sb->data = xrealloc(sb->cap ? sb->data : NULL, cap);
		sb->cap = cap;
		sb->data[sb->len] = '\0';
	}
	return sb->data + sb->len;
}

void strbuf_add(struct strbuf *sb, const void *p, size_t n)
{
	if (!n)
		return;
	memcpy(strbuf_reserve(sb, n), p, n);
	sb->len += n;
	sb->data[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_addchars(struct strbuf *sb, char c, int n)
{
	if (n <= 0)
		return;
	memset(strbuf_reserve(sb, (size_t)n), c, (size_t)n);
	sb->len += (size_t)n;
	sb->data[sb->len] = '\0';
}

void strbuf_add_leb128(struct strbuf *sb, u64 v)
{
	char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (char)(v | 0x80);
	bytes[n++] = (char)v;
	strbuf_add(sb, bytes, n);
}

void strbuf_add_hex(struct strbuf *sb, const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *to = strbuf_reserve(sb, 2 * n);
	const u8 *from = p;

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	*to = '\0';
	sb->len += 2 * n;
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int n;

	va_copy(again, ap);
	strbuf_reserve(sb, 64);
	room = sb->cap - sb->len;
	n = vsnprintf(sb->data + sb->len, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room) {
		strbuf_reserve(sb, (size_t)n);
		vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n > 0)
		sb->len += (size_t)n;
	sb->data[sb->len] = '\0';
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	if (sb->cap)
		sb->data[0] = '\0';
}

void strbuf_release(struct strbuf *sb)
{
	if (sb->cap)
		free(sb->data);
	*sb = (struct strbuf)STRBUF_INIT;
}

char *strbuf_detach(struct strbuf *sb)
{
	char *s = sb->cap ? sb->data : xstrdup("");

	*sb = (struct strbuf)STRBUF_INIT;
	return s;
}
