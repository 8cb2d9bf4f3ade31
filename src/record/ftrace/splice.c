/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves pages from the ring to the file by splice(2), through a pipe, without copying them into
 * this process. splice moves only full pages; partly filled ones are read at the end.
 */
#include <fcntl.h>
#include <unistd.h>

#include "record/ftrace/pages.h"

/* ---- pages that cannot be written ---- */

static bool read_exactly(int fd, u8 *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got = read(fd, to + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* Counts events of the `left` bytes in the pipe; `torn` bytes of the first page are written. */
static void count_left(struct cpu_pages *c, u64 at, size_t torn, size_t left)
{
	const size_t size = c->all->layout.size;

	if (torn && dat_writer_read(c->all->writer, at, c->pages, torn))
		memset(c->pages, 0, torn); /* its number of events is unknown */
	while (left) {
		const size_t n = MIN(size - torn, left);

		if (!read_exactly(c->pipe[0], c->pages + torn, n))
			return;
		pages_count(c, c->pages, torn + n);
		left -= n;
		torn = 0;
	}
}

/* ---- moving ---- */

/*
 * Moves the pipe's contents to the file. Returns 0 or -errno; after an error the pipe is empty and
 * its events are counted as unwritten.
 */
static int write_out(struct cpu_pages *c, u64 at, size_t n)
{
	const int to = dat_writer_fd(c->all->writer);
	const size_t size = c->all->layout.size;
	size_t done = 0, torn;
	off_t offset = (off_t)at;
	int err = 0;

	while (done < n && !err) {
		const ssize_t m = splice(c->pipe[0], NULL, to, &offset, n - done, SPLICE_F_MOVE);

		if (m > 0)
			done += (size_t)m;
		else if (!m || errno != EINTR)
			err = m ? -errno : -EIO;
	}
	torn = done % size;
	if (done - torn)
		dat_writer_grown(c->all->writer, c->index, done - torn);
	if (err)
		count_left(c, at + done - torn, torn, n - done);
	c->error = err;
	return err;
}

/*
 * Moves as many full pages as fit into the pipe. Returns 1 if some were moved, 0 if there were
 * none, -errno of a write.
 */
static int move_some(struct cpu_pages *c)
{
	const size_t size = c->all->layout.size;
	u64 room;
	const u64 at = dat_writer_place(c->all->writer, c->index, &room);
	size_t want = (size_t)MIN((u64)c->pipe_bytes, room);
	ssize_t n;

	want -= want % size;
	if (!want)
		return c->error = -EFBIG;
	do
		n = splice(c->fd, NULL, c->pipe[1], NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n <= 0 ? 0 : write_out(c, at, (size_t)n) ?: 1;
}

/* Moves all full pages of the ring. Returns the same. */
static int move_full(struct cpu_pages *c)
{
	int moved = 0, rc;

	do {
		pthread_mutex_lock(&c->moves);
		rc = move_some(c);
		pthread_mutex_unlock(&c->moves);
		moved |= rc > 0;
	} while (rc > 0);
	return rc < 0 ? rc : moved;
}

/* Reads the partly filled page, and further ones if the ring is being written. most: bytes. */
static void read_rest(struct cpu_pages *c, u64 most)
{
	const size_t size = c->all->layout.size;
	const int to = dat_writer_fd(c->all->writer);
	u64 room;

	for (u64 done = 0; done < most; done += size) {
		const u64 at = dat_writer_place(c->all->writer, c->index, &room);
		const ssize_t n = read(c->fd, c->pages, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		memset(c->pages + n, 0, size - (size_t)n);
		if (room >= size && pwrite(to, c->pages, size, (off_t)at) == (ssize_t)size) {
			dat_writer_grown(c->all->writer, c->index, size);
			continue;
		}
		c->error = room >= size ? -ENOSPC : -EFBIG;
		pages_count(c, c->pages, (size_t)n);
	}
}

static void move_all(struct cpu_pages *c, u64 most)
{
	/* disk full: the kernel counts what stays in the ring */
	if (move_full(c) >= 0)
		read_rest(c, most);
}

const struct page_mover pages_by_splice = {true, move_full, move_all};
