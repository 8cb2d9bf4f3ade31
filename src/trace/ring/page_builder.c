/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/page_builder.h"

/* Bits of commit (kernel/trace/ring_buffer.c, RB_MISSED_*). */
#define MISSED_EVENTS (1u << 31)
#define MISSED_STORED (1u << 30)
#define DELTA_BITS    27
#define DELTA_MASK    ((1u << DELTA_BITS) - 1)

void page_builder_init(struct page_builder *b, const struct page_layout *layout)
{
	*b = (struct page_builder){.layout = *layout};
}

void page_builder_release(struct page_builder *b)
{
	free(b->data);
	b->data = NULL;
}

static void put32(struct page_builder *b, u32 v)
{
	memcpy(b->data + b->layout.data_offset + b->used, &v, sizeof(v));
	b->used += sizeof(v);
}

/* Is the length in the head of the event? */
static bool is_short(const struct page_builder *b, u32 size)
{
	return size && !(size % 4) && size / 4 <= b->layout.max_type_len;
}

static void begin(struct page_builder *b, u64 time, u64 lost)
{
	if (!b->data) /* a file may list more CPUs than have events */
		b->data = xmalloc(b->layout.size);
	memset(b->data, 0, b->layout.size);
	memcpy(b->data, &time, sizeof(time));
	b->used = 0;
	b->time = time;
	b->lost = lost;
	b->is_begun = true;
}

bool page_builder_add(struct page_builder *b, const struct page_event *e, u64 lost)
{
	const u32 room = b->layout.size - b->layout.data_offset;
	const u32 head = is_short(b, e->size) ? 4 : 8, size = ALIGN_UP(e->size, 4u);
	u64 delta;
	u32 extend;

	/* losses stand before a page; time goes on within one */
	if (b->is_begun && (lost || e->time < b->time))
		return false;
	if (size > room - head) { /* of no ring with such pages */
		if (!b->is_begun)
			begin(b, e->time, PAGE_LOST_UNKNOWN);
		return true;
	}
	delta = b->is_begun ? e->time - b->time : 0;
	extend = delta > DELTA_MASK ? 8 : 0;
	if (b->is_begun && (extend + head + size > room - b->used || delta >> 59))
		return false;
	if (!b->is_begun)
		begin(b, e->time, lost);
	if (extend) {
		put32(b, (u32)b->layout.time_extend | (u32)(delta & DELTA_MASK) << 5);
		put32(b, (u32)(delta >> DELTA_BITS));
		delta = 0;
	}
	put32(b, (head == 4 ? e->size / 4 : 0) | (u32)delta << 5);
	if (head == 8)
		put32(b, e->size + 4);
	memcpy(b->data + b->layout.data_offset + b->used, e->data, e->size);
	b->used += size;
	b->time = e->time;
	return true;
}

const void *page_builder_finish(struct page_builder *b)
{
	const u32 room = b->layout.size - b->layout.data_offset;
	u32 commit = b->used;

	if (b->lost) {
		commit |= MISSED_EVENTS;
		if (b->lost != PAGE_LOST_UNKNOWN && room - b->used >= b->layout.commit_size) {
			commit |= MISSED_STORED;
			memcpy(b->data + b->layout.data_offset + b->used, &b->lost,
			       b->layout.commit_size);
		}
	}
	memcpy(b->data + b->layout.commit_offset, &commit, sizeof(commit));
	b->is_begun = false;
	return b->data;
}
