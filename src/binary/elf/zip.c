/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * APPNOTE.TXT 6.3.10 (PKWARE). Little endian:
 *
 *	local header	u32 "PK\3\4", 22 bytes, u16 name size, u16 extra size; name, extra, the
 *			entry's bytes
 *	directory	for each entry u32 "PK\1\2", u32 versions, u16 flags, u16 method, u64 time
 *			and CRC, u32 packed size, u32 size, u16 name size, u16 extra size, u16
 *			comment size, 8 bytes, u32 offset of the local header; name, extra, comment
 *	end		u32 "PK\5\6", 6 bytes, u16 entries, u32 size and u32 offset of the
 *			directory, u16 comment size; comment
 */
#include "binary/elf/zip.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"

enum {
	LOCAL_SIZE = 30,
	END_SIZE = 22,
	MAX_COMMENT = 65535,
	MAX_DIRECTORY = 64 << 20,
	PAGE = 4096,
	FLAG_ENCRYPTED = 1,
	METHOD_STORED = 0,
};
#define LOCAL_MAGIC	0x04034b50u
#define DIRECTORY_MAGIC 0x02014b50u
#define END_MAGIC	0x06054b50u

const char *zip_separator(const char *path)
{
	return strstr(path, "!/");
}

/* malloc'ed, or NULL. */
static u8 *read_at(int fd, u64 offset, size_t n)
{
	u8 *data = xmalloc(n + 1);

	if (pread(fd, data, n, (off_t)offset) == (ssize_t)n)
		return data;
	free(data);
	return NULL;
}

/* The end stands before a comment of the size that it names. False: this is not an archive. */
static bool find_directory(int fd, u64 len, u64 *ret_offset, u32 *ret_size)
{
	const size_t n = MIN(len, (u64)END_SIZE + MAX_COMMENT);
	u8 *tail = n >= END_SIZE ? read_at(fd, len - n, n) : NULL;
	bool found = false;

	for (size_t at = n; tail && !found && at-- >= END_SIZE;) {
		struct cursor c = cursor_of(tail, n);

		c.pos = at + 1 - END_SIZE;
		if (cursor_u32(&c) != END_MAGIC)
			continue;
		cursor_bytes(&c, 8);
		*ret_size = cursor_u32(&c);
		*ret_offset = cursor_u32(&c);
		found = cursor_u16(&c) == n - c.pos;
	}
	free(tail);
	return found && *ret_offset <= len && *ret_size <= len - *ret_offset;
}

struct entry {
	u16 flags, method;
	u32 packed, size, local;
};

static bool next_entry(struct cursor *c, const char **ret_name, u16 *ret_name_len,
		       struct entry *ret)
{
	u16 extra, comment;

	if (cursor_u32(c) != DIRECTORY_MAGIC)
		return false;
	cursor_u32(c);
	ret->flags = cursor_u16(c);
	ret->method = cursor_u16(c);
	cursor_u64(c);
	ret->packed = cursor_u32(c);
	ret->size = cursor_u32(c);
	*ret_name_len = cursor_u16(c);
	extra = cursor_u16(c);
	comment = cursor_u16(c);
	cursor_u64(c);
	ret->local = cursor_u32(c);
	*ret_name = cursor_bytes(c, *ret_name_len);
	cursor_bytes(c, (size_t)extra + comment);
	return !c->failed;
}

static bool find_entry(const u8 *directory, size_t len, const char *wanted, struct entry *ret)
{
	struct cursor c = cursor_of(directory, len);
	const char *name;
	u16 n;

	while (next_entry(&c, &name, &n, ret))
		if (n == strlen(wanted) && !memcmp(name, wanted, n))
			return true;
	return false;
}

/* Behind the local header, whose extra field may be another than the directory's. */
static bool find_bytes(int fd, u64 len, const struct entry *e, u64 *ret)
{
	u8 *header = read_at(fd, e->local, LOCAL_SIZE);
	struct cursor c = cursor_of(header, header ? LOCAL_SIZE : 0);
	const bool is_local = header && cursor_u32(&c) == LOCAL_MAGIC;

	cursor_bytes(&c, 22);
	*ret = (u64)e->local + LOCAL_SIZE;
	*ret += cursor_u16(&c);
	*ret += cursor_u16(&c);
	free(header);
	return is_local && *ret <= len && e->packed <= len - *ret;
}

static const char *refusal(const struct entry *e, u64 offset)
{
	if (e->flags & FLAG_ENCRYPTED)
		return "the entry is encrypted";
	if (e->method != METHOD_STORED || e->packed != e->size)
		return "the entry is compressed, so no program runs it in place (`zip -0` stores "
		       "it as it is)";
	if (offset % PAGE)
		return "the entry does not begin at a page, so no program runs it in place "
		       "(`zipalign -p 4` moves it)";
	return NULL;
}

int zip_find(int fd, const char *name, u64 *ret_offset, u64 *ret_size, const char **ret_why)
{
	struct entry e;
	struct stat st;
	u8 *directory;
	u64 at, len;
	u32 size;
	bool found;

	if (fstat(fd, &st))
		return -errno;
	len = S_ISREG(st.st_mode) ? (u64)st.st_size : 0;
	*ret_why = "it is no ZIP archive";
	if (!find_directory(fd, len, &at, &size))
		return -ENOEXEC;
	*ret_why = "the archive's directory is damaged, or larger than 4 GiB";
	directory = size <= MAX_DIRECTORY ? read_at(fd, at, size) : NULL;
	if (!directory)
		return -EBADMSG;
	found = find_entry(directory, size, name, &e);
	free(directory);
	*ret_why = "the archive has no such entry (`unzip -l` lists them)";
	if (!found)
		return -ENOENT;
	*ret_why = "the entry's header is damaged";
	if (!find_bytes(fd, len, &e, ret_offset))
		return -EBADMSG;
	*ret_why = refusal(&e, *ret_offset);
	*ret_size = e.size;
	return *ret_why ? -ENOTSUP : 0;
}
