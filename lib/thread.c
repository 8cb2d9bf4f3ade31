// SPDX-License-Identifier: MIT
#include "thread.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	     4096
#define THREADS	     4096u /* a power of two */
#define PROBES	     64u
#define NAMES_MAX    16u /* names read at a time: each takes some microseconds */
#define BIT(context) (1u << PANTRACE_CONTEXT_##context)

/* Wiped in a forked child, as the rest of what the event path reads (internal.h). */
static struct threads {
	int32_t pid;
	uint32_t uid, gid;
	uint32_t used; /* places up to the last one that was ever taken */
	uint32_t next; /* whose name is read next */
	struct pt_known known[THREADS];
} * threads;

/* ---- the event path ---- */

/*
 * An unlocked mutex with priority inheritance. Its word holds the id of the thread that holds it,
 * as the kernel requires (futex(2)): a thread that locks one of its own, which takes no system
 * call, finds its id there.
 */
static pthread_mutex_t mutex_template;
static size_t mutex_word;

__attribute__((constructor(101))) static void mutex_prepare(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	int32_t words[sizeof(mutex) / sizeof(int32_t)];

	if (pthread_mutexattr_init(&attributes))
		return;
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex_template, &attributes);
	pthread_mutexattr_destroy(&attributes);
	memcpy(&mutex, &mutex_template, sizeof(mutex));
	if (pthread_mutex_trylock(&mutex))
		return;
	memcpy(words, &mutex, sizeof(mutex));
	while (mutex_word + 1 < sizeof(words) / sizeof(*words) &&
	       (words[mutex_word] & FUTEX_TID_MASK) != (int32_t)syscall(SYS_gettid))
		mutex_word++;
	pthread_mutex_unlock(&mutex);
}

int32_t pt_thread_id(void)
{
	pthread_mutex_t mutex;
	int32_t words[sizeof(mutex) / sizeof(int32_t)];

	memcpy(&mutex, &mutex_template, sizeof(mutex));
	if (pthread_mutex_trylock(&mutex))
		return 0;
	memcpy(words, &mutex, sizeof(mutex));
	pthread_mutex_unlock(&mutex);
	return words[mutex_word] & FUTEX_TID_MASK;
}

/* The entry of TID; takes a free one if it has none. */
static struct pt_known *place_of(int32_t tid)
{
	struct pt_known *free = NULL;
	uint32_t used;
	int32_t none;

	if (!threads || tid <= 0)
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct pt_known *const known = &threads->known[((uint32_t)tid + i) % THREADS];
		const int32_t has = __atomic_load_n(&known->tid, __ATOMIC_ACQUIRE);

		if (has == tid)
			return known;
		if (!has && !free)
			free = known;
	}
	if (!free)
		return NULL;
	none = 0;
	if (!__atomic_compare_exchange_n(&free->tid, &none, tid, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE) &&
	    none != tid)
		/* another thread was faster: try again, there are not more attempts than threads */
		return place_of(tid);
	used = __atomic_load_n(&threads->used, __ATOMIC_RELAXED);
	while (used < (uint32_t)(free - threads->known) + 1 &&
	       !__atomic_compare_exchange_n(&threads->used, &used,
					    (uint32_t)(free - threads->known) + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return free;
}

struct pt_known *pt_known_get(int32_t tid, uint32_t wants)
{
	struct pt_known *const known = place_of(tid);

	if (known && wants & ~__atomic_load_n(&known->wants, __ATOMIC_RELAXED))
		__atomic_fetch_or(&known->wants, wants, __ATOMIC_RELAXED);
	return known;
}

/*
 * Reads the valid one of two copies, N bytes each, at COPIES of KNOWN; or zeros. If the helper is
 * stopped while writing, the other copy stays valid: nobody waits for it.
 */
static void known_read(const struct pt_known *known, const void *copies, void *to, size_t n)
{
	for (int i = 0; i < 1000; i++) {
		const uint32_t before = __atomic_load_n(&known->sequence, __ATOMIC_ACQUIRE);
		const char *const from = (const char *)copies + (before & 1) * n;

		for (size_t at = 0; at < n; at += 8)
			*(uint64_t *)((char *)to + at) =
				__atomic_load_n((const uint64_t *)(from + at), __ATOMIC_ACQUIRE);
		/* the loads are ordered by acquire: no fence, which TSan does not support */
		if (before == __atomic_load_n(&known->sequence, __ATOMIC_RELAXED))
			return;
	}
	memset(to, 0, n);
}

static void name_of(const struct pt_known *known, uint64_t ret[2])
{
	ret[0] = ret[1] = 0;
	if (known)
		known_read(known, known->name, ret, sizeof(known->name[0]));
}

void pt_known_name(struct pt_known *known, char ret[16])
{
	uint64_t name[2];

	if (known && !__atomic_load_n(&known->asked, __ATOMIC_RELAXED))
		__atomic_store_n(&known->asked, 1, __ATOMIC_RELAXED);
	name_of(known, name);
	/* until it is known, the name of the process, which is that of its first thread */
	if (!name[0] && threads)
		name_of(place_of(pt_threads_pid()), name);
	memcpy(ret, name, 16);
}

int32_t pt_threads_pid(void)
{
	return threads ? __atomic_load_n(&threads->pid, __ATOMIC_RELAXED) : 0;
}

void pt_threads_user(uint32_t *ret_uid, uint32_t *ret_gid)
{
	*ret_uid = threads ? __atomic_load_n(&threads->uid, __ATOMIC_RELAXED) : 0;
	*ret_gid = threads ? __atomic_load_n(&threads->gid, __ATOMIC_RELAXED) : 0;
}

struct pt_range pt_known_stack(struct pt_known *known, uintptr_t address)
{
	struct pt_range range = {0, 0};

	if (!known)
		return range;
	known_read(known, known->stack, &range, sizeof(range));
	if (address >= range.low && address < range.high)
		return range;
	__atomic_store_n(&known->stack_wanted, address, __ATOMIC_RELAXED);
	return (struct pt_range){0, 0};
}

/* ---- the helper ---- */

static int threads_get(void)
{
	struct threads *made;

	if (threads)
		return 0;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return -errno;
	if (madvise(made, sizeof(*made), MADV_WIPEONFORK)) {
		const int error = errno;

		munmap(made, sizeof(*made));
		return -error;
	}
	__atomic_store_n(&threads, made, __ATOMIC_RELEASE);
	return 0;
}

/* Only system calls, here and below: malloc() may be traced. */
static void known_write(struct pt_known *known, void *copies, const void *from, size_t n)
{
	for (size_t copy = 0; copy < 2; copy++) {
		char *const to = (char *)copies + copy * n;

		/* readers switch to the other copy */
		__atomic_fetch_add(&known->sequence, 1, __ATOMIC_ACQ_REL);
		for (size_t at = 0; at < n; at += 8)
			__atomic_store_n((uint64_t *)(to + at),
					 *(const uint64_t *)((const char *)from + at),
					 __ATOMIC_RELEASE);
	}
}

static void name_read(struct pt_known *known)
{
	uint64_t name[3] = {0};
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm",
		 __atomic_load_n(&known->tid, __ATOMIC_RELAXED));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, name, 16);
	close(fd);
	if (n <= 0)
		return;
	((char *)name)[((char *)name)[n - 1] == '\n' ? n - 1 : n] = 0;
	name[1] &= ~0ull >> 8;
	known_write(known, known->name, name, 16);
}

static const struct {
	uint64_t config;
	uint32_t context;
	unsigned int period; /* 1: each is a sample, in a ring after the page */
	size_t size;
} counters[PT_COUNTERS] = {
	[PT_COUNTER_SWITCHES] = {PERF_COUNT_SW_CONTEXT_SWITCHES, BIT(CONTEXT_SWITCHES), 0, PAGE},
	[PT_COUNTER_FAULTS] = {PERF_COUNT_SW_PAGE_FAULTS, BIT(PAGE_FAULTS), 1, 2 * PAGE},
};

/* No descriptor stays open: the page keeps the counter alive. NULL with errno. */
static void *counter_map(unsigned int i, int32_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = counters[i].config,
		.sample_period = counters[i].period,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, counters[i].size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return NULL;
	madvise(page, counters[i].size, MADV_DONTFORK);
	return page;
}

static void counters_open(struct pt_known *known)
{
	const uint32_t wants = __atomic_load_n(&known->wants, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		if (wants & counters[i].context && !known->page[i])
			__atomic_store_n(&known->page[i], counter_map(i, known->tid),
					 __ATOMIC_RELEASE);
}

static unsigned int hex_digit(char c)
{
	return c >= 'a' ? (unsigned int)(c - 'a' + 10) : (unsigned int)(c - '0');
}

/* The mapping that ADDRESS is in. */
static struct pt_range mapping_of(uintptr_t address)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	enum { LOW, HIGH, REST } part = LOW;
	struct pt_range now = {0, 0};
	char text[1024];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			const char c = text[i];

			if (c == '\n') {
				now = (struct pt_range){0, 0};
				part = LOW;
			} else if (part == LOW && c == '-') {
				part = HIGH;
			} else if (part == LOW) {
				now.low = now.low << 4 | hex_digit(c);
			} else if (part == HIGH && c != ' ') {
				now.high = now.high << 4 | hex_digit(c);
			} else if (part == HIGH) {
				part = REST;
				if (address >= now.low && address < now.high)
					goto out;
			}
		}
	}
	now = (struct pt_range){0, 0};
out:
	if (fd >= 0)
		close(fd);
	return now;
}

static void stack_find(struct pt_known *known)
{
	const uintptr_t address = __atomic_exchange_n(&known->stack_wanted, 0, __ATOMIC_RELAXED);
	struct pt_range range;

	if (!address)
		return;
	range = mapping_of(address);
	known_write(known, known->stack, &range, sizeof(range));
}

/*
 * Where the stack of a thread is that has not spoken yet: what the C library registers with the
 * kernel, and the rest of what it keeps of a thread, is at the upper end of it.
 */
static void stack_guess(struct pt_known *known)
{
	extern void *__libc_stack_end __attribute__((weak));
	void *head = NULL;
	size_t size;

	if (known->stack[0].high)
		return;
	if (known->tid == threads->pid && &__libc_stack_end)
		known->stack_wanted = (uintptr_t)__libc_stack_end;
	else if (!syscall(SYS_get_robust_list, known->tid, &head, &size))
		known->stack_wanted = (uintptr_t)head;
	stack_find(known);
}

static void serve(struct pt_known *known)
{
	const uint32_t wants = __atomic_load_n(&known->wants, __ATOMIC_RELAXED);

	if (wants & BIT(PROCNAME))
		name_read(known);
	if (wants & BIT(USER_STACK))
		stack_find(known);
	counters_open(known);
}

static bool is_gone(int32_t tid)
{
	return syscall(SYS_tgkill, threads->pid, tid, 0) && errno == ESRCH;
}

/* Its thread has ended. */
static void forget(struct pt_known *known)
{
	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		if (known->page[i])
			munmap((void *)known->page[i], counters[i].size);
	memset((char *)known + sizeof(known->tid), 0, sizeof(*known) - sizeof(known->tid));
	__atomic_store_n(&known->tid, 0, __ATOMIC_RELEASE);
}

static void prepare(int32_t tid, uint32_t wants)
{
	struct pt_known *const known = pt_known_get(tid, wants);

	if (!known)
		return;
	if (wants & BIT(USER_STACK))
		stack_guess(known);
	serve(known);
}

static int prepare_all(uint32_t wants)
{
	char entries[2048] __attribute__((aligned(8)));
	const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *const entry = (const void *)(entries + at);
			int32_t tid = 0;

			at += entry->size;
			for (const char *c = entry->name; *c >= '0' && *c <= '9'; c++)
				tid = tid * 10 + *c - '0';
			if (tid)
				prepare(tid, wants);
		}
	}
	close(fd);
	return 0;
}

static void user_read(void)
{
	__atomic_store_n(&threads->uid, getuid(), __ATOMIC_RELAXED);
	__atomic_store_n(&threads->gid, getgid(), __ATOMIC_RELAXED);
}

int pt_threads_prepare(uint32_t wants)
{
	int rc;

	wants &= BIT(PROCNAME) | BIT(CONTEXT_SWITCHES) | BIT(PAGE_FAULTS) | BIT(USER_STACK);
	rc = threads_get();
	if (rc)
		return rc;
	__atomic_store_n(&threads->pid, (int32_t)getpid(), __ATOMIC_RELAXED);
	user_read();
	if (!wants)
		return 0;
	for (unsigned int i = 0; i < PT_COUNTERS; i++) {
		void *page;

		if (!(wants & counters[i].context))
			continue;
		page = pt_control_confined() ? NULL : counter_map(i, 0);
		if (!page)
			return -EACCES;
		munmap(page, counters[i].size);
	}
	return prepare_all(wants);
}

bool pt_threads_follow(void)
{
	uint32_t names = 0, used;

	if (!threads)
		return false;
	user_read();
	used = __atomic_load_n(&threads->used, __ATOMIC_RELAXED);
	for (uint32_t n = 0; n < used; n++) {
		const uint32_t i = (threads->next + n) % used;
		struct pt_known *const known = &threads->known[i];
		const int32_t tid = __atomic_load_n(&known->tid, __ATOMIC_ACQUIRE);
		const uint32_t wants = __atomic_load_n(&known->wants, __ATOMIC_RELAXED);

		if (!tid)
			continue;
		if (is_gone(tid)) {
			forget(known);
			continue;
		}
		if (wants & BIT(PROCNAME) && names < NAMES_MAX &&
		    (tid == threads->pid ||
		     __atomic_exchange_n(&known->asked, 0, __ATOMIC_RELAXED))) {
			name_read(known);
			if (++names == NAMES_MAX)
				threads->next = i + 1;
		}
		if (wants & BIT(USER_STACK))
			stack_find(known);
		counters_open(known);
	}
	return used;
}

bool pt_thread_served(int32_t tid)
{
	const struct pt_known *const known = place_of(tid);

	if (!known)
		return !threads;
	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		if (known->wants & counters[i].context &&
		    !__atomic_load_n(&known->page[i], __ATOMIC_ACQUIRE))
			return false;
	/* the second copy is written while the first one is whole */
	return !(known->wants & BIT(PROCNAME)) ||
	       __atomic_load_n(&known->name[1][0], __ATOMIC_RELAXED);
}
