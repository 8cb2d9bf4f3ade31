/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/perf_ring.h"

#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *r, int fd, u32 pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const u64 size = (u64)pages * page;
	void *p = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*r = (struct perf_ring){p, (u8 *)p + page, size};
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)(r->data - (u8 *)r->page) + r->size);
	*r = (struct perf_ring){0};
}

size_t perf_ring_pieces(const struct perf_ring *r, struct iovec ret[2])
{
	/* Acquire: what lies before the head is written. */
	const u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const u64 at = r->page->data_tail & (r->size - 1), n = head - r->page->data_tail;
	const u64 first = MIN(n, r->size - at);

	ret[0] = (struct iovec){r->data + at, first};
	ret[1] = (struct iovec){r->data, n - first};
	return n;
}

void perf_ring_consume(struct perf_ring *r, size_t n)
{
	/* Release: what was there has been read. */
	__atomic_store_n(&r->page->data_tail, r->page->data_tail + n, __ATOMIC_RELEASE);
}
