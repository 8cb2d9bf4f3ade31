/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pipes of packets (pipe(2), O_DIRECT) stand for the rings: a read gives one page, in order, until
 * there is none.
 */
#include "trace/ring/page_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define RINGS	  2u
#define FUTURE_NS (3600ull * 1000000000)

/* A page as the kernel's, as far as the reader looks at it, and a number. */
struct fake_page {
	u64 time, commit, number;
	u8 data[4096 - 24];
};
_Static_assert(sizeof(struct fake_page) == 4096, "a page");

struct rig {
	struct page_reader *reader;
	struct page_layout layout;
	int ends[RINGS], fds[RINGS]; /* to write to; to read from */
	u64 written[RINGS], taken[RINGS];
	bool in_order;
};

static void setup(struct rig *g, bool thread, bool is_mono, size_t bound)
{
	pid_t tid = 0;

	*g = (struct rig){.layout = PAGE_LAYOUT_INIT, .in_order = true};
	for (u32 i = 0; i < RINGS; i++) {
		int fds[2];

		if (pipe2(fds, O_DIRECT | O_NONBLOCK | O_CLOEXEC))
			return;
		g->fds[i] = fds[0];
		g->ends[i] = fds[1];
	}
	g->reader = page_reader_new();
	if (thread)
		ok(!page_reader_thread(g->reader, &tid) && tid > 0 && tid != getpid(),
		   "a thread, whose number is told");
	ok(page_reader_begin(
		   g->reader,
		   &(struct page_reader_source){
			   .layout = &g->layout, .fds = g->fds, .count = RINGS, .is_mono = is_mono},
		   bound) == 0,
	   "it begins");
}

static void teardown(struct rig *g)
{
	page_reader_release(g->reader);
	for (u32 i = 0; i < RINGS; i++) {
		close(g->fds[i]);
		close(g->ends[i]);
	}
}

/* False: the ring is full. */
static bool put(struct rig *g, u32 ring, u64 time)
{
	struct fake_page p = {.time = time, .commit = 4080, .number = g->written[ring]};

	if (write(g->ends[ring], &p, sizeof(p)) != sizeof(p))
		return false;
	g->written[ring]++;
	return true;
}

static u64 take(struct rig *g, u32 ring)
{
	u64 n = 0;

	for (struct raw_page *p = page_reader_take(g->reader, ring), *next; p; p = next, n++) {
		u64 number;

		next = p->next;
		memcpy(&number, p->data + offsetof(struct fake_page, number), sizeof(number));
		g->in_order &= number == g->taken[ring]++ && p->len == sizeof(struct fake_page);
		page_reader_give_back(g->reader, p);
	}
	return n;
}

static void test_order(bool thread)
{
	struct rig g;

	setup(&g, thread, false, SIZE_MAX);
	for (u32 i = 0; i < 5; i++)
		put(&g, 0, 1);
	put(&g, 1, 1);
	ok(page_reader_pass(g.reader, false) == 0, "a pass");
	ok(page_reader_complete(g.reader) == UINT64_MAX, "another clock knows no time");
	is_int((long long)page_reader_pending(g.reader), 6 * 4096, "all is in memory");
	is_int((long long)take(&g, 0), 5, "pages of one ring");
	is_int((long long)take(&g, 1), 1, "and of the other");
	is_int((long long)take(&g, 1), 0, "once");
	ok(g.in_order, "the oldest first");
	is_int((long long)page_reader_pending(g.reader), 0, "nothing is left");
	teardown(&g);
}

/* What a writer adds meanwhile does not keep a pass. */
static void test_until(bool thread)
{
	struct rig g;
	u64 before = clock_now_ns(CLOCK_MONOTONIC), complete;

	setup(&g, thread, true, SIZE_MAX);
	put(&g, 0, before);
	page_reader_pass(g.reader, false);
	complete = page_reader_complete(g.reader);
	ok(complete >= before && complete <= clock_now_ns(CLOCK_MONOTONIC),
	   "it is complete up to the pass's beginning");
	is_int((long long)take(&g, 0), 1, "what was before");
	teardown(&g);

	setup(&g, false, true, SIZE_MAX);
	for (u32 i = 0; i < 3; i++)
		put(&g, 0, before + FUTURE_NS);
	page_reader_pass(g.reader, false);
	is_int((long long)take(&g, 0), 1, "a page that was begun later ends the pass");
	page_reader_pass(g.reader, false);
	is_int((long long)take(&g, 0), 1, "the next one comes with the next pass");
	teardown(&g);
}

/* A user that takes nothing. */
static void test_bound(bool thread)
{
	const size_t bound = 64 * 4096;
	struct rig g;
	size_t ring;
	u64 total;

	setup(&g, thread, false, bound);
	ring = (size_t)fcntl(g.ends[0], F_GETPIPE_SZ);
	for (u32 i = 0; i < 200; i++) {
		while (put(&g, 0, 1))
			;
		page_reader_pass(g.reader, false);
	}
	ok(page_reader_pending(g.reader) >= bound, "it reads up to the bound");
	ok(page_reader_pending(g.reader) <= bound + ring, "and not beyond it by more than a ring");
	total = g.written[0];
	ok(!put(&g, 0, 1), "then the ring is full");
	page_reader_pass(g.reader, true);
	ok(page_reader_pending(g.reader) == total * 4096, "but at the end all of it comes");
	is_int((long long)take(&g, 0), (long long)total, "all pages");
	ok(g.in_order, "in order");
	ok(put(&g, 0, 1) && page_reader_pass(g.reader, false) == 0 && take(&g, 0) == 1,
	   "and on it goes");
	teardown(&g);
}

/* The thread reads while its user does something else; pages go round. */
static void test_alone(void)
{
	const u64 pages = 20000;
	const size_t bound = 256 * 4096;
	struct rig g;
	size_t most = 0;
	u32 turns = 0;

	setup(&g, true, false, bound);
	while (g.written[0] < pages || g.written[1] < pages) {
		struct pollfd set[RINGS] = {
			{.fd = g.written[0] < pages ? g.ends[0] : -1, .events = POLLOUT},
			{.fd = g.written[1] < pages ? g.ends[1] : -1, .events = POLLOUT}};

		/* The ring is emptied by nobody but the thread, unless the bound is reached. */
		poll(set, RINGS, page_reader_pending(g.reader) < bound ? 1000 : 0);
		for (u32 i = 0; i < RINGS; i++)
			for (u32 n = 0; n < 8 && g.written[i] < pages && put(&g, i, 1); n++)
				;
		most = MAX(most, page_reader_pending(g.reader));
		if (page_reader_pending(g.reader) < bound && turns++ % 7)
			continue;
		take(&g, 0);
		take(&g, 1);
	}
	page_reader_pass(g.reader, true);
	take(&g, 0);
	take(&g, 1);
	ok(g.taken[0] == pages && g.taken[1] == pages, "every page came, of both rings");
	ok(g.in_order, "in order");
	ok(most <= bound + 2 * (size_t)fcntl(g.ends[0], F_GETPIPE_SZ), "within the bound");
	is_int((long long)page_reader_pending(g.reader), 0, "all were given back");
	teardown(&g);
}

static void test_tell(void)
{
	struct rig g;
	struct pollfd set;

	setup(&g, true, false, SIZE_MAX);
	set = (struct pollfd){.fd = page_reader_fd(g.reader), .events = POLLIN};
	ok(poll(&set, 1, 0) == 0, "nothing to tell yet");
	fcntl(g.ends[0], F_SETPIPE_SZ, 1 << 20);
	/* A pass of so much needs a ring that was left alone for a while: until it happens. */
	for (u32 i = 0; i < 100000 && poll(&set, 1, 0) == 0; i++) {
		while (put(&g, 0, 1) && g.written[0] % 200)
			;
		take(&g, 0);
	}
	if (set.revents) {
		page_reader_heard(g.reader);
		page_reader_pass(g.reader, true);
		take(&g, 0);
		page_reader_heard(g.reader);
		ok(poll(&set, 1, 0) == 0, "much is told, once");
	} else {
		tap_skip("much is told", "it never had to read much at once");
	}
	ok(g.in_order, "in order");
	teardown(&g);
}

static void test_error(void)
{
	struct page_reader *r = page_reader_new();
	const struct page_layout layout = PAGE_LAYOUT_INIT;
	pid_t tid;
	int fds[2];

	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC))
		return;
	page_reader_thread(r, &tid);
	/* The end that cannot be read. */
	ok(page_reader_begin(
		   r, &(struct page_reader_source){.layout = &layout, .fds = &fds[1], .count = 1},
		   SIZE_MAX) == 0,
	   "a descriptor that cannot be read");
	is_int(page_reader_pass(r, false), -EBADF, "is said");
	is_int(page_reader_pass(r, true), -EBADF, "again");
	ok(!page_reader_take(r, 0), "and gives nothing");
	page_reader_release(r);
	close(fds[0]);
	close(fds[1]);
	page_reader_release(NULL);
	r = page_reader_new();
	page_reader_thread(r, &tid);
	page_reader_release(r);
	ok(true, "a thread that never began ends");
}

int main(void)
{
	for (int thread = 0; thread < 2; thread++) {
		test_order(thread);
		test_until(thread);
		test_bound(thread);
	}
	test_alone();
	test_tell();
	test_error();
	return tap_done();
}
