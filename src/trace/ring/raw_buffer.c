/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/raw_buffer.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/vector.h"
#include "trace/ring/live.h"

struct raw_cpu {
	u32 cpu;
	int fd;
	struct raw_page *first, **last;
	struct page page; /* of first */
	struct page_event head;
	u64 lost;
	struct ring_counts at_open;
};

struct raw_buffer {
	char *directory;
	struct page_reader *reader;
	struct page_layout layout;
	VECTOR(struct raw_cpu) cpus;
	u32 *heap; /* indices of CPUs that have a head event, the oldest first */
	u32 heap_len;
	bool is_mono; /* its clock is CLOCK_MONOTONIC */
	bool given; /* heap[0]'s head was given out: advance before anything else */
	u64 read, damaged;
	u64 complete; /* all events up to this time were taken */
};

/* ---- opening ---- */

static int open_cpu(struct raw_buffer *rb, u32 cpu)
{
	char *path = xasprintf("%s/per_cpu/cpu%u/trace_pipe_raw", rb->directory, cpu);
	struct raw_cpu c = {.cpu = cpu, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
	const int err = c.fd < 0 ? -errno : 0;

	free(path);
	if (err)
		return err;
	ring_counts(rb->directory, cpu, &c.at_open);
	vector_push(&rb->cpus, c);
	return 0;
}

static int open_cpus(struct raw_buffer *rb)
{
	u32 *cpus, count;
	int err = ring_cpus(rb->directory, &cpus, &count);

	for (u32 i = 0; i < count && !err; i++)
		err = open_cpu(rb, cpus[i]);
	free(cpus);
	return err;
}

static int begin_reading(struct raw_buffer *rb, size_t bound)
{
	const u32 count = (u32)rb->cpus.len;
	int *fds = xreallocarray(NULL, count, sizeof(*fds));
	const struct page_reader_source source = {
		.layout = &rb->layout, .fds = fds, .count = count, .is_mono = rb->is_mono};
	int err;

	for (u32 i = 0; i < count; i++)
		fds[i] = rb->cpus.items[i].fd;
	err = page_reader_begin(rb->reader, &source, bound);
	free(fds);
	return err;
}

int raw_buffer_open_with(const char *directory, struct page_reader *reader, size_t bound,
			 struct raw_buffer **ret)
{
	struct raw_buffer *rb = xzalloc(sizeof(*rb));
	int err;

	rb->directory = xstrdup(directory);
	rb->reader = reader;
	err = ring_layout(directory, &rb->layout);
	rb->is_mono = ring_has_clock(directory, "mono");
	if (!err)
		err = open_cpus(rb);
	if (!err) {
		for (size_t i = 0; i < rb->cpus.len; i++)
			rb->cpus.items[i].last = &rb->cpus.items[i].first;
		rb->heap = xmalloc(rb->cpus.len * sizeof(*rb->heap));
		err = begin_reading(rb, bound);
	}
	if (err) {
		raw_buffer_close(rb);
		return err;
	}
	*ret = rb;
	return 0;
}

int raw_buffer_open(const char *directory, struct raw_buffer **ret)
{
	return raw_buffer_open_with(directory, page_reader_new(), SIZE_MAX, ret);
}

void raw_buffer_close(struct raw_buffer *rb)
{
	if (!rb)
		return;
	page_reader_release(rb->reader);
	for (size_t i = 0; i < rb->cpus.len; i++)
		close(rb->cpus.items[i].fd);
	vector_free(&rb->cpus);
	free(rb->heap);
	free(rb->directory);
	free(rb);
}

/* ---- the heap ---- */

static inline u64 head_time(const struct raw_buffer *rb, u32 i)
{
	return rb->cpus.items[rb->heap[i]].head.time;
}

/* Equal times: the lower CPU first, as the kernel's own merge does. */
static inline bool before(const struct raw_buffer *rb, u32 i, u32 j)
{
	const u64 a = head_time(rb, i), b = head_time(rb, j);

	return a != b ? a < b : rb->heap[i] < rb->heap[j];
}

static void swap(struct raw_buffer *rb, u32 i, u32 j)
{
	const u32 v = rb->heap[i];

	rb->heap[i] = rb->heap[j];
	rb->heap[j] = v;
}

static void sift_down(struct raw_buffer *rb)
{
	for (u32 i = 0, child; (child = 2 * i + 1) < rb->heap_len; i = child) {
		if (child + 1 < rb->heap_len && before(rb, child + 1, child))
			child++;
		if (!before(rb, child, i))
			return;
		swap(rb, i, child);
	}
}

static void heap_add(struct raw_buffer *rb, u32 cpu_index)
{
	u32 i = rb->heap_len++;

	rb->heap[i] = cpu_index;
	for (; i && before(rb, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(rb, i, (i - 1) / 2);
}

/* ---- pages ---- */

static void drop_first(struct raw_buffer *rb, struct raw_cpu *c)
{
	struct raw_page *p = c->first;

	c->first = p->next;
	if (!c->first)
		c->last = &c->first;
	rb->damaged += c->page.damaged;
	page_reader_give_back(rb->reader, p);
}

static bool begin_first(struct raw_buffer *rb, struct raw_cpu *c)
{
	if (page_begin(&c->page, &rb->layout, c->first->data, c->first->len)) {
		c->page = (struct page){.damaged = true};
		return false;
	}
	if (c->page.lost && c->lost != PAGE_LOST_UNKNOWN)
		c->lost = c->page.lost == PAGE_LOST_UNKNOWN ? c->page.lost : c->lost + c->page.lost;
	return true;
}

/* The next event of a CPU into its head. fresh: the first page was not begun. */
static bool advance(struct raw_buffer *rb, struct raw_cpu *c, bool fresh)
{
	while (c->first) {
		if ((!fresh || begin_first(rb, c)) && page_next(&c->page, &c->head))
			return true;
		drop_first(rb, c);
		fresh = true;
	}
	return false;
}

static void take_pages(struct raw_buffer *rb, u32 index)
{
	struct raw_cpu *c = &rb->cpus.items[index];
	const bool had_pages = c->first != NULL;

	*c->last = page_reader_take(rb->reader, index);
	while (*c->last)
		c->last = &(*c->last)->next;
	if (!had_pages && c->first && advance(rb, c, true))
		heap_add(rb, index);
}

/* Behind the event that was given out. */
static void finish_given(struct raw_buffer *rb)
{
	if (!rb->given)
		return;
	rb->given = false;
	if (!advance(rb, &rb->cpus.items[rb->heap[0]], false))
		rb->heap[0] = rb->heap[--rb->heap_len];
	sift_down(rb);
}

static int drain(struct raw_buffer *rb, bool all)
{
	const int err = page_reader_pass(rb->reader, all);

	/* Others may come before it in the heap. */
	finish_given(rb);
	rb->complete = page_reader_complete(rb->reader);
	for (u32 i = 0; i < rb->cpus.len; i++)
		take_pages(rb, i);
	return err;
}

int raw_buffer_drain(struct raw_buffer *rb)
{
	return drain(rb, false);
}

int raw_buffer_drain_all(struct raw_buffer *rb)
{
	return drain(rb, true);
}

bool raw_buffer_next(struct raw_buffer *rb, u64 until, struct raw_event *ret)
{
	struct raw_cpu *c;

	finish_given(rb);
	if (!rb->heap_len)
		return false;
	c = &rb->cpus.items[rb->heap[0]];
	if (c->head.time > until)
		return false;
	ret->event = c->head;
	ret->cpu = c->cpu;
	ret->lost = c->lost;
	c->lost = 0;
	rb->read++;
	rb->given = true;
	return true;
}

bool raw_buffer_peek(const struct raw_buffer *rb, struct page_event *ret)
{
	const struct raw_cpu *c;
	struct page page;

	if (!rb->given)
		return false;
	c = &rb->cpus.items[rb->heap[0]];
	page = c->page;
	for (const struct raw_page *p = c->first; p;) {
		if (page_next(&page, ret))
			return true;
		p = p->next;
		if (p && page_begin(&page, &rb->layout, p->data, p->len))
			page = (struct page){0};
	}
	return false;
}

void raw_buffer_skip(struct raw_buffer *rb)
{
	struct raw_cpu *c;

	if (!rb->given)
		return;
	c = &rb->cpus.items[rb->heap[0]];
	if (advance(rb, c, false)) {
		rb->read++;
		return;
	}
	rb->given = false;
	rb->heap[0] = rb->heap[--rb->heap_len];
	sift_down(rb);
}

int raw_buffer_stats(struct raw_buffer *rb, struct raw_buffer_stats *ret)
{
	struct raw_buffer_stats s = {.read = rb->read, .damaged = rb->damaged};

	for (size_t i = 0; i < rb->cpus.len; i++) {
		const struct ring_counts *old = &rb->cpus.items[i].at_open;
		struct ring_counts now;
		const int err = ring_counts(rb->directory, rb->cpus.items[i].cpu, &now);

		if (err)
			return err;
		s.entries += now.entries;
		s.overrun += now.overrun - MIN(now.overrun, old->overrun);
		s.dropped += now.dropped - MIN(now.dropped, old->dropped);
	}
	s.lost = s.overrun + s.dropped;
	*ret = s;
	return 0;
}

void raw_buffer_order(struct raw_buffer *rb, void (*fn)(u32 argument), u32 argument)
{
	page_reader_order(rb->reader, fn, argument);
}

int raw_buffer_fd(const struct raw_buffer *rb)
{
	return page_reader_fd(rb->reader);
}

void raw_buffer_heard(struct raw_buffer *rb)
{
	page_reader_heard(rb->reader);
}

u64 raw_buffer_complete(const struct raw_buffer *rb)
{
	return rb->complete;
}

size_t raw_buffer_pending(const struct raw_buffer *rb)
{
	return page_reader_pending(rb->reader);
}
