/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/rings.h"

#include <stdlib.h>

#define CPUS_MAX     8192u /* NR_CPUS of any kernel */
#define RINGS_MAX    (1u << 20) /* of all buffers */
#define INSTANCE_MAX 255
#define PAGES_MAX    ((u64)1 << 24) /* of a ring */
#define ORDER_MAX    8
#define PAGE_SIZE    4096u
#define CLOCKS_MAX   64
#define LINK_FLAGS   3u /* of a link in the ring: to the oldest page; being moved */
#define COMMIT_MASK  0x7ffffffu
#define LOST	     (1u << 31)
#define LOST_COUNTED (1u << 30)

/* ---- finding them ---- */

static char *clock_name(struct dead_kernel *k, u64 number)
{
	static const char *const members[] = {"func", "name", "in_ns", NULL};
	const u64 clocks = dead_symbol(k, "trace_clocks");
	u64 name;
	u32 size, offset;

	if (!clocks || number >= CLOCKS_MAX || !dead_unnamed(k, members, "name", &size, &offset) ||
	    dead_u64(k, clocks + number * size + offset, &name))
		return NULL;
	return dead_string(k, name, INSTANCE_MAX);
}

static int read_counts(struct dead_kernel *k, struct dead_ring *r)
{
	u64 entries, read, commit_overrun, dropped;
	int err = dead_member(k, r->address, F(ring_buffer_per_cpu, entries), &entries);

	if (!err)
		err = dead_member(k, r->address, F(ring_buffer_per_cpu, read), &read);
	if (!err)
		err = dead_member(k, r->address, F(ring_buffer_per_cpu, overrun), &r->overwritten);
	if (!err)
		err = dead_member(k, r->address, F(ring_buffer_per_cpu, commit_overrun),
				  &commit_overrun);
	if (!err)
		err = dead_member(k, r->address, F(ring_buffer_per_cpu, dropped_events), &dropped);
	if (err)
		return err;
	r->entries = entries - r->overwritten - read;
	r->dropped = commit_overrun + dropped;
	return 0;
}

/* A ring page is one page of memory; since Linux 6.8 it may be several. */
static int read_layout(struct dead_kernel *k, u64 buffer, struct page_layout *ret)
{
	u64 order = 0;
	int err = 0;

	if (dead_has(k, F(trace_buffer, subbuf_order)))
		err = dead_member(k, buffer, F(trace_buffer, subbuf_order), &order);
	if (err || order > ORDER_MAX)
		return err ?: -EINVAL;
	*ret = (struct page_layout)PAGE_LAYOUT_INIT;
	ret->size <<= order;
	ret->commit_offset = dead_offset(k, F(buffer_data_page, commit));
	ret->commit_size = dead_size(k, F(buffer_data_page, commit));
	ret->data_offset = dead_offset(k, F(buffer_data_page, data));
	return ret->commit_offset != 8 || ret->commit_size != 8 || ret->data_offset != 16
		       ? -EOPNOTSUPP
		       : 0;
}

/* How many CPUs the kernel may have: as many as each buffer has rings for. */
static int count_cpus(struct dead_kernel *k, u32 *ret)
{
	const u64 variable = dead_symbol(k, "nr_cpu_ids");
	const int err = variable ? dead_read(k, variable, ret, sizeof(*ret)) : -EINVAL;

	return err ?: *ret > CPUS_MAX ? -EINVAL : 0;
}

/* room: for how many more rings there is memory. */
static int read_rings(struct dead_kernel *k, struct dead_buffer *b, u64 buffer, u32 *room)
{
	u64 rings, ring;
	u32 cpus;
	int err = count_cpus(k, &cpus);

	if (!err)
		err = dead_member(k, buffer, F(trace_buffer, buffers), &rings);
	for (u32 cpu = 0; !err && cpu < cpus; cpu++) {
		struct dead_ring r = {.cpu = cpu};

		err = dead_u64(k, rings + cpu * sizeof(ring), &ring);
		if (err || !ring) /* it was never there */
			continue;
		r.address = ring;
		err = (*room)-- ? read_counts(k, &r) : -EINVAL;
		vector_push(&b->rings, r);
	}
	return err;
}

struct finding {
	struct dead_kernel *kernel;
	struct dead_buffers *buffers;
	u32 room;
};

static int add_buffer(void *arg, u64 array)
{
	struct finding *const f = arg;
	struct dead_kernel *const k = f->kernel;
	struct dead_buffer b = {0};
	u64 name, buffer, clock;
	int err = dead_member(k, array, F(trace_array, name), &name);

	if (!err)
		err = dead_member(k, array, F(trace_array, clock_id), &clock);
	if (!err)
		err = dead_member(k, array + dead_offset(k, F(trace_array, array_buffer)),
				  F(array_buffer, buffer), &buffer);
	if (!err)
		err = read_layout(k, buffer, &b.layout);
	if (err)
		return err;
	b.name = name ? dead_string(k, name, INSTANCE_MAX) : xstrdup("");
	b.clock = clock_name(k, clock);
	vector_push(&f->buffers->all, b);
	if (!b.name || !b.clock)
		return -EINVAL;
	return read_rings(k, &vector_last(&f->buffers->all), buffer, &f->room);
}

static int by_name(const void *a, const void *b)
{
	const struct dead_buffer *const x = a, *const y = b;

	return strcmp(x->name, y->name);
}

int dead_buffers_find(struct dead_kernel *k, struct dead_buffers *ret)
{
	const u64 head = dead_symbol(k, "ftrace_trace_arrays");
	struct finding f = {k, ret, RINGS_MAX};
	int err;

	*ret = (struct dead_buffers){0};
	err = head ? dead_each(k, head, F(trace_array, list), false, add_buffer, &f) : -EINVAL;
	if (err)
		return dead_refuse(k, err, "the list of its trace buffers");
	if (ret->all.len)
		qsort(ret->all.items, ret->all.len, sizeof(*ret->all.items), by_name);
	return 0;
}

void dead_buffers_release(struct dead_buffers *b)
{
	for (size_t i = 0; i < b->all.len; i++) {
		free(b->all.items[i].name);
		free(b->all.items[i].clock);
		vector_free(&b->all.items[i].rings);
	}
	vector_free(&b->all);
}

/* ---- the pages of one ---- */

struct ring_walk {
	struct dead_kernel *kernel;
	const struct page_layout *layout;
	dead_page_fn *fn;
	void *arg;
	u8 *page;
	struct hashmap *seen; /* numbers of pages of the machine's memory */
	bool has_met; /* a page that was seen before: whatever comes behind it was, too */
	u64 lost; /* before the next page that has events; PAGE_LOST_UNKNOWN = some */
	bool is_whole;
};

/* Removes what was read already; the first remaining event counts from the one before it. */
static bool drop_read(struct ring_walk *w, u32 *used, u64 read)
{
	const struct page_layout *const l = w->layout;
	u8 *const data = w->page + l->data_offset;
	struct page_event e;
	struct page p;

	if (!read)
		return true;
	if (read > *used || page_begin(&p, l, w->page, l->size))
		return false;
	p.end = data + read;
	while (page_next(&p, &e))
		;
	if (p.damaged)
		return false;
	memcpy(w->page, &p.time, sizeof(p.time));
	*used -= (u32)read;
	memmove(data, data + read, *used);
	return true;
}

/* As the kernel's own reader marks it (RB_MISSED_EVENTS). */
static void mark_lost(struct ring_walk *w, u32 used)
{
	const struct page_layout *const l = w->layout;
	const u32 room = l->size - l->data_offset - used;
	u32 commit = used;

	if (w->lost) {
		commit |= LOST;
		if (w->lost != PAGE_LOST_UNKNOWN && room >= sizeof(w->lost)) {
			commit |= LOST_COUNTED;
			memcpy(w->page + l->data_offset + used, &w->lost, sizeof(w->lost));
		}
		w->lost = 0;
	}
	memset(w->page + l->commit_offset, 0, l->commit_size);
	memcpy(w->page + l->commit_offset, &commit, sizeof(commit));
}

/* Where the page's data are. False: nowhere, or they were seen before. */
static bool find_data(struct ring_walk *w, u64 page, u64 *ret)
{
	bool is_new;
	u64 where;

	if (dead_member(w->kernel, page, F(buffer_page, page), ret) ||
	    dead_physical(w->kernel, *ret, &where))
		return false;
	where /= PAGE_SIZE;
	hashmap_put(w->seen, &where, sizeof(where), &is_new);
	w->has_met = !is_new;
	return is_new;
}

/* Into w->page; *used: bytes of events. */
static bool read_page(struct ring_walk *w, u64 page, u32 *used)
{
	struct dead_kernel *const k = w->kernel;
	const struct page_layout *const l = w->layout;
	u32 commit;
	u64 data;

	if (!find_data(w, page, &data) || dead_read(k, data, w->page, l->data_offset))
		return false;
	memcpy(&commit, w->page + l->commit_offset, sizeof(commit));
	*used = commit & COMMIT_MASK;
	if (*used > l->size - l->data_offset ||
	    dead_read(k, data + l->data_offset, w->page + l->data_offset, *used))
		return false;
	memcpy(w->page + l->commit_offset, used, sizeof(*used));
	return true;
}

/* read: bytes of events that were read before. */
static int give_page(struct ring_walk *w, u64 page, u64 read)
{
	u32 used = 0;

	if (!read_page(w, page, &used) || !drop_read(w, &used, read)) {
		w->is_whole = false;
		w->lost = PAGE_LOST_UNKNOWN;
		return 0;
	}
	if (!used)
		return 0;
	memset(w->page + w->layout->data_offset + used, 0,
	       w->layout->size - w->layout->data_offset - used);
	mark_lost(w, used);
	return w->fn(w->arg, w->page);
}

/* The oldest page of the ring, as its link. 0: there is none, or the ring is damaged. */
static u64 find_oldest(struct dead_kernel *k, u64 link, u64 pages)
{
	u64 next;

	for (u64 i = 0; i < pages; i++, link = next & ~(u64)LINK_FLAGS) {
		if (dead_member(k, link, F(list_head, next), &next))
			return 0;
		if (next & LINK_FLAGS)
			return next & ~(u64)LINK_FLAGS;
	}
	return 0;
}

static int give_ring(struct ring_walk *w, u64 pages, u64 count, u64 newest)
{
	const u32 to_page = dead_offset(w->kernel, F(buffer_page, list));
	u64 link = find_oldest(w->kernel, pages, count);
	int rc = 0;

	for (u64 i = 0; link && i < count && !rc && !w->has_met; i++) {
		rc = give_page(w, link - to_page, 0);
		if (link - to_page == newest)
			return rc;
		if (dead_member(w->kernel, link, F(list_head, next), &link))
			break;
		link &= ~(u64)LINK_FLAGS;
	}
	w->is_whole &= rc != 0;
	return rc;
}

int dead_ring_each_page(struct dead_kernel *k, const struct dead_buffer *b,
			const struct dead_ring *r, struct hashmap *seen, dead_page_fn *fn,
			void *arg, bool *ret_is_whole)
{
	struct ring_walk w = {k, &b->layout, fn, arg, .seen = seen, .is_whole = true};
	u64 reader, read, newest, pages, count, last_overrun;
	int rc = 0;

	*ret_is_whole = false;
	if (dead_member(k, r->address, F(ring_buffer_per_cpu, reader_page), &reader) ||
	    dead_member(k, reader, F(buffer_page, read), &read) ||
	    dead_member(k, r->address, F(ring_buffer_per_cpu, commit_page), &newest) ||
	    dead_member(k, r->address, F(ring_buffer_per_cpu, pages), &pages) ||
	    dead_member(k, r->address, F(ring_buffer_per_cpu, nr_pages), &count) ||
	    dead_member(k, r->address, F(ring_buffer_per_cpu, lost_events), &w.lost) ||
	    dead_member(k, r->address, F(ring_buffer_per_cpu, last_overrun), &last_overrun) ||
	    count > PAGES_MAX)
		return 0;
	w.page = xmalloc(b->layout.size);
	rc = give_page(&w, reader, read);
	if (!rc && reader != newest) {
		if (r->overwritten != last_overrun && w.lost != PAGE_LOST_UNKNOWN)
			w.lost += r->overwritten - last_overrun;
		rc = give_ring(&w, pages, count, newest);
	}
	*ret_is_whole = w.is_whole;
	free(w.page);
	return rc;
}
