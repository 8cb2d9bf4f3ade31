/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/protobuf.h"

#include "base/escape.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

#define LENGTH_BYTES 4 /* a varint of 28 bits; it may be longer than necessary */

static void add_tag(struct strbuf *out, u32 field, enum wire_type type)
{
	strbuf_add_leb128(out, (u64)field << 3 | type);
}

void protobuf_u64(struct strbuf *out, u32 field, u64 v)
{
	add_tag(out, field, WIRE_VARINT);
	strbuf_add_leb128(out, v);
}

void protobuf_fixed64(struct strbuf *out, u32 field, u64 v)
{
	add_tag(out, field, WIRE_FIXED64);
	for (size_t i = 0; i < 8; i++)
		strbuf_addch(out, (char)(v >> 8 * i));
}

void protobuf_double(struct strbuf *out, u32 field, double v)
{
	u64 bits;

	memcpy(&bits, &v, sizeof(bits));
	protobuf_fixed64(out, field, bits);
}

void protobuf_bytes(struct strbuf *out, u32 field, const void *p, size_t n)
{
	add_tag(out, field, WIRE_LENGTH);
	strbuf_add_leb128(out, n);
	strbuf_add(out, p, n);
}

void protobuf_string(struct strbuf *out, u32 field, const char *s, size_t n)
{
	const size_t begin = protobuf_begin(out, field);

	escape_line(out, s, n);
	protobuf_end(out, begin);
}

void protobuf_packed(struct strbuf *out, u32 field, const u64 *values, size_t n)
{
	const size_t begin = protobuf_begin(out, field);

	for (size_t i = 0; i < n; i++)
		strbuf_add_leb128(out, values[i]);
	protobuf_end(out, begin);
}

size_t protobuf_begin(struct strbuf *out, u32 field)
{
	add_tag(out, field, WIRE_LENGTH);
	strbuf_add(out, "\0\0\0\0", LENGTH_BYTES);
	return out->len;
}

void protobuf_end(struct strbuf *out, size_t begin)
{
	const size_t n = out->len - begin;
	char *const to = out->data + begin - LENGTH_BYTES;

	for (size_t i = 0; i < LENGTH_BYTES; i++)
		to[i] = (char)((n >> 7 * i & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
