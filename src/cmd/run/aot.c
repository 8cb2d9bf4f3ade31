/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: the binary as it is │ magic │ text of the script, NUL │ { name, NUL, text, NUL } of
 * each file that it reads │ struct trailer. What is after the sections of an ELF file is nobody's.
 * The magic before the texts tells a program that was cut short from the plain binary.
 */
#include "cmd/run/aot.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"

#define MAX_PACKED ((u64)64 * LANG_MAX_SOURCE)

static const char magic[16] = "pantrace-script";

enum trailer_flags { MADE_COMPATIBLE = 1, MADE_UNSAFE = 2 };

struct trailer {
	u64 len; /* of the magic and all texts */
	u32 flags, nfiles;
	char magic[16];
};

/* The end of the binary without a script, and what follows it. */
static off_t find_end(int fd, struct trailer *t)
{
	const off_t size = lseek(fd, 0, SEEK_END);

	*t = (struct trailer){0};
	if (size < (off_t)sizeof(*t) ||
	    pread(fd, t, sizeof(*t), size - (off_t)sizeof(*t)) != sizeof(*t) ||
	    memcmp(t->magic, magic, sizeof(magic)) || t->len > MAX_PACKED ||
	    t->len + sizeof(*t) > (u64)size) {
		*t = (struct trailer){0};
		return size;
	}
	return size - (off_t)(sizeof(*t) + t->len);
}

/* Does something of ours follow the binary's sections, which end the file? */
static bool begins(int fd)
{
	char found[sizeof(magic)];
	Elf64_Ehdr e;
	off_t end;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG))
		return false;
	end = (off_t)(e.e_shoff + (u64)e.e_shnum * e.e_shentsize);
	return pread(fd, found, sizeof(found), end) == sizeof(found) &&
	       !memcmp(found, magic, sizeof(magic));
}

static int copy_binary(int from, int to)
{
	struct trailer t;
	off_t at = 0;
	const off_t end = find_end(from, &t);

	while (at < end) {
		const ssize_t n = sendfile(to, from, &at, (size_t)(end - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return end < 0 ? -errno : 0;
}

static int write_bytes(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		const ssize_t n = write(fd, p, len);

		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int aot_write(struct diag *d, const char *path, const struct aot *s)
{
	const u64 text_len = strlen(s->text) + 1;
	struct trailer t = {.len = sizeof(magic) + text_len,
			    .nfiles = s->nfiles,
			    .flags = (s->is_compatible ? MADE_COMPATIBLE : 0u) |
				     (s->unsafe ? MADE_UNSAFE : 0u)};
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err = -errno, fd = -1;

	memcpy(t.magic, magic, sizeof(magic));
	if (self >= 0) {
		fd = foreign_create(path, 0700);
		err = fd < 0 ? fd : copy_binary(self, fd);
	}
	if (!err)
		err = write_bytes(fd, magic, sizeof(magic));
	if (!err)
		err = write_bytes(fd, s->text, text_len);
	for (u32 i = 0; i < s->nfiles && !err; i++) {
		const size_t name = strlen(s->files[i].name) + 1,
			     text = strlen(s->files[i].text) + 1;

		t.len += name + text;
		err = write_bytes(fd, s->files[i].name, name);
		if (!err)
			err = write_bytes(fd, s->files[i].text, text);
	}
	if (!err)
		err = write_bytes(fd, &t, sizeof(t));
	if (err) {
		diag_error(d, NO_SPAN, "cannot write %s: %s", path, strerror(-err));
		if (fd >= 0)
			unlink(path);
	}
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
	return err;
}

/* The next string of the texts; NULL at their end. */
static const char *next_string(char **at, const char *end)
{
	char *s = *at, *nul = s < end ? memchr(s, '\0', (size_t)(end - s)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return s;
}

static bool unpack(struct aot *s, u64 len, u32 nfiles)
{
	const char *end = s->text + len;
	char *at = s->text;

	if (!next_string(&at, end) || nfiles > len)
		return false;
	s->files = nfiles ? xreallocarray(NULL, nfiles, sizeof(*s->files)) : NULL;
	for (; s->nfiles < nfiles; s->nfiles++) {
		struct script_file *f = &s->files[s->nfiles];

		f->name = next_string(&at, end);
		f->text = f->name ? next_string(&at, end) : NULL;
		if (!f->text)
			return false;
	}
	return true;
}

int aot_find(struct aot *ret)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct trailer t = {0};
	const off_t at = fd < 0 ? -1 : find_end(fd, &t);
	int found = 0;

	if (at > 0 && *t.magic && t.len > sizeof(magic)) {
		const u64 len = t.len - sizeof(magic);

		*ret = (struct aot){.text = xzalloc(len + 1),
				    .is_compatible = t.flags & MADE_COMPATIBLE,
				    .unsafe = t.flags & MADE_UNSAFE};
		found = pread(fd, ret->text, len, at + (off_t)sizeof(magic)) == (ssize_t)len &&
			unpack(ret, len, t.nfiles);
		if (!found) {
			free(ret->text);
			free(ret->files);
		}
	}
	if (!found && (*t.magic || (fd >= 0 && begins(fd))))
		found = -EBADMSG;
	if (fd >= 0)
		close(fd);
	return found;
}
