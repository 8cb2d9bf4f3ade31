/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that are built into pages are read back as they were: times, lengths, bytes, losses. */
#include "trace/ring/page_builder.h"

#include "base/vector.h"
#include "tap.h"

#define EVENTS 20000

struct made {
	u64 time, lost;
	u32 size;
	u8 data[400];
};

static u64 seed = 88172645463325252ull;

static u64 random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Lengths around those that stand in the head; gaps up to beyond 2^27 and back. */
static struct made make(u64 before)
{
	static const u64 gaps[] = {0, 1, 100, (1 << 27) - 1, 1 << 27, 1ull << 40, 1ull << 58};
	struct made m = {.time = before + gaps[random64() % 6 + (random64() % 1000 == 0)]};
	const u64 kind = random64() % 50;

	m.size = 4 * (1 + (u32)(random64() % 100));
	if (kind == 0)
		m.lost = 1 + random64() % 100000;
	else if (kind == 1)
		m.lost = PAGE_LOST_UNKNOWN;
	else if (kind == 2)
		m.time = before - MIN(before, 5000ull);
	for (u32 i = 0; i < m.size; i++)
		m.data[i] = (u8)random64();
	return m;
}

struct reading {
	struct page_layout layout;
	const struct made *all;
	size_t at;
	u32 pages, wrong;
};

static void read_back(struct reading *r, const void *data)
{
	struct page page;
	struct page_event e;
	u64 lost;

	r->pages++;
	if (page_begin(&page, &r->layout, data, r->layout.size)) {
		r->wrong++;
		return;
	}
	lost = page.lost;
	for (; page_next(&page, &e); lost = 0) {
		const struct made *const m = &r->all[r->at++];
		/* there may be no room for the number */
		const bool same = lost == m->lost || (m->lost && lost == PAGE_LOST_UNKNOWN);

		r->wrong += e.time != m->time || e.size != m->size || !same ||
			    memcmp(e.data, m->data, m->size);
	}
	r->wrong += page.damaged;
}

static void check(u32 page_size)
{
	struct made *const all = xzalloc(EVENTS * sizeof(*all));
	struct reading r = {.layout = PAGE_LAYOUT_INIT, .all = all};
	struct page_builder b;
	u64 time = 1000;

	r.layout.size = page_size;
	page_builder_init(&b, &r.layout);
	for (u32 i = 0; i < EVENTS; i++) {
		struct page_event e;

		all[i] = make(time);
		time = all[i].time;
		e = (struct page_event){.time = time, .data = all[i].data, .size = all[i].size};
		while (!page_builder_add(&b, &e, all[i].lost))
			read_back(&r, page_builder_finish(&b));
	}
	if (!page_builder_is_empty(&b))
		read_back(&r, page_builder_finish(&b));
	page_builder_release(&b);
	ok(r.at == EVENTS, "pages of %u bytes: every event is in one (%zu)", page_size, r.at);
	ok(!r.wrong, "pages of %u bytes: as it was (%u pages, %u wrong)", page_size, r.pages,
	   r.wrong);
	free(all);
}

/* What no page of this size could hold is a loss, not a crash. */
static void check_too_long(void)
{
	static const u8 data[5000];
	const struct page_event e = {.time = 7, .data = data, .size = sizeof(data)};
	struct page_layout layout = PAGE_LAYOUT_INIT;
	struct page_builder b;
	struct page page;
	struct page_event got;

	page_builder_init(&b, &layout);
	ok(page_builder_add(&b, &e, 0), "an event longer than a page is taken");
	ok(!page_begin(&page, &layout, page_builder_finish(&b), layout.size) && page.lost &&
		   !page_next(&page, &got),
	   "and counted as lost");
	page_builder_release(&b);
}

int main(void)
{
	check(4096);
	check(65536);
	check_too_long();
	return tap_done();
}
