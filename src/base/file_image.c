/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BLOCK	 ((u64)16 << 10)
#define MAX_LEN	 ((u64)64 << 30)
#define MAX_READ ((u64)4 << 30) /* of one file: a sparse one must not fill the memory */

/* Each image keeps a descriptor: many of them need more than a shell allows. */
static int duplicate(int fd)
{
	int copy;

	do
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	while (copy < 0 && errno == EMFILE && file_raise_limit());
	return copy < 0 ? -errno : copy;
}

int file_image_open(struct file_image *i, int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : file_image_open_part(i, fd, 0, (u64)st.st_size);
}

int file_image_open_part(struct file_image *i, int fd, u64 base, u64 len)
{
	struct stat st;
	void *data;

	*i = (struct file_image){.fd = -1};
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !len || base > (u64)st.st_size || len > (u64)st.st_size - base)
		return -EINVAL;
	if (len > MAX_LEN)
		return -EFBIG;
	fd = duplicate(fd);
	if (fd < 0)
		return fd;
	/* Not writable yet, so that it counts as memory only where it is read into. */
	data = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED) {
		const int err = -errno;

		close(fd);
		return err;
	}
	*i = (struct file_image){.data = data,
				 .len = len,
				 .base = base,
				 .file_size = (u64)st.st_size,
				 .fd = fd,
				 .modified = st.st_mtim};
	i->blocks = xzalloc((i->len / BLOCK / 64 + 1) * sizeof(*i->blocks));
	return 0;
}

void file_image_of(struct file_image *i, void *data, size_t len)
{
	*i = (struct file_image){.data = data, .len = len, .fd = -1};
}

void file_image_close(struct file_image *i)
{
	if (i->blocks) {
		munmap(i->data, i->len);
		close(i->fd);
		free(i->blocks);
	} else {
		free(i->data);
	}
	*i = (struct file_image){.fd = -1};
}

static bool is_read(const struct file_image *i, u64 block)
{
	return i->blocks[block / 64] >> block % 64 & 1;
}

static int read_all(struct file_image *i, u64 from, u64 to)
{
	while (from < to) {
		const ssize_t n = pread(i->fd, i->data + from, to - from, (off_t)(i->base + from));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESTALE;
		from += (u64)n;
	}
	return 0;
}

/* Blocks [first, end), none of which was read. */
static int read_blocks(struct file_image *i, u64 first, u64 end)
{
	const u64 from = first * BLOCK, to = MIN(end * BLOCK, (u64)i->len);
	struct stat st;
	int err;

	if (to - from > MAX_READ - MIN(i->bytes_read, MAX_READ))
		return -EFBIG;
	if (mprotect(i->data + from, to - from, PROT_READ | PROT_WRITE))
		return -errno;
	err = read_all(i, from, to);
	if (err)
		return err;
	/* Parts of two different files would be worse than none. */
	if (fstat(i->fd, &st))
		return -errno;
	if ((u64)st.st_size != i->file_size || st.st_mtim.tv_sec != i->modified.tv_sec ||
	    st.st_mtim.tv_nsec != i->modified.tv_nsec)
		return -ESTALE;
	for (u64 block = first; block < end; block++)
		i->blocks[block / 64] |= (u64)1 << block % 64;
	i->bytes_read += to - from;
	return 0;
}

const void *file_image_bytes(struct file_image *i, u64 offset, u64 n)
{
	u64 block, end, run;

	if (!file_image_has(i, offset, n))
		return NULL;
	if (!i->blocks || !n)
		return i->data + offset;
	end = (offset + n - 1) / BLOCK + 1;
	for (block = offset / BLOCK; block < end; block = run) {
		run = block + 1;
		if (is_read(i, block))
			continue;
		while (run < end && !is_read(i, run))
			run++;
		if (!i->error)
			i->error = read_blocks(i, block, run);
		if (i->error)
			return NULL;
	}
	return i->data + offset;
}

void file_image_drop(struct file_image *i, u64 offset, u64 n)
{
	const u64 first = (offset + BLOCK - 1) / BLOCK,
		  end = file_image_has(i, offset, n) ? (offset + n) / BLOCK : 0;

	if (!i->blocks || first >= end)
		return;
	for (u64 block = first; block < end; block++) {
		if (!is_read(i, block))
			continue;
		i->blocks[block / 64] &= ~((u64)1 << block % 64);
		i->bytes_read -= BLOCK;
	}
	madvise(i->data + first * BLOCK, (end - first) * BLOCK, MADV_DONTNEED);
}
