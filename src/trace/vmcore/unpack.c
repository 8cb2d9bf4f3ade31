/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/unpack.h"

#include <lzo/lzo1x.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cursor.h"

static bool unpack_zlib(const u8 *from, size_t n, u8 *to, size_t size)
{
	uLongf got = size;

	return uncompress(to, &got, from, n) == Z_OK && got == size;
}

static bool unpack_lzo(const u8 *from, size_t n, u8 *to, size_t size)
{
	lzo_uint got = size;

	return lzo1x_decompress_safe(from, n, to, &got, NULL) == LZO_E_OK && got == size;
}

static bool unpack_zstd(const u8 *from, size_t n, u8 *to, size_t size)
{
	return ZSTD_decompress(to, size, from, n) == size;
}

/*
 * Snappy (its format_description.txt): how long all is, as a varint, then elements. The low two
 * bits of an element's first byte are its kind: 0 = bytes that follow, else a copy of what came
 * `distance` bytes before, whose last 1, 2 or 4 bytes follow.
 */
static bool snappy_element(struct cursor *c, u8 *to, size_t size, size_t *at)
{
	const u8 tag = cursor_u8(c);
	size_t len = tag >> 2, distance;
	const u8 *bytes;

	if (!(tag & 3)) {
		len = (len < 60 ? len : cursor_uint(c, len - 59)) + 1;
		bytes = len <= size - *at ? cursor_bytes(c, len) : NULL;
		if (bytes)
			memcpy(to + *at, bytes, len);
		*at += bytes ? len : 0;
		return bytes;
	}
	if ((tag & 3) == 1) {
		len = (tag >> 2 & 7) + 4;
		distance = (size_t)(tag >> 5) << 8 | cursor_u8(c);
	} else {
		len++;
		distance = cursor_uint(c, (tag & 3) == 2 ? 2 : 4);
	}
	if (c->failed || !distance || distance > *at || len > size - *at)
		return false;
	for (; len; len--, ++*at) /* the copy may overlap what it copies */
		to[*at] = to[*at - distance];
	return true;
}

static bool unpack_snappy(const u8 *from, size_t n, u8 *to, size_t size)
{
	struct cursor c = cursor_of(from, n);
	u64 said = 0;
	size_t at = 0;
	u8 byte = 0x80;

	for (u32 shift = 0; byte & 0x80 && shift < 35; shift += 7) {
		byte = cursor_u8(&c);
		said |= (u64)(byte & 0x7f) << shift;
	}
	if (said != size)
		return false;
	while (at < size)
		if (!snappy_element(&c, to, size, &at))
			return false;
	return !c.failed;
}

int unpack_page(u32 packing, const u8 *from, size_t n, u8 *to, size_t size)
{
	static const struct {
		enum packing packing;
		bool (*unpack)(const u8 *from, size_t n, u8 *to, size_t size);
	} rows[] = {
		{PACKED_ZLIB, unpack_zlib},
		{PACKED_LZO, unpack_lzo},
		{PACKED_SNAPPY, unpack_snappy},
		{PACKED_ZSTD, unpack_zstd},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (packing == rows[i].packing)
			return rows[i].unpack(from, n, to, size) ? 0 : -EINVAL;
	return -EOPNOTSUPP;
}
