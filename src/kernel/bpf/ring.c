/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ring.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/bpf/perf_ring.h"
#include "kernel/kernel.h"

struct ring {
	VECTOR(int) fds;
	/* BPF ring buffer (kernel/bpf/ringbuf.c): a consumer page, a producer page, the data mapped
	 * twice in a row. */
	unsigned long *consumer;
	const unsigned long *producer;
	const u8 *data;
	u64 size;
	u8 *copy; /* of a record that wraps around */
	u32 copy_size;
	u8 next_head[8]; /* the same of the record after it, as far as a handler may look */
	/* perf buffers */
	VECTOR(struct perf_ring) cpus;
	size_t page;
	u64 lost;
};

static struct ring *ring_new(void)
{
	struct ring *r = xzalloc(sizeof(*r));

	r->page = (size_t)sysconf(_SC_PAGESIZE);
	return r;
}

int ring_open_buffer(int map_fd, u32 size, struct ring **ret)
{
	struct ring *r = ring_new();
	void *p;
	int fd;

	p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	r->consumer = p;
	p = mmap(NULL, r->page + (size_t)size, PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (p == MAP_FAILED)
		goto fail;
	r->producer = p;
	r->data = (const u8 *)p + r->page;
	r->size = size;
	/* so that closing the ring never closes the map's own descriptor */
	fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	vector_push(&r->fds, fd);
	*ret = r;
	return 0;
fail:
	fd = -errno;
	ring_close(r);
	return fd;
}

static int open_cpu(struct ring *r, int map_fd, u32 cpu, u32 pages)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	struct perf_ring ring;
	union bpf_attr update = {0};
	int fd = perf_event_open_fd(&attr, -1, (int)cpu, -1, 0);
	u32 value = (u32)fd;
	int err;

	if (fd < 0)
		return fd;
	vector_push(&r->fds, fd);
	err = perf_ring_map(&ring, fd, pages);
	if (err < 0)
		return err;
	vector_push(&r->cpus, ring);
	update.map_fd = (u32)map_fd;
	update.key = (u64)(uintptr_t)&cpu;
	update.value = (u64)(uintptr_t)&value;
	err = sys_bpf(BPF_MAP_UPDATE_ELEM, &update, sizeof(update));
	if (err < 0)
		return err;
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

int ring_open_perf(int map_fd, const u32 *cpus, u32 ncpus, u32 pages, struct ring **ret)
{
	struct ring *r = ring_new();

	for (u32 i = 0; i < ncpus; i++) {
		int err = open_cpu(r, map_fd, cpus[i], pages);

		if (err == -ENODEV) /* went offline meanwhile */
			continue;
		if (err < 0) {
			ring_close(r);
			return err;
		}
	}
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap((void *)(uintptr_t)r->producer, r->page + (size_t)r->size);
	for (size_t i = 0; i < r->cpus.len; i++)
		perf_ring_unmap(&r->cpus.items[i]);
	for (size_t i = 0; i < r->fds.len; i++)
		close(r->fds.items[i]);
	free(r->copy);
	vector_free(&r->cpus);
	vector_free(&r->fds);
	free(r);
}

u32 ring_fds(const struct ring *r, const int **ret)
{
	*ret = r->fds.items;
	return (u32)r->fds.len;
}

bool ring_is_filling(const struct ring *r)
{
	return r && r->consumer &&
	       *(volatile const unsigned long *)r->producer - *r->consumer > r->size / 4;
}

u64 ring_size(const struct ring *r)
{
	return r->size;
}

u64 ring_produced(const struct ring *r)
{
	return r && r->producer ? __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) : 0;
}

u64 ring_position(const struct ring *r)
{
	return r && r->consumer ? *r->consumer : 0;
}

u64 ring_lost(const struct ring *r)
{
	return r->lost;
}

/* Length of the record at pos, or -1 if there is none yet. Header: u32 length | BUSY | DISCARD, u32
 * page offset. */
static int record_at(const struct ring *r, unsigned long pos, unsigned long end, u32 *ret_header)
{
	if (pos >= end)
		return -1;
	/* Acquire: the payload was written before the BUSY bit was cleared. */
	*ret_header =
		__atomic_load_n((const u32 *)(r->data + (pos & (r->size - 1))), __ATOMIC_ACQUIRE);
	if (*ret_header & BPF_RINGBUF_BUSY_BIT)
		return -1;
	return (int)(*ret_header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT));
}

/* Bytes of the ring from pos on, in one piece: in place, or copied to `to`. */
static const u8 *in_one_piece(const struct ring *r, unsigned long pos, u32 len, u8 *to)
{
	u64 at = pos & (r->size - 1), first = r->size - at;

	if (at + len <= r->size)
		return r->data + at;
	memcpy(to, r->data + at, first);
	memcpy(to + first, r->data, len - first);
	return to;
}

static const u8 *record_data(struct ring *r, unsigned long pos, u32 len)
{
	if (r->copy_size < len && ((pos + BPF_RINGBUF_HDR_SZ) & (r->size - 1)) + len > r->size) {
		r->copy = xrealloc(r->copy, len);
		r->copy_size = len;
	}
	return in_one_piece(r, pos + BPF_RINGBUF_HDR_SZ, len, r->copy);
}

static u64 consume_buffer(struct ring *r, ring_handler handler, void *arg)
{
	unsigned long pos = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE), end;
	bool go_on = true;
	u64 count = 0;
	u32 header;
	int len;

	/* Acquire: headers up to the producer position are written. */
	while (go_on && (end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE),
			 (len = record_at(r, pos, end, &header)) >= 0)) {
		unsigned long next = pos + ALIGN_UP((unsigned long)len + BPF_RINGBUF_HDR_SZ, 8);
		const u8 *next_data = NULL;
		u32 next_header;
		int next_len;

		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			next_len = record_at(r, next, end, &next_header);
			if (next_len >= (int)sizeof(r->next_head) &&
			    !(next_header & BPF_RINGBUF_DISCARD_BIT))
				next_data = in_one_piece(r, next + BPF_RINGBUF_HDR_SZ,
							 sizeof(r->next_head), r->next_head);
			go_on = handler(arg, record_data(r, pos, (u32)len), (u32)len, next_data,
					next_data ? sizeof(r->next_head) : 0);
			count++;
		}
		pos = next;
		/* Release: we have read the record; the kernel may overwrite it. */
		__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
	}
	return count;
}

static u64 consume_cpu(struct ring *r, struct perf_ring *p, ring_handler handler, void *arg)
{
	const struct perf_event_header *h;
	bool go_on = true;
	u64 count = 0;

	while (go_on && (h = perf_ring_next(p))) {
		const u8 *body = (const u8 *)(h + 1);
		u32 len;
		u64 lost;

		if (h->type == PERF_RECORD_SAMPLE && h->size >= sizeof(*h) + 4) {
			memcpy(&len, body, sizeof(len));
			len = MIN(len, h->size - (u32)sizeof(*h) - 4);
			go_on = handler(arg, body + 4, len, NULL, 0);
			count++;
		} else if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*h) + 16) {
			memcpy(&lost, body + 8, sizeof(lost));
			r->lost += lost;
		}
		perf_ring_done(p, h);
	}
	return count;
}

u64 ring_consume(struct ring *r, ring_handler handler, void *arg)
{
	u64 count = 0;

	if (r->data)
		return consume_buffer(r, handler, arg);
	for (size_t i = 0; i < r->cpus.len; i++)
		count += consume_cpu(r, &r->cpus.items[i], handler, arg);
	return count;
}
