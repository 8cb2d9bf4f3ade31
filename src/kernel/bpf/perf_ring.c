/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/perf_ring.h"

#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *r, int fd, u32 pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	*r = (struct perf_ring){.size = (u64)pages * page};
	p = mmap(NULL, page + r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->page = p;
	r->data = (u8 *)p + page;
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)(r->data - (u8 *)r->page) + r->size);
	free(r->copy);
	*r = (struct perf_ring){0};
}

const struct perf_event_header *perf_ring_next(struct perf_ring *r)
{
	/* Acquire: what lies before the head is written. */
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = r->page->data_tail, at = tail & (r->size - 1);
	const struct perf_event_header *h = (const struct perf_event_header *)(r->data + at);

	/* Records are 8-byte aligned: a header never wraps. */
	if (tail == head || h->size < sizeof(*h))
		return NULL;
	if (at + h->size <= r->size)
		return h;
	if (r->copy_size < h->size) {
		r->copy = xrealloc(r->copy, h->size);
		r->copy_size = h->size;
	}
	memcpy(r->copy, r->data + at, r->size - at);
	memcpy(r->copy + (r->size - at), r->data, h->size - (r->size - at));
	return (const struct perf_event_header *)r->copy;
}

void perf_ring_done(struct perf_ring *r, const struct perf_event_header *h)
{
	/* Release: we have read the record; the kernel may overwrite it. */
	__atomic_store_n(&r->page->data_tail, r->page->data_tail + h->size, __ATOMIC_RELEASE);
}
