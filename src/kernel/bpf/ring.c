/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ring.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

struct ring {
	int fd;
	/* kernel/bpf/ringbuf.c: a consumer page, a producer page, the data mapped twice in a row */
	unsigned long *consumer;
	const unsigned long *producer;
	const u8 *data;
	u64 size;
	u8 *copy; /* of a record that wraps around */
	u32 copy_size;
	/* the first bytes of the record after it, for a handler that looks ahead */
	u8 next_head[8];
	size_t page;
};

int ring_open(int map_fd, u32 size, struct ring **ret)
{
	struct ring *r = xzalloc(sizeof(*r));
	void *p;
	int err;

	r->page = (size_t)sysconf(_SC_PAGESIZE);
	/* so that closing the ring never closes the map's own descriptor */
	r->fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 0);
	if (r->fd < 0)
		goto fail;
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
	*ret = r;
	return 0;
fail:
	err = -errno;
	ring_close(r);
	return err;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap((void *)(uintptr_t)r->producer, r->page + (size_t)r->size);
	if (r->fd >= 0)
		close(r->fd);
	free(r->copy);
	free(r);
}

int ring_fd(const struct ring *r)
{
	return r->fd;
}

bool ring_is_filling(const struct ring *r)
{
	return r && *(volatile const unsigned long *)r->producer - *r->consumer > r->size / 4;
}

u64 ring_size(const struct ring *r)
{
	return r->size;
}

u64 ring_produced(const struct ring *r)
{
	return r ? __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) : 0;
}

u64 ring_position(const struct ring *r)
{
	return r ? *r->consumer : 0;
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

u64 ring_consume(struct ring *r, ring_handler handler, void *arg)
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
