/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/page_reader.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"

/* Of one CPU in one pass, where the clock is another one than ours; at the end. */
#define MAX_PAGES_AT_ONCE 8192u
#define MAX_PAGES_AT_END  (1u << 22)
#define PAGE_COMMIT_MASK  ((1u << 27) - 1) /* trace/ring/page.h */
#define CHUNK_BYTES	  ((size_t)256 << 10) /* pages come from malloc() in chunks */
#define TELL_BYTES	  ((size_t)256 << 10) /* read in one pass: worth waking the user for */
/* at the bound: how often it is looked at; a ring takes longer to fill */
#define FULL_MS 5
/* Of a CPU, pages whose events are younger than what is complete: they cannot be given back. */
#define YOUNG_PAGES 8

typedef _Atomic(struct raw_page *) page_stack;

struct page_reader {
	struct page_layout layout;
	int *fds;
	page_stack *queues; /* of each descriptor, the youngest first */
	u32 count;
	bool is_mono;
	size_t bound;
	page_stack unused;
	_Atomic size_t pending;
	_Atomic u64 complete;
	_Atomic int error; /* the first -errno */
	/* Of who reads: the thread, or else the caller. */
	struct raw_page *spare;
	VECTOR(void *) chunks;
	int epoll; /* of the descriptors */
	/* The thread. */
	bool has_thread;
	pthread_t thread;
	pid_t tid;
	int ask, answer, tell; /* eventfds */
	_Atomic bool begun, all, quit;
	void (*_Atomic order)(u32 argument); /* NULL = none; given with `ask` */
	u32 order_argument;
};

/* ---- pages ---- */

static void push(page_stack *stack, struct raw_page *p)
{
	struct raw_page *head = atomic_load_explicit(stack, memory_order_relaxed);

	do
		p->next = head;
	while (!atomic_compare_exchange_weak_explicit(stack, &head, p, memory_order_release,
						      memory_order_relaxed));
}

static struct raw_page *take_all(page_stack *stack)
{
	return atomic_exchange_explicit(stack, NULL, memory_order_acquire);
}

static void add_chunk(struct page_reader *r)
{
	const size_t stride = ALIGN_UP(sizeof(struct raw_page) + r->layout.size, (size_t)16);
	const size_t pages = MAX(CHUNK_BYTES / stride, (size_t)1);
	u8 *chunk = xmalloc(pages * stride);

	vector_push(&r->chunks, chunk);
	for (size_t i = pages; i--;) {
		struct raw_page *p = (struct raw_page *)(chunk + i * stride);

		p->next = r->spare;
		r->spare = p;
	}
}

static struct raw_page *next_spare(struct page_reader *r)
{
	struct raw_page *p;

	if (!r->spare)
		r->spare = take_all(&r->unused);
	if (!r->spare)
		add_chunk(r);
	p = r->spare;
	r->spare = p->next;
	return p;
}

static void keep_spare(struct page_reader *r, struct raw_page *p)
{
	p->next = r->spare;
	r->spare = p;
}

/* ---- reading ---- */

/*
 * A page is at least half full before the next one is begun: what does not fit is smaller than what
 * does, or the page has one event. Less is on the page that is being written (or is the rest of one
 * that was, which can only come first).
 */
static bool is_being_written(const struct page_reader *r, const struct raw_page *p)
{
	u32 commit;

	if (p->len < r->layout.commit_offset + sizeof(commit))
		return false;
	memcpy(&commit, p->data + r->layout.commit_offset, sizeof(commit));
	return (commit & PAGE_COMMIT_MASK) < (r->layout.size - r->layout.data_offset) / 2;
}

/* Whether the page is the last one of this pass. */
static bool is_last(const struct page_reader *r, const struct raw_page *p, u32 n, u64 until)
{
	if (r->is_mono)
		return p->len >= sizeof(u64) && page_time(p->data) > until;
	return n && !r->all && is_being_written(r, p);
}

/*
 * Up to the first page that was begun later than `until`, or with another clock to the one that is
 * being written: a writer that is as fast as we are, which may be our own reading that is traced,
 * must not keep us here. To read behind it event by event would slow it down by half, too: each
 * line of the page would go to and fro between the caches. Returns how many pages it was, or
 * -errno.
 */
static int read_one(struct page_reader *r, u32 index, u64 until)
{
	const u32 most = r->is_mono ? UINT32_MAX : r->all ? MAX_PAGES_AT_END : MAX_PAGES_AT_ONCE;
	bool last = false;
	u32 n = 0;

	while (!last && n < most) {
		struct raw_page *p = next_spare(r);
		const ssize_t len = read(r->fds[index], p->data, r->layout.size);

		if (len <= 0) {
			keep_spare(r, p);
			if (len < 0 && errno == EINTR)
				continue;
			return len < 0 && errno != EAGAIN ? -errno : (int)MIN(n, (u32)INT32_MAX);
		}
		p->len = (size_t)len;
		last = is_last(r, p, n, until);
		atomic_fetch_add_explicit(&r->pending, r->layout.size, memory_order_relaxed);
		push(&r->queues[index], p);
		n++;
	}
	return (int)MIN(n, (u32)INT32_MAX);
}

static bool is_full(const struct page_reader *r)
{
	return page_reader_pending(r) >= r->bound;
}

/* Returns the bytes that came. */
static size_t read_all(struct page_reader *r)
{
	const u64 until = r->is_mono ? clock_now_ns(CLOCK_MONOTONIC) : UINT64_MAX;
	size_t pages = 0;

	for (u32 i = 0; i < r->count; i++) {
		const int n = read_one(r, i, until);
		int none = 0;

		if (n < 0)
			atomic_compare_exchange_strong(&r->error, &none, n);
		else
			pages += (size_t)n;
	}
	atomic_store_explicit(&r->complete, until, memory_order_release);
	return pages * r->layout.size;
}

/* ---- the thread ---- */

static void add_one(int fd)
{
	const u64 one = 1;
	const ssize_t n = write(fd, &one, sizeof(one));

	(void)n; /* a counter that is full is readable all the same */
}

static u64 take_count(int fd)
{
	u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void *work(void *arg)
{
	struct page_reader *r = arg;

	r->tid = gettid();
	/*
	 * All it does is copy what others have written, so that it can be let through first. Nice,
	 * not real time: it must never take a CPU for itself. Without the privilege it goes
	 * without.
	 */
	setpriority(PRIO_PROCESS, (id_t)r->tid, -20);
	add_one(r->answer);
	while (!atomic_load(&r->quit)) {
		void (*order)(u32 argument);
		/* What cannot be read stays readable. */
		const bool begun = atomic_load(&r->begun) && !atomic_load(&r->error);
		const bool full = begun && is_full(r);
		struct pollfd set[] = {
			{.fd = r->ask, .events = POLLIN},
			{.fd = begun && !full ? r->epoll : -1, .events = POLLIN},
		};
		bool asked;

		poll(set, ARRAY_SIZE(set), full ? FULL_MS : -1);
		asked = set[0].revents && take_count(r->ask);
		order = asked ? atomic_exchange(&r->order, NULL) : NULL;
		if (order)
			order(r->order_argument);
		if (atomic_load(&r->begun) && (asked || set[1].revents) &&
		    (!is_full(r) || atomic_load(&r->all)) && read_all(r) >= TELL_BYTES)
			add_one(r->tell);
		if (asked)
			add_one(r->answer);
	}
	return NULL;
}

int page_reader_thread(struct page_reader *r, pid_t *ret_tid)
{
	sigset_t all, old;
	int err;

	r->ask = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->answer = eventfd(0, EFD_CLOEXEC);
	r->tell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->ask < 0 || r->answer < 0 || r->tell < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&r->thread, NULL, work, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return err;
	r->has_thread = true;
	take_count(r->answer);
	*ret_tid = r->tid;
	return 0;
}

void page_reader_order(struct page_reader *r, void (*fn)(u32 argument), u32 argument)
{
	if (!r->has_thread)
		return;
	r->order_argument = argument;
	atomic_store(&r->order, fn);
	add_one(r->ask);
	take_count(r->answer);
}

/* ---- the user's side ---- */

struct page_reader *page_reader_new(void)
{
	struct page_reader *r = xzalloc(sizeof(*r));

	r->epoll = r->ask = r->answer = r->tell = -1;
	return r;
}

static int watch(struct page_reader *r)
{
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		return -errno;
	for (u32 i = 0; i < r->count; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};

		if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->fds[i], &e))
			return -errno;
	}
	return 0;
}

int page_reader_begin(struct page_reader *r, const struct page_reader_source *source, size_t bound)
{
	int err;

	r->layout = *source->layout;
	r->is_mono = source->is_mono;
	r->count = source->count;
	r->bound = MAX(bound, (size_t)YOUNG_PAGES * r->layout.size * r->count);
	r->fds = xreallocarray(NULL, r->count, sizeof(*r->fds));
	memcpy(r->fds, source->fds, r->count * sizeof(*r->fds));
	r->queues = xzalloc(r->count * sizeof(*r->queues));
	err = watch(r);
	if (err)
		return err;
	atomic_store(&r->begun, true);
	if (r->has_thread)
		add_one(r->ask);
	if (r->has_thread)
		take_count(r->answer);
	return 0;
}

int page_reader_pass(struct page_reader *r, bool all)
{
	atomic_store(&r->all, all);
	if (r->has_thread) {
		add_one(r->ask);
		take_count(r->answer);
	} else if (all || !is_full(r)) {
		read_all(r);
	}
	return atomic_load(&r->error);
}

u64 page_reader_complete(const struct page_reader *r)
{
	return atomic_load_explicit(&r->complete, memory_order_acquire);
}

struct raw_page *page_reader_take(struct page_reader *r, u32 index)
{
	struct raw_page *p = take_all(&r->queues[index]), *oldest = NULL;

	while (p) {
		struct raw_page *const next = p->next;

		p->next = oldest;
		oldest = p;
		p = next;
	}
	return oldest;
}

void page_reader_give_back(struct page_reader *r, struct raw_page *p)
{
	push(&r->unused, p);
	atomic_fetch_sub_explicit(&r->pending, r->layout.size, memory_order_relaxed);
}

size_t page_reader_pending(const struct page_reader *r)
{
	return atomic_load_explicit(&r->pending, memory_order_relaxed);
}

int page_reader_fd(const struct page_reader *r)
{
	return r->has_thread ? r->tell : r->epoll;
}

void page_reader_heard(struct page_reader *r)
{
	if (r->has_thread)
		take_count(r->tell);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void page_reader_release(struct page_reader *r)
{
	if (!r)
		return;
	if (r->has_thread) {
		atomic_store(&r->quit, true);
		add_one(r->ask);
		pthread_join(r->thread, NULL);
	}
	for (size_t i = 0; i < r->chunks.len; i++)
		free(r->chunks.items[i]);
	vector_free(&r->chunks);
	close_fd(r->epoll);
	close_fd(r->ask);
	close_fd(r->answer);
	close_fd(r->tell);
	free(r->fds);
	free(r->queues);
	free(r);
}
