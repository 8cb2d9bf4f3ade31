/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps that are compressed by page (makedumpfile's IMPLEMENTATION, diskdump_mod.h), on x86-64:
 *
 *	block 0		the head: "KDUMP   ", u32 version, at 428 u32 size of a block, blocks of the
 *			second head, blocks of both bitmaps, number of pages if that fits
 *	block 1		the second head: at 32 where VMCOREINFO stands, and its size; at 96, of
 *			version 6 on, the number of pages
 *	then		bitmaps: pages that the machine had, pages that are here
 *	then		of each page that is here: u64 offset, u32 size, u32 flags, u64 flags of
 *			the kernel's
 */
#include <stdlib.h>

#include "trace/vmcore/dump_internal.h"
#include "trace/vmcore/unpack.h"

#define MAGIC	   "KDUMP   "
#define PAGE	   4096u
#define CACHED	   64 /* pages; the tables of addresses are looked at again and again */
#define BITMAP_MAX ((u64)256 << 20)
#define COUNTED	   4096u /* bits of the bitmap that are counted beforehand */

/* Bytes of the two heads. */
enum {
	HEAD_VERSION = 8,
	HEAD_BLOCK_SIZE = 428,
	HEAD_SIZE = 464,
	SECOND_INFO = 32,
	SECOND_PAGES = 96,
	SECOND_SIZE = 104,
};

struct cached_page {
	bool is_there;
	u64 number;
	u8 data[PAGE];
};

struct kdump {
	u64 pages, descriptions; /* descriptions: where they begin */
	u8 *here; /* the second bitmap */
	u32 *before; /* pages that are here before each COUNTED ones */
	struct cached_page *cache;
	u8 packed[2 * PAGE];
};

static bool recognise(const u8 *head, size_t n)
{
	return n >= strlen(MAGIC) && !memcmp(head, MAGIC, strlen(MAGIC));
}

static bool is_here(const struct kdump *k, u64 page)
{
	return page < k->pages && k->here[page / 8] >> page % 8 & 1;
}

static u32 bits(const u8 *from, u64 bytes)
{
	u32 n = 0;

	for (u64 i = 0; i < bytes; i++)
		n += (u32)__builtin_popcount(from[i]);
	return n;
}

static int read_bitmap(struct kdump *k, const struct dump_file *f, u64 at, u64 bytes)
{
	const u64 counts = k->pages / COUNTED + 1;
	int err;

	if (k->pages > bytes * 8)
		return -EINVAL;
	bytes = (k->pages + 7) / 8;
	err = dump_file_copy(f, at, bytes, BITMAP_MAX, (char **)&k->here);
	if (err)
		return err == -EFBIG ? -EINVAL : err;
	k->before = xzalloc(counts * sizeof(*k->before));
	for (u64 i = 1; i < counts; i++)
		k->before[i] =
			k->before[i - 1] + bits(k->here + (i - 1) * (COUNTED / 8), COUNTED / 8);
	return 0;
}

static int read_heads(struct kdump *k, const struct dump_file *f, char **ret_info)
{
	u8 head[HEAD_SIZE], second[SECOND_SIZE] = {0};
	struct cursor c = cursor_of(head, sizeof(head)), s = cursor_of(second, sizeof(second));
	u64 block, second_blocks, bitmap_blocks, info, info_size;
	u32 version;
	int err = dump_file_read(f, 0, head, sizeof(head));

	c.pos = HEAD_VERSION;
	version = cursor_u32(&c);
	c.pos = HEAD_BLOCK_SIZE;
	block = cursor_u32(&c);
	second_blocks = cursor_u32(&c);
	bitmap_blocks = cursor_u32(&c);
	k->pages = cursor_u32(&c);
	if (!err && block != PAGE)
		err = -EINVAL;
	if (!err)
		err = dump_file_read(f, block, second, sizeof(second));
	if (err)
		return err;
	s.pos = SECOND_INFO;
	info = cursor_u64(&s);
	info_size = cursor_u64(&s);
	s.pos = SECOND_PAGES;
	k->pages = version >= 6 ? cursor_u64(&s) : k->pages;
	k->descriptions = (1 + second_blocks + bitmap_blocks) * block;
	if (version >= 3 && info_size)
		err = dump_file_copy(f, info, info_size, DUMP_INFO_MAX, ret_info);
	return err
		       ?: read_bitmap(k, f, (1 + second_blocks + bitmap_blocks / 2) * block,
				      bitmap_blocks / 2 * block);
}

static void kdump_close(void *own)
{
	struct kdump *const k = own;

	free(k->here);
	free(k->before);
	free(k->cache);
	free(k);
}

static int kdump_open(const struct dump_file *f, void **ret, char **ret_info)
{
	struct kdump *const k = xzalloc(sizeof(*k));

	*ret = k;
	k->cache = xzalloc(CACHED * sizeof(*k->cache));
	return read_heads(k, f, ret_info);
}

static u64 pages_before(const struct kdump *k, u64 page)
{
	const u64 counted = page / COUNTED, from = counted * (COUNTED / 8);
	const u32 rest = (u32)(k->here[page / 8] & ((1u << page % 8) - 1));

	return k->before[counted] + bits(k->here + from, page / 8 - from) +
	       (u32)__builtin_popcount(rest);
}

static int read_page(struct kdump *k, const struct dump_file *f, u64 page, u8 *to)
{
	u8 description[16];
	struct cursor c = cursor_of(description, sizeof(description));
	int err = dump_file_read(f, k->descriptions + pages_before(k, page) * 24, description,
				 sizeof(description));
	const u64 at = cursor_u64(&c);
	const u32 size = cursor_u32(&c), packing = cursor_u32(&c);

	if (err)
		return err;
	if (size > sizeof(k->packed) || (!packing && size != PAGE))
		return -EINVAL;
	err = dump_file_read(f, at, packing ? k->packed : to, size);
	return err || !packing ? err : unpack_page(packing, k->packed, size, to, PAGE);
}

static int kdump_read(void *own, const struct dump_file *f, u64 physical, void *to, size_t n)
{
	struct kdump *const k = own;

	for (u8 *out = to; n;) {
		const u64 page = physical / PAGE, within = physical % PAGE;
		struct cached_page *const cached = &k->cache[page % CACHED];
		const size_t piece = MIN(n, PAGE - within);
		int err;

		if (!is_here(k, page))
			return -ENODATA;
		if (!cached->is_there || cached->number != page) {
			err = read_page(k, f, page, cached->data);
			cached->is_there = !err;
			cached->number = page;
			if (err)
				return err;
		}
		memcpy(out, cached->data + within, piece);
		physical += piece;
		out += piece;
		n -= piece;
	}
	return 0;
}

const struct dump_format dump_kdump = {recognise, kdump_open, kdump_read, kdump_close};
