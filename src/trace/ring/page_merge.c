/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/page_merge.h"

void page_merge_init(struct page_merge *m, const struct page_layout *layout)
{
	*m = (struct page_merge){.layout = *layout};
}

void page_merge_add(struct page_merge *m, const struct page_stream *s)
{
	vector_push(&m->streams, *s);
}

void page_merge_release(struct page_merge *m)
{
	for (size_t i = 0; i < m->streams.len; i++)
		if (m->streams.items[i].release)
			m->streams.items[i].release(&m->streams.items[i]);
	vector_free(&m->streams);
	free(m->heap);
	m->heap = NULL;
}

void page_merge_narrow(struct page_merge *m, u64 begin, u64 end)
{
	for (size_t i = 0; i < m->streams.len; i++) {
		struct page_stream *const s = &m->streams.items[i];

		s->narrow(s, begin, end);
		s->page = (struct page){0};
		s->lost = 0;
	}
	free(m->heap);
	m->heap = NULL;
	m->heap_len = 0;
	m->given = false;
	m->events = m->lost = m->damaged = m->gaps = 0;
}

/* The next event of a stream into its head. */
static bool advance(struct page_merge *m, struct page_stream *s)
{
	const void *data;
	size_t len;

	while (!page_next(&s->page, &s->head)) {
		m->damaged += s->page.damaged;
		s->page = (struct page){0};
		data = s->next(s, &len);
		if (!data)
			return false;
		if (page_begin(&s->page, &m->layout, data, len)) {
			s->page = (struct page){0};
			m->damaged++;
			continue;
		}
		if (!s->page.lost)
			continue;
		if (s->page.lost == PAGE_LOST_UNKNOWN) {
			m->gaps++;
			s->lost = PAGE_LOST_UNKNOWN;
		} else {
			m->lost += s->page.lost;
			if (s->lost != PAGE_LOST_UNKNOWN)
				s->lost += s->page.lost;
		}
	}
	return true;
}

/* Equal times: the lower CPU first, as the kernel does. */
static inline bool before(const struct page_merge *m, u32 i, u32 j)
{
	const struct page_stream *a = &m->streams.items[m->heap[i]],
				 *b = &m->streams.items[m->heap[j]];

	return a->head.time != b->head.time ? a->head.time < b->head.time : a->cpu < b->cpu;
}

static inline void swap(struct page_merge *m, u32 i, u32 j)
{
	const u32 v = m->heap[i];

	m->heap[i] = m->heap[j];
	m->heap[j] = v;
}

static void sift_down(struct page_merge *m, u32 i)
{
	for (u32 child; (child = 2 * i + 1) < m->heap_len; i = child) {
		if (child + 1 < m->heap_len && before(m, child + 1, child))
			child++;
		if (!before(m, child, i))
			return;
		swap(m, i, child);
	}
}

static void start(struct page_merge *m)
{
	m->heap = xmalloc(MAX(m->streams.len, (size_t)1) * sizeof(*m->heap));
	for (u32 i = 0; i < m->streams.len; i++)
		if (advance(m, &m->streams.items[i]))
			m->heap[m->heap_len++] = i;
	for (u32 i = m->heap_len / 2; i-- > 0;)
		sift_down(m, i);
}

bool page_merge_next(struct page_merge *m, struct raw_event *ret)
{
	struct page_stream *s;

	if (!m->heap)
		start(m);
	if (m->given) {
		if (!advance(m, &m->streams.items[m->heap[0]]))
			m->heap[0] = m->heap[--m->heap_len];
		sift_down(m, 0);
	}
	m->given = m->heap_len != 0;
	if (!m->given)
		return false;
	s = &m->streams.items[m->heap[0]];
	ret->event = s->head;
	ret->cpu = s->cpu;
	ret->lost = s->lost;
	s->lost = 0;
	m->events++;
	return true;
}
