/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/perf_rings.h"

#include <sys/mman.h>
#include <unistd.h>

#include "kernel/kernel.h"

struct perf_ring {
	struct perf_event_mmap_page *page;
	u8 *data;
	u64 size;
	u8 *copy; /* of a record that wraps around */
	u32 copy_size;
};

static int open_cpu(struct perf_rings *r, const struct perf_event_attr *attr, u32 cpu, u32 pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr copy = *attr;
	struct perf_ring ring = {.size = (u64)pages * page};
	const int fd = perf_event_open_fd(&copy, -1, (int)cpu, -1, 0);
	void *p;

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd; /* went offline meanwhile */
	vector_push(&r->fds, fd);
	vector_push(&r->cpus, cpu);
	p = mmap(NULL, page + ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	ring.page = p;
	ring.data = (u8 *)p + page;
	vector_push(&r->rings, ring);
	return 0;
}

int perf_rings_open(struct perf_rings *r, struct kernel *k, const struct perf_event_attr *attr,
		    u32 pages)
{
	const u32 *cpus;
	const u32 n = kernel_online_cpus(k, &cpus);

	*r = (struct perf_rings){0};
	for (u32 i = 0; i < n; i++) {
		const int err = open_cpu(r, attr, cpus[i], pages);

		if (err < 0) {
			perf_rings_close(r);
			return err;
		}
	}
	return 0;
}

void perf_rings_close(struct perf_rings *r)
{
	for (size_t i = 0; i < r->rings.len; i++) {
		struct perf_ring *ring = &r->rings.items[i];

		munmap(ring->page, (size_t)(ring->data - (u8 *)ring->page) + ring->size);
		free(ring->copy);
	}
	for (size_t i = 0; i < r->fds.len; i++)
		close(r->fds.items[i]);
	vector_free(&r->rings);
	vector_free(&r->fds);
	vector_free(&r->cpus);
	*r = (struct perf_rings){0};
}

/* The oldest record of a ring, in one piece; NULL = none. */
static const struct perf_event_header *oldest(struct perf_ring *r)
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

const struct perf_event_header *perf_rings_next(struct perf_rings *r)
{
	if (r->record) {
		struct perf_event_mmap_page *page = r->rings.items[r->at].page;

		/* Release: the record has been read; the kernel may overwrite it. */
		__atomic_store_n(&page->data_tail, page->data_tail + r->record->size,
				 __ATOMIC_RELEASE);
		r->record = NULL;
	}
	for (; r->at < r->rings.len && !r->record; r->at += !r->record)
		r->record = oldest(&r->rings.items[r->at]);
	if (!r->record)
		r->at = 0;
	return r->record;
}
