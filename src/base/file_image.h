/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of somebody else's, in memory as a private copy that is read when a part of it is first
 * asked for. Others may cut the file short or write over it meanwhile: what was read stays as it
 * is, and what was not is refused. (A mapping would end us with SIGBUS, and would change under a
 * parser that has checked it.)
 */
#ifndef PANTRACE_BASE_FILE_IMAGE_H
#define PANTRACE_BASE_FILE_IMAGE_H

#include <time.h>

#include "base/base.h"

struct file_image {
	u8 *data; /* page-aligned; zeros where nothing was read */
	size_t len;
	u64 base; /* where it begins in the file: a part of it may be the image */
	int fd; /* its own; -1: `data` was given, and all of it is there */
	u64 *blocks; /* a bit for each block that was read */
	/* file_image_lend(): */
	struct file_image *next; /* of those that have lent something */
	bool has_lent;
	u64 lent_at, lent_run; /* the last block that was read on a touch, and how many with it */
	u32 touches;
	u64 bytes_read;
	u64 file_size;
	struct timespec modified;
	/*
	 * the first one: -ESTALE (the file has changed), -EFBIG, -ENOMEM, -EIO, ...; nothing more
	 * is read then
	 */
	int error;
};

/* The descriptor stays the caller's. 0 or -errno; -EFBIG: larger than anything that is believed. */
int file_image_open(struct file_image *i, int fd);
/* Of bytes [base, base + len) of the file, which must be there. */
int file_image_open_part(struct file_image *i, int fd, u64 base, u64 len);
/* Takes over a malloc'ed buffer. */
void file_image_of(struct file_image *i, void *data, size_t len);
void file_image_close(struct file_image *i); /* zeros are fine */
static inline bool file_image_has(const struct file_image *i, u64 offset, u64 n)
{
	return offset <= i->len && n <= i->len - offset;
}
/* n bytes in place, valid until the end; NULL if they are not all there (then perhaps `error`). */
const void *file_image_bytes(struct file_image *i, u64 offset, u64 n);
/*
 * n bytes in place, which are read when they are first touched, for readers that ask nobody before
 * they look (libdw). What cannot be read then reads as zeros, and `error` says so: to be asked when
 * the reader is done. The image must stay at its place until it is closed. NULL: outside of it.
 * Touches raise SIGSEGV, which is caught for these bytes alone. System calls do not touch: what is
 * handed to one must have been looked at. One thread at a time: another one's touch of the same
 * page would be taken for a wild access.
 *
 * Why not simply read all of it: libdw wants sections as one piece of memory each, and follows
 * offsets to anywhere in them, so no part can be chosen before. With file_image_bytes() here, a
 * question about Debian's vmlinux of 6.1 (590 MB) that the index answers takes 0.17 to 0.25 s and
 * 226 to 233 MB; with this 0.02 to 0.09 s and 19 to 39 MB (without an index 0.66 to 0.91 s and 239
 * to 414 MB; 0.67 to 0.83 s and 200 to 242 MB). A mapping of the file would do it, but may be cut
 * short, and changed under libdw, by whose file it is; a copy in a memfd is read as a whole, too.
 */
const void *file_image_lend(struct file_image *i, u64 offset, u64 n);
/*
 * Gives back the memory of what lies wholly within; bytes that were given out from there must not
 * be used any more.
 */
void file_image_drop(struct file_image *i, u64 offset, u64 n);

#endif
