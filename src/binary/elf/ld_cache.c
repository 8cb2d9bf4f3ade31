/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout (glibc sysdeps/generic/dl-cache.h):
 *
 *	old	"ld.so-1.7.0\0" (12 bytes), u32 count, count x {u32 flags, u32 soname, u32 path},
 *		strings; names are offsets from the start of the strings. A new cache may follow at
 *		a multiple of 8.
 *	new	"glibc-ld.so.cache1.1" (20 bytes), u32 count, u32 string bytes, u8 flags, 3 bytes,
 *		u32 extensions, u32 [3], count x {u32 flags, u32 soname, u32 path, u32 osversion,
 *		u64 hwcap}; names are offsets from the magic.
 */
#include "binary/elf/ld_cache.h"

#include "base/cursor.h"
#include "base/file.h"

enum { OLD_ENTRY = 12, NEW_ENTRY = 24, MAX_FILE = 64 << 20 };

static const char old_magic[12] = "ld.so-1.7.0";
static const char new_magic[20] = {'g', 'l', 'i', 'b', 'c', '-', 'l', 'd', '.', 's',
				   'o', '.', 'c', 'a', 'c', 'h', 'e', '1', '.', '1'};

static const char *string_at(const struct cursor *strings, u32 at)
{
	struct cursor c = *strings;

	c.pos = 0;
	c.failed = false;
	cursor_bytes(&c, at);
	return cursor_string(&c);
}

static int each_entry(struct cursor entries, u32 count, u32 size, const struct cursor *strings,
		      int (*fn)(void *arg, const char *soname, const char *path), void *arg)
{
	for (u32 i = 0; i < count; i++) {
		const void *p = cursor_bytes(&entries, size);
		struct cursor c = cursor_of(p, p ? size : 0);
		const char *soname, *path;
		int result;

		cursor_u32(&c);
		soname = string_at(strings, cursor_u32(&c));
		path = string_at(strings, cursor_u32(&c));
		if (!p)
			return -EINVAL;
		if (!soname || !path || *path != '/')
			continue;
		result = fn(arg, soname, path);
		if (result)
			return result;
	}
	return 0;
}

static int parse_new(struct cursor c, int (*fn)(void *arg, const char *soname, const char *path),
		     void *arg)
{
	struct cursor strings = cursor_of(c.data + c.pos, c.len - c.pos);
	const void *magic = cursor_bytes(&c, sizeof(new_magic));
	u32 count = cursor_u32(&c);

	cursor_bytes(&c, 24); /* string bytes, flags, extensions, unused */
	if (c.failed || memcmp(magic, new_magic, sizeof(new_magic)) != 0)
		return -EINVAL;
	return each_entry(c, count, NEW_ENTRY, &strings, fn, arg);
}

int ld_cache_parse(const void *data, size_t len,
		   int (*fn)(void *arg, const char *soname, const char *path), void *arg)
{
	struct cursor c = cursor_of(data, len), entries, strings;
	const void *magic = cursor_bytes(&c, sizeof(old_magic));
	u32 count;

	if (!magic || memcmp(magic, old_magic, sizeof(old_magic)) != 0)
		return parse_new(cursor_of(data, len), fn, arg);
	count = cursor_u32(&c);
	entries = c;
	cursor_bytes(&c, (size_t)count * OLD_ENTRY);
	strings = cursor_of(c.data + c.pos, c.len - c.pos);
	cursor_align(&c, 8);
	if (!c.failed && c.len - c.pos >= sizeof(new_magic) &&
	    memcmp(c.data + c.pos, new_magic, sizeof(new_magic)) == 0)
		return parse_new(c, fn, arg);
	return each_entry(entries, count, OLD_ENTRY, &strings, fn, arg);
}

int ld_cache_each(const char *file, int (*fn)(void *arg, const char *soname, const char *path),
		  void *arg)
{
	char *data;
	size_t len;
	int err = file_read(file, MAX_FILE, &data, &len);

	if (err)
		return err;
	err = ld_cache_parse(data, len, fn, arg);
	free(data);
	return err;
}
