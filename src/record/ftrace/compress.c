/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads pages and compresses them at once, while they are in the cache: half the CPU time of
 * splice(2) and compressing the file at the end.
 */
#include <unistd.h>

#include "record/ftrace/pages.h"

/* Returns how many pages were read. */
static size_t read_pages(struct cpu_pages *c, size_t most)
{
	const size_t size = c->all->layout.size;
	size_t n = 0;

	while (n < most) {
		u8 *const page = c->pages + n * size;
		const ssize_t got = read(c->fd, page, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		memset(page + got, 0, size - (size_t)got);
		n++;
	}
	return n;
}

/* Returns how many pages were moved, or -errno of a write. */
static ssize_t move_some(struct cpu_pages *c, size_t most)
{
	const size_t size = c->all->layout.size;
	size_t n;
	int err = 0;

	pthread_mutex_lock(&c->moves);
	n = read_pages(c, most);
	if (n)
		c->error = err = dat_writer_add(c->all->writer, c->index, c->pages, n * size);
	for (size_t i = 0; i < n && err; i++)
		pages_count(c, c->pages + i * size, size);
	pthread_mutex_unlock(&c->moves);
	return err ?: (ssize_t)n;
}

static int move_up_to(struct cpu_pages *c, u64 most)
{
	u64 moved = 0;
	ssize_t n;

	do {
		const u64 chunk = MIN(most - moved, (u64)DAT_CHUNK_PAGES);

		n = chunk ? move_some(c, chunk) : 0;
		if (n < 0)
			return (int)n;
		moved += (u64)n;
	} while (n);
	return moved != 0;
}

/* Half the ring, as much as wakes the recorder. More would be pages with only a few events. */
static int move(struct cpu_pages *c)
{
	return move_up_to(c, MAX(c->ring_pages / 2, 1u));
}

static void move_all(struct cpu_pages *c, u64 most)
{
	move_up_to(c, MAX(most / c->all->layout.size, c->ring_pages));
}

const struct page_mover pages_compressed = {false, move, move_all};
