/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/kcore.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel/vmcoreinfo.h"

#define PAGE	     ((size_t)4096)
#define MAX_SEGMENTS 512
#define MAX_NOTES    ((size_t)1 << 20)

static void read_info(struct kcore *c)
{
	for (u32 i = 0; i < c->nsegments && !c->info; i++) {
		const Elf64_Phdr *s = &c->segments[i];
		ssize_t len;
		u8 *notes;

		if (s->p_type != PT_NOTE || s->p_filesz > MAX_NOTES)
			continue;
		notes = xmalloc(s->p_filesz + 1);
		len = pread(c->fd, notes, s->p_filesz, (off_t)s->p_offset);
		if (len > 0)
			c->info = vmcoreinfo_in_notes(notes, (size_t)len);
		free(notes);
	}
}

static int open_file(struct kcore *c, const char *path)
{
	Elf64_Ehdr header;
	size_t size;

	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	if (pread(c->fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > MAX_SEGMENTS)
		return -EINVAL;
	size = header.e_phnum * sizeof(Elf64_Phdr);
	c->segments = xmalloc(size + 1);
	if (pread(c->fd, c->segments, size, (off_t)header.e_phoff) != (ssize_t)size)
		return -EIO;
	c->nsegments = header.e_phnum;
	read_info(c);
	return 0;
}

int kcore_open_memory(struct kcore *c)
{
	int err;

	*c = (struct kcore){.fd = -1, .copy = xzalloc(sizeof(*c->copy))};
	err = core_copy_open(c->copy);
	if (err)
		return err;
	c->info = vmcoreinfo_in_memory(c->copy);
	c->slot = core_copy_take(c->copy);
	return c->info && c->slot ? 0 : -EOPNOTSUPP;
}

int kcore_open(struct kcore *c, const char *path)
{
	*c = (struct kcore){.fd = -1};
	if (path)
		return open_file(c, path);
	if (!open_file(c, "/proc/kcore")) {
		c->copy = xzalloc(sizeof(*c->copy));
		return 0;
	}
	/* Kernels are built without the file, and containers hide it behind an empty one. */
	kcore_close(c);
	return kcore_open_memory(c);
}

void kcore_close(struct kcore *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->copy)
		core_copy_close(c->copy);
	free(c->copy);
	free(c->segments);
	free(c->info);
	*c = (struct kcore){.fd = -1};
}

void kcore_expect_much(const struct kcore *c)
{
	if (c->copy && !c->copy->tried)
		core_copy_open(c->copy);
}

static size_t read_segment(const struct kcore *c, const Elf64_Phdr *s, u64 address, u8 *buffer,
			   size_t len)
{
	const ssize_t n = pread(c->fd, buffer, len, (off_t)(s->p_offset + (address - s->p_vaddr)));

	return n > 0 ? (size_t)n : 0;
}

/* From one segment that has all of it, as nearly always. */
static bool read_whole(const struct kcore *c, u64 address, u8 *buffer, size_t len)
{
	for (u32 i = 0; i < c->nsegments; i++) {
		const Elf64_Phdr *s = &c->segments[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_memsz &&
		    len <= s->p_memsz - (address - s->p_vaddr) &&
		    read_segment(c, s, address, buffer, len) == len)
			return true;
	}
	return false;
}

bool kcore_read_all(const struct kcore *c, u64 address, void *buffer, size_t len)
{
	return kcore_read(c, address, buffer, len) == len;
}

/* Where there is no file: a page at a time, so that it ends where memory does. */
static size_t read_memory(const struct kcore *c, u64 address, u8 *buffer, size_t len)
{
	size_t known = 0, n;

	for (size_t done = 0; done < len; done += n) {
		n = MIN(len - done, PAGE - (address + done) % PAGE);
		if (!core_copy_fill(c->copy, c->slot, address + done, n)) {
			memset(buffer + done, 0, n);
			continue;
		}
		memcpy(buffer + done, c->slot, n);
		known = done + n;
	}
	return known;
}

size_t kcore_read(const struct kcore *c, u64 address, void *buffer, size_t len)
{
	size_t known = 0;

	if (c->fd < 0)
		return read_memory(c, address, buffer, len);
	if (read_whole(c, address, buffer, len))
		return len;
	memset(buffer, 0, len);
	for (u32 i = 0; i < c->nsegments && known < len; i++) {
		const Elf64_Phdr *s = &c->segments[i];
		const u64 from = MAX(address, (u64)s->p_vaddr);
		const u64 to = MIN(address + len, (u64)(s->p_vaddr + s->p_memsz));
		size_t got;

		if (s->p_type != PT_LOAD || from >= to)
			continue;
		got = read_segment(c, s, from, (u8 *)buffer + (from - address),
				   (size_t)(to - from));
		if (got)
			known = MAX(known, (size_t)(from - address) + got);
	}
	return known;
}

/* Places that lie closer together are read at once. */
#define GAP   ((u64)1 << 10)
#define PIECE ((size_t)32 << 10)

static u32 count_together(const u64 *addresses, u32 most)
{
	u32 n = 1;

	while (n < most && addresses[n] - addresses[n - 1] <= GAP &&
	       addresses[n] + CORE_SPOT - *addresses <= PIECE)
		n++;
	return n;
}

void kcore_read_spots(const struct kcore *c, const u64 *addresses, u32 n, u8 *buffer)
{
	const u8 *bytes = c->copy ? core_copy_spots(c->copy, addresses, n) : NULL;
	u8 *piece;
	u32 together;

	if (bytes) {
		memcpy(buffer, bytes, (size_t)n * CORE_SPOT);
		return;
	}
	piece = xmalloc(PIECE);
	for (u32 i = 0; i < n; i += together) {
		size_t len, known;

		together = count_together(addresses + i, n - i);
		len = addresses[i + together - 1] + CORE_SPOT - addresses[i];
		known = kcore_read(c, addresses[i], piece, len);
		memset(piece + known, 0, len - known);
		for (u32 k = i; k < i + together; k++)
			memcpy(buffer + (size_t)k * CORE_SPOT,
			       piece + (addresses[k] - addresses[i]), CORE_SPOT);
	}
	free(piece);
}

u64 kcore_symbol(const struct kcore *c, const char *name)
{
	return vmcoreinfo_symbol(c->info, name);
}
