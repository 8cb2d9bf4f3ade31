/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a stripped file's symbols went: a separate debug file, found by build-id or by
 * .gnu_debuglink (GDB manual, "Separate Debug Files"), where distributions put it by the path of
 * the program, in the cache of debuginfod's client (debuginfod_find_debuginfo(3); nothing is
 * fetched), or the compressed symbol table in .gnu_debugdata ("MiniDebugInfo").
 */
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "binary/elf/internal.h"
#include "binary/process/maps.h"

enum {
	MINI_MAX = 256 << 20, /* bytes of decompressed .gnu_debugdata */
	LZMA_MEMORY = 128 << 20, /* bytes that the decoder may use */
	CHECKSUM_STEP = 1 << 18,
};

/* "/proc/12/root/usr/bin/x" -> length of "/proc/12/root": debug files are looked for in the same
 * root. */
static size_t root_length(const char *path)
{
	const char *p = path + 6;

	if (!str_starts(path, "/proc/"))
		return 0;
	p += strspn(p, "0123456789");
	return p > path + 6 && str_starts(p, "/root/") ? (size_t)(p - path) + 5 : 0;
}

/* Opens a candidate that has symbols or DWARF of the same machine. */
static struct elf_file *open_candidate(const struct elf_file *f, char *path)
{
	struct elf_file *d = NULL;

	if (!str_eq(path, f->path) && elf_file_open(path, &d) == 0 &&
	    (d->machine != f->machine || d->is_64 != f->is_64)) {
		elf_file_close(d);
		d = NULL;
	}
	free(path);
	return d;
}

static struct elf_file *by_build_id(struct elf_file *f, const char *root, size_t root_len)
{
	const char *id = elf_file_build_id(f), *other;
	struct elf_file *d;

	if (!id || strlen(id) < 4)
		return NULL;
	d = open_candidate(f, xasprintf("%.*s/usr/lib/debug/.build-id/%.2s/%s.debug", (int)root_len,
					root, id, id + 2));
	if (!d)
		return NULL;
	other = elf_file_build_id(d);
	if (other && str_eq(other, id))
		return d;
	elf_file_close(d);
	return NULL;
}

/* Read through a buffer: of what it says little is used. */
static bool has_checksum(struct elf_file *d, u32 crc)
{
	u8 *buffer = xmalloc(CHECKSUM_STEP);
	u32 sum = 0;
	ssize_t n;

	for (off_t at = 0; (n = pread(d->image.fd, buffer, CHECKSUM_STEP, at)) > 0; at += n)
		sum = (u32)crc32_z(sum, buffer, (size_t)n);
	free(buffer);
	return !n && sum == crc;
}

/* The build-ids decide where both have one: the checksum reads the whole file. */
static struct elf_file *check_link(struct elf_file *f, struct elf_file *d, u32 crc)
{
	const char *mine = elf_file_build_id(f), *other = d ? elf_file_build_id(d) : NULL;
	bool same;

	if (!d)
		return NULL;
	same = mine && other ? str_eq(mine, other) : has_checksum(d, crc);
	if (same)
		return d;
	elf_file_close(d);
	return NULL;
}

/* .gnu_debuglink: a file name with its NUL, padded to 4 bytes, and the CRC-32 of the debug file. */
static struct elf_file *by_link(struct elf_file *f, const char *path, size_t root_len)
{
	const struct elf_section *s = elf_section_named(f, ".gnu_debuglink");
	struct cursor c = elf_section_cursor(f, s);
	const char *name = cursor_string(&c), *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path) : 1;
	const char *dir = slash ? path : ".";
	struct elf_file *d;
	u32 crc;

	cursor_align(&c, 4);
	crc = cursor_u32(&c);
	if (c.failed || !*name || strchr(name, '/'))
		return NULL;
	d = check_link(f, open_candidate(f, xasprintf("%.*s/%s", dir_len, dir, name)), crc);
	if (!d)
		d = check_link(
			f, open_candidate(f, xasprintf("%.*s/.debug/%s", dir_len, dir, name)), crc);
	if (!d && slash && *dir == '/')
		d = check_link(
			f,
			open_candidate(f,
				       xasprintf("%.*s/usr/lib/debug%.*s/%s", (int)root_len, path,
						 dir_len - (int)root_len, dir + root_len, name)),
			crc);
	return d;
}

void elf_file_set_debug_path(struct elf_file *f, const char *path)
{
	f->debug_path = path;
}

void elf_file_set_kernel(struct elf_file *f)
{
	f->is_kernel = true;
}

/* Takes the candidate if the build-ids agree. */
static struct elf_file *check_id(struct elf_file *f, struct elf_file *d)
{
	const char *id = elf_file_build_id(f), *other = d ? elf_file_build_id(d) : NULL;

	if (id && other && str_eq(id, other))
		return d;
	elf_file_close(d);
	return NULL;
}

/* DIR/.build-id/xx/yyyy.debug, DIR/NAME.debug, DIR/LINK. */
static struct elf_file *in_folder(struct elf_file *f, const char *dir)
{
	const struct elf_section *s = elf_section_named(f, ".gnu_debuglink");
	struct cursor c = elf_section_cursor(f, s);
	const char *id = elf_file_build_id(f), *link = cursor_string(&c);
	struct elf_file *d = NULL;

	if (id && strlen(id) > 2)
		d = check_id(f, open_candidate(f, xasprintf("%s/.build-id/%.2s/%s.debug", dir, id,
							    id + 2)));
	if (!d)
		d = check_id(f, open_candidate(
					f, xasprintf("%s/%s.debug", dir, path_base_name(f->path))));
	if (!d && !c.failed && *link && !strchr(link, '/'))
		d = check_id(f, open_candidate(f, xasprintf("%s/%s", dir, link)));
	return d;
}

static struct elf_file *by_debug_path(struct elf_file *f)
{
	const char *slash = strrchr(f->path, '/');
	struct elf_file *d = NULL;

	for (const char *p = f->debug_path ? f->debug_path : ""; *p && !d;) {
		const int n = (int)strcspn(p, ":");
		char *dir = xasprintf("%.*s", n, p);

		if (n)
			d = in_folder(f, dir);
		free(dir);
		if (n && !d && *p != '/' && slash) {
			dir = xasprintf("%.*s/%.*s", (int)(slash - f->path), f->path, n, p);
			d = in_folder(f, dir);
			free(dir);
		}
		p += n + (p[n] == ':');
	}
	return d;
}

/* Fedora's, Ubuntu's, OpenEmbedded's; and Ubuntu's where /lib is a link to /usr/lib. */
static struct elf_file *by_program_path(struct elf_file *f, const char *path, size_t root_len)
{
	const char *const below = path + root_len, *const slash = strrchr(path, '/');
	const int root = (int)root_len;
	struct elf_file *d;

	if (*path != '/')
		return NULL;
	d = check_id(f,
		     open_candidate(f, xasprintf("%.*s/usr/lib/debug%s.debug", root, path, below)));
	if (!d)
		d = check_id(
			f, open_candidate(f, xasprintf("%.*s/usr/lib/debug%s", root, path, below)));
	if (!d && str_starts(below, "/usr/lib"))
		d = check_id(f, open_candidate(f, xasprintf("%.*s/usr/lib/debug%s", root, path,
							    below + strlen("/usr"))));
	if (!d)
		d = check_id(f, open_candidate(f, xasprintf("%.*s/.debug%s", (int)(slash - path),
							    path, slash)));
	return d;
}

char *debuginfod_folder(u32 i)
{
	static const struct {
		const char *variable, *below;
	} rows[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
		{"HOME", "/.debuginfod_client_cache"},
	};
	const char *base;

	if (i >= ARRAY_SIZE(rows))
		return NULL;
	base = getenv(rows[i].variable);
	return base && *base == '/' ? xasprintf("%s%s", base, rows[i].below) : xstrdup("");
}

/* FOLDER/BUILDID/debuginfo */
static struct elf_file *in_debuginfod_cache(struct elf_file *f)
{
	const char *id = elf_file_build_id(f);
	struct elf_file *d = NULL;
	char *folder;

	for (u32 i = 0; id && !d && (folder = debuginfod_folder(i)); i++) {
		if (*folder)
			d = check_id(f,
				     open_candidate(f, xasprintf("%s/%s/debuginfo", folder, id)));
		free(folder);
	}
	return d;
}

struct elf_file *elf_debug_file(struct elf_file *f)
{
	char real[PATH_MAX];
	size_t root_len;

	if (f->debug_searched)
		return f->debug;
	f->debug_searched = true;
	f->debug = by_debug_path(f);
	if (f->debug)
		return f->debug;
	root_len = root_length(f->path);
	f->debug = by_build_id(f, f->path, root_len);
	if (!f->debug && root_len)
		f->debug = by_build_id(f, "", 0);
	if (!f->debug)
		f->debug = by_link(f, f->path, root_len);
	/* "/lib" may be a link to "/usr/lib", and debug files lie under the real name. */
	if (!f->debug && !root_len && realpath(f->path, real) && !str_eq(real, f->path))
		f->debug = by_link(f, real, 0);
	if (!f->debug)
		f->debug = by_program_path(f, f->path, root_len);
	if (!f->debug)
		f->debug = in_debuginfod_cache(f);
	return f->debug;
}

/*
 * .gnu_debugaltlink: a path with its NUL, absolute or from the file's own directory, and a
 * build-id.
 */
struct elf_file *elf_shared_debug_file(struct elf_file *f)
{
	struct cursor c = elf_section_cursor(f, elf_section_named(f, ".gnu_debugaltlink"));
	const char *name = cursor_string(&c), *slash = strrchr(f->path, '/'), *other;
	const size_t root_len = root_length(f->path);
	char id[2 * 64 + 1] = "";
	struct elf_file *d;

	if (!name || !*name || c.len - c.pos < 3 || c.len - c.pos > 64)
		return NULL;
	for (u32 i = 0; c.pos < c.len; i += 2)
		sprintf(id + i, "%02x", cursor_u8(&c));
	d = open_candidate(f, *name == '/'
				      ? xasprintf("%.*s%s", (int)root_len, f->path, name)
				      : xasprintf("%.*s%s", slash ? (int)(slash - f->path) + 1 : 0,
						  f->path, name));
	if (!d)
		d = open_candidate(f, xasprintf("%.*s/usr/lib/debug/.build-id/%.2s/%s.debug",
						(int)root_len, f->path, id, id + 2));
	other = d ? elf_file_build_id(d) : NULL;
	if (other && str_eq(other, id))
		return d;
	elf_file_close(d);
	return NULL;
}

struct elf_file *elf_mini_file(struct elf_file *f)
{
	const struct elf_section *s = elf_section_named(f, ".gnu_debugdata");
	size_t size, in = 0, out = 0;
	uint64_t memory = LZMA_MEMORY;
	u8 *data = NULL;
	lzma_ret err = LZMA_BUF_ERROR;
	const u8 *packed;

	if (f->mini || f->is_mini)
		return f->mini;
	packed = elf_section_bytes(f, s);
	if (!packed || !s->size)
		return NULL;
	for (size = MAX(s->size * 8, (u64)4096); size <= MINI_MAX && err == LZMA_BUF_ERROR;
	     size *= 2) {
		free(data);
		data = xmalloc(size);
		in = out = 0;
		err = lzma_stream_buffer_decode(&memory, 0, NULL, packed, &in, s->size, data, &out,
						size);
	}
	if (err != LZMA_OK) {
		free(data);
		return NULL;
	}
	if (elf_file_open_buffer(data, out, f->path, &f->mini) < 0)
		return NULL;
	f->mini->is_mini = true;
	return f->mini;
}
