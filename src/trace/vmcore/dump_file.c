/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a dump. Flattened, it is a stream of what would be written where (makedumpfile -F):
 *
 *	"makedumpfile", s64 type 1, s64 version 1, up to 4096 bytes
 *	{s64 at, s64 size, bytes}*, the last one with at = -1; numbers are big endian
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/vmcore/dump_internal.h"

#define FLAT_MAGIC	"makedumpfile"
#define FLAT_HEAD	4096u
#define FLAT_CHUNKS_MAX (1u << 24)

static int by_place(const void *a, const void *b)
{
	const struct dump_chunk *const x = a, *const y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Of several chunks at one place the last one counts, as in the file that they describe. */
static int put_in_order(struct dump_file *f)
{
	size_t n = 0;

	if (f->chunks.len)
		qsort(f->chunks.items, f->chunks.len, sizeof(*f->chunks.items), by_place);
	for (size_t i = 0; i < f->chunks.len; i++) {
		const struct dump_chunk c = f->chunks.items[i];
		struct dump_chunk *const last = n ? &f->chunks.items[n - 1] : NULL;

		if (last && last->at == c.at && last->size == c.size)
			n--;
		else if (last && last->size > c.at - last->at)
			return -EINVAL;
		f->chunks.items[n++] = c;
		f->size = c.at + c.size;
	}
	f->chunks.len = n;
	return 0;
}

static int read_chunks(struct dump_file *f, u64 len)
{
	u64 at = FLAT_HEAD;

	/* empty chunks count, too: a sparse file may have any number of them */
	for (u32 n = 0; n < FLAT_CHUNKS_MAX && len > at && len - at >= 16; n++) {
		struct dump_chunk c;
		u64 head[2];
		const int err = read_all_at(f->fd, head, sizeof(head), at);

		if (err)
			return err;
		c = (struct dump_chunk){be64toh(head[0]), be64toh(head[1]), at + sizeof(head)};
		if (c.at > INT64_MAX)
			return put_in_order(f);
		if (c.size > len - c.from || c.at > INT64_MAX - c.size)
			return -EINVAL;
		if (c.size)
			vector_push(&f->chunks, c);
		at = c.from + c.size;
	}
	return -EINVAL; /* cut off, or too many */
}

int dump_file_open(struct dump_file *f, const char *path)
{
	char magic[sizeof(FLAT_MAGIC)];
	struct stat st;
	int err = 0;

	*f = (struct dump_file){.fd = foreign_open(path, &st)};
	if (f->fd < 0)
		return f->fd;
	f->size = (u64)st.st_size;
	if (f->size < FLAT_HEAD) /* less than the head of any dump */
		err = -EMEDIUMTYPE;
	else
		err = read_all_at(f->fd, magic, sizeof(magic), 0);
	f->is_flat = !err && !memcmp(magic, FLAT_MAGIC, sizeof(magic));
	if (f->is_flat)
		err = read_chunks(f, f->size);
	if (err)
		dump_file_close(f);
	return err;
}

void dump_file_close(struct dump_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	vector_free(&f->chunks);
	f->fd = -1;
}

/* The number of chunks that begin at or before this place. */
static size_t chunks_before(const struct dump_file *f, u64 at)
{
	size_t low = 0, high = f->chunks.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->chunks.items[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int read_flat(const struct dump_file *f, u64 at, u8 *to, size_t n)
{
	size_t i = chunks_before(f, at);

	memset(to, 0, n);
	for (i -= i > 0; i < f->chunks.len && f->chunks.items[i].at < at + n; i++) {
		const struct dump_chunk *const c = &f->chunks.items[i];
		const u64 from = MAX(at, c->at), end = MIN(at + n, c->at + c->size);
		const int err = from < end ? read_all_at(f->fd, to + (from - at), end - from,
							 c->from + (from - c->at))
					   : 0;

		if (err)
			return err;
	}
	return 0;
}

int dump_file_read(const struct dump_file *f, u64 at, void *to, size_t n)
{
	if (at > f->size || n > f->size - at)
		return -EINVAL;
	return f->is_flat ? read_flat(f, at, to, n) : read_all_at(f->fd, to, n, at);
}

int dump_file_copy(const struct dump_file *f, u64 at, u64 n, u64 most, char **ret)
{
	int err;

	if (n > most)
		return -EFBIG;
	if (at > f->size || n > f->size - at)
		return -EINVAL;
	*ret = xmalloc(n + 1);
	(*ret)[n] = '\0';
	err = dump_file_read(f, at, *ret, n);
	if (err)
		free(*ret);
	return err;
}
