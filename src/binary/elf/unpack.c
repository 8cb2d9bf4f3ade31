/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed debug sections (System V ABI, "Section Compression"; the older ".zdebug_", which
 * begins with "ZLIB" and a big-endian size). libdw unpacks those of linked programs as it needs
 * them. Where it cannot (zstd), or their bytes have to be changed first (relocations), a copy of
 * the file is made in memory with all of them unpacked after its end.
 */
#include <zlib.h>
#include <zstd.h>

#include "binary/elf/internal.h"

enum { PACKED_ZLIB = 1, PACKED_ZSTD = 2 }; /* ch_type */
#define MAX_UNPACKED ((u64)1 << 30) /* bytes of all sections */

bool elf_section_is_packed(const struct elf_section *s)
{
	return (s->flags & SHF_COMPRESSED && str_starts(s->name, ".debug_")) ||
	       str_starts(s->name, ".zdebug_");
}

/* What the section says about itself; the cursor then stands at the compressed bytes. */
static u32 read_head(const struct elf_file *f, const struct elf_section *s, struct cursor *c,
		     u64 *ret_size)
{
	u32 type;

	*ret_size = 0;
	if (!(s->flags & SHF_COMPRESSED)) {
		const char *magic = cursor_bytes(c, 4);

		for (int i = 0; i < 8; i++)
			*ret_size = *ret_size << 8 | cursor_u8(c);
		return magic && !memcmp(magic, "ZLIB", 4) && !c->failed ? PACKED_ZLIB : 0;
	}
	type = cursor_u32(c);
	if (f->is_64)
		cursor_u32(c);
	*ret_size = cursor_uint(c, f->is_64 ? 8 : 4);
	cursor_bytes(c, f->is_64 ? 8 : 4); /* its alignment */
	return c->failed ? 0 : type;
}

u64 elf_section_unpacked_size(struct elf_file *f, const struct elf_section *s)
{
	struct cursor c = elf_section_cursor(f, s);
	u64 size;

	read_head(f, s, &c, &size);
	return size;
}

static bool unpack(const struct elf_file *f, const struct elf_section *s, struct cursor c, u8 *to)
{
	u64 size;
	const u32 type = read_head(f, s, &c, &size);
	const u64 len = c.len - c.pos;
	const void *from = cursor_bytes(&c, len);
	uLongf got = size;

	if (type == PACKED_ZLIB)
		return from && uncompress(to, &got, from, len) == Z_OK && got == size;
	return type == PACKED_ZSTD && from && ZSTD_decompress(to, size, from, len) == size;
}

bool elf_file_must_unpack(struct elf_file *f)
{
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];
		struct cursor c;
		u64 size;

		if (!elf_section_is_packed(s))
			continue;
		c = elf_section_cursor(f, s);
		if (f->type == ET_REL || read_head(f, s, &c, &size) == PACKED_ZSTD)
			return true;
	}
	return false;
}

/* Makes ".debug_info" of ".zdebug_info", where its name stands in the copy. */
static void rename_section(struct elf_file *f, u8 *copy, const struct elf_section *s,
			   Elf64_Shdr *head)
{
	const u64 at = (u64)((const u8 *)s->name - f->image.data);

	if (!str_starts(s->name, ".z") || !file_image_has(&f->image, at, strlen(s->name)))
		return;
	copy[at + 1] = '.';
	head->sh_name++;
}

/* The copy's bytes; NULL: there is something in them that we do not know. */
static u8 *make_copy(struct elf_file *f, size_t *ret_len)
{
	const void *all = file_image_bytes(&f->image, 0, f->image.len);
	u64 at = (f->image.len + 15) & ~(u64)15, total = at, size;
	u8 *copy;

	for (u32 i = 1; i < f->section_count && total <= MAX_UNPACKED + f->image.len; i++)
		if (elf_section_is_packed(&f->sections[i])) {
			size = elf_section_unpacked_size(f, &f->sections[i]);
			total = size > MAX_UNPACKED ? UINT64_MAX : total + ((size + 15) & ~(u64)15);
		}
	if (!all || !f->is_64 || total > MAX_UNPACKED + f->image.len)
		return NULL;
	copy = xzalloc(total);
	memcpy(copy, all, f->image.len);
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];
		u8 *const to = copy + f->section_headers + (u64)i * f->section_header_size;
		Elf64_Shdr head;

		if (!elf_section_is_packed(s))
			continue;
		size = elf_section_unpacked_size(f, s);
		if (!unpack(f, s, elf_section_cursor(f, s), copy + at)) {
			free(copy);
			return NULL;
		}
		memcpy(&head, to, sizeof(head));
		head.sh_flags &= ~(u64)SHF_COMPRESSED;
		head.sh_offset = at;
		head.sh_size = size;
		rename_section(f, copy, s, &head);
		memcpy(to, &head, sizeof(head));
		at += (size + 15) & ~(u64)15;
	}
	*ret_len = total;
	return copy;
}

struct elf_file *elf_unpacked_file(struct elf_file *f)
{
	bool is_packed = false;
	size_t len;
	u8 *copy;

	if (f->unpack_tried)
		return f->unpacked;
	f->unpack_tried = true;
	for (u32 i = 1; i < f->section_count && !is_packed; i++)
		is_packed = elf_section_is_packed(&f->sections[i]);
	if (!is_packed)
		return f->unpacked = f;
	copy = make_copy(f, &len);
	if (copy && elf_file_open_buffer(copy, len, f->path, &f->unpacked))
		f->unpacked = NULL;
	return f->unpacked;
}
