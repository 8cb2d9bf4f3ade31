/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/perf_rings.h"

#include <unistd.h>

#include "kernel/bpf/perf_ring.h"
#include "kernel/kernel.h"

struct cpu_ring {
	struct perf_ring ring;
	u8 *copy; /* of a record that wraps around */
	u32 copy_size;
};

static int open_cpu(struct perf_rings *r, const struct perf_event_attr *attr, u32 cpu, u32 pages)
{
	struct perf_event_attr copy = *attr;
	struct cpu_ring ring = {0};
	const int fd = perf_event_open_fd(&copy, -1, (int)cpu, -1, 0);
	int err;

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd; /* went offline meanwhile */
	vector_push(&r->fds, fd);
	vector_push(&r->cpus, cpu);
	err = perf_ring_map(&ring.ring, fd, pages);
	if (!err)
		vector_push(&r->rings, ring);
	return err;
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
		perf_ring_unmap(&r->rings.items[i].ring);
		free(r->rings.items[i].copy);
	}
	for (size_t i = 0; i < r->fds.len; i++)
		close(r->fds.items[i]);
	vector_free(&r->rings);
	vector_free(&r->fds);
	vector_free(&r->cpus);
	*r = (struct perf_rings){0};
}

/* The oldest record of a ring, in one piece; NULL = none. */
static const struct perf_event_header *oldest(struct cpu_ring *r)
{
	struct iovec pieces[2];
	const size_t n = perf_ring_pieces(&r->ring, pieces);
	const struct perf_event_header *h = pieces[0].iov_base;

	/* Records are 8-byte aligned: a header never wraps. */
	if (!n || h->size < sizeof(*h))
		return NULL;
	if (h->size <= pieces[0].iov_len)
		return h;
	if (r->copy_size < h->size) {
		r->copy = xrealloc(r->copy, h->size);
		r->copy_size = h->size;
	}
	memcpy(r->copy, h, pieces[0].iov_len);
	memcpy(r->copy + pieces[0].iov_len, r->ring.data, h->size - pieces[0].iov_len);
	return (const struct perf_event_header *)r->copy;
}

const struct perf_event_header *perf_rings_next(struct perf_rings *r)
{
	if (r->record) {
		perf_ring_consume(&r->rings.items[r->at].ring, r->record->size);
		r->record = NULL;
	}
	for (; r->at < r->rings.len && !r->record; r->at += !r->record)
		r->record = oldest(&r->rings.items[r->at]);
	if (!r->record)
		r->at = 0;
	return r->record;
}
