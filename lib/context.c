// SPDX-License-Identifier: MIT
/*
 * A thread keeps its ids, its name and its counters in thread-local storage, found out at its first
 * event and again in a forked child. Costs, an event:
 *
 *	vpid, vtid, procname	a copy of up to 24 bytes; the name is asked for again after NAME_AGE
 *	cpu_id, ip		a load and a store
 *	context_switches	two loads: the kernel writes the count into a page whenever it puts the
 *				thread on a CPU (perf_swevent_add() calls perf_event_update_userpage(),
 *				kernel/events/core.c), which is exactly when this count changes
 *	page_faults		two loads and a shift: no page shows this count as it changes, but how far
 *				the ring of a perf event has been written does. Each fault is a sample of
 *				nothing, 8 bytes; one at a time is never throttled
 *				(perf_swevent_overflow()), and a ring that is mapped to be read only never
 *				full. A fault, 500 ns and more, takes some 100 ns longer
 *	user_stack		two loads a frame, along frame pointers
 *
 * No descriptor stays open: a page keeps its counter alive, and a program may close all
 * descriptors. Who may not count what the kernel does (kernel.perf_event_paranoid) gets both counts by
 * a system call.
 */
#include "context.h"
#include "section.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pantrace/ring.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define NAME_AGE (1u << 22) /* ticks after which a thread asks for its name again: 1 to 2 ms */
#define PAGE	 4096

struct range {
	uintptr_t low, high;
};

#define HEAD 12 /* bytes of a record before the contexts: time, id */

/* The most that contexts take. */
#define ROOM (4 + 4 + 16 + 4 + 8 + 8 + 8 + 2 + 8 * PT_STACK_DEPTH)

enum { SWITCHES, FAULTS };

/*
 * Offsets are known to the assembly in emit.c, which takes it for this process's if identity.pid is
 * that of the rings: set last.
 */
struct thread {
	struct { /* as the contexts are laid out */
		int32_t pid, tid;
		char name[16];
		char behind[8]; /* copied with what is before, in eights */
	} identity;
	uint64_t name_until; /* time stamp counter: then the name is asked for again */
	struct { /* without vtid */
		int32_t pid;
		char name[16];
	} apart;
	struct counter {
		const struct perf_event_mmap_page *page; /* NULL: not to be had, or not tried */
		uint64_t base; /* of the system call, if there is no page */
		bool tried;
	} counters[2];
	struct holder *holder; /* of the counters' pages, or NULL */
	bool opens;
	struct range stack[2]; /* the thread's, and an alternate one of signal handlers */
	unsigned int next_stack;
};
extern __thread struct thread pt_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
__thread struct thread pt_thread __attribute__((used, aligned(64)));

_Static_assert(offsetof(struct thread, identity) == 0, "emit.c");
_Static_assert(offsetof(struct thread, name_until) == 32, "emit.c");
_Static_assert(offsetof(struct thread, counters[SWITCHES].page) == 64, "emit.c");
_Static_assert(offsetof(struct thread, counters[FAULTS].page) == 88, "emit.c");
_Static_assert(offsetof(struct perf_event_mmap_page, offset) == 16, "emit.c");
_Static_assert(offsetof(struct perf_event_mmap_page, data_head) == 1024, "emit.c");

#define BIT(context)	(1u << (PANTRACE_CONTEXT_##context))
#define WANTED(context) (mask & BIT(context))

/* ---- the counts of context switches and page faults ---- */

#define FAULT_SIZE 8 /* of a record in the ring: struct perf_event_header */

/* Fails only where a filter of system calls wants it to. */
static void usage_read(struct rusage *ret)
{
	const int saved = errno;

	if (!syscall(SYS_getrusage, RUSAGE_THREAD, ret))
		return;
	*ret = (struct rusage){0};
	errno = saved;
}

static uint64_t switches_slowly(void)
{
	struct rusage usage;

	usage_read(&usage);
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static uint64_t faults_slowly(void)
{
	struct rusage usage;

	usage_read(&usage);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static const struct {
	uint64_t config;
	unsigned int period; /* 1: each is a sample, in a ring behind the page */
	size_t size;
	uint64_t (*slowly)(void);
} counters[] = {
	[SWITCHES] = {PERF_COUNT_SW_CONTEXT_SWITCHES, 0, PAGE, switches_slowly},
	[FAULTS] = {PERF_COUNT_SW_PAGE_FAULTS, 1, 2 * PAGE, faults_slowly},
};

/*
 * Whose pages are whose. No thread is told when another one ends, but by memory of malloc(), in which the
 * program may be just now: threads that begin look for some that have ended, and give their pages back.
 */
#define HOLDERS 1024 /* threads that have pages at once; others ask the system each time */
#define LOOKED	8    /* at by each that begins */
#define CHANGES -1   /* in place of a thread */

static struct holder {
	int32_t tid, pid; /* 0: nobody */
	void *page[2];
} holders[HOLDERS];
static uint32_t nr_holders, next_holder;

static bool lives(const struct holder *holder, int32_t tid)
{
	return tid == CHANGES ||
	       (tid && tid != pt_thread.identity.tid &&
		__atomic_load_n(&holder->pid, __ATOMIC_RELAXED) == pt_thread.identity.pid &&
		(!syscall(SYS_tgkill, pt_thread.identity.pid, tid, 0) || errno != ESRCH));
}

/* Gives back what is left of a thread that has ended. A parent's pages are not mapped in its child. */
static bool holder_clear(struct holder *holder)
{
	int32_t tid = __atomic_load_n(&holder->tid, __ATOMIC_ACQUIRE);

	if (lives(holder, tid) ||
	    !__atomic_compare_exchange_n(&holder->tid, &tid, CHANGES, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	for (int i = 0; i < 2; i++) {
		if (holder->page[i] && holder->pid == pt_thread.identity.pid)
			syscall(SYS_munmap, holder->page[i], counters[i].size);
		holder->page[i] = NULL;
	}
	__atomic_store_n(&holder->pid, pt_thread.identity.pid, __ATOMIC_RELAXED);
	return true;
}

/* The place of the calling thread, or NULL. */
static struct holder *holder_take(void)
{
	const uint32_t nr = __atomic_load_n(&nr_holders, __ATOMIC_RELAXED);
	struct holder *found = NULL;
	uint32_t at;

	for (uint32_t i = 0; i < LOOKED && i < nr; i++) {
		at = __atomic_fetch_add(&next_holder, 1, __ATOMIC_RELAXED) %
		     (nr < HOLDERS ? nr : HOLDERS);
		if (!holder_clear(&holders[at]))
			continue;
		if (found)
			__atomic_store_n(&holders[at].tid, 0, __ATOMIC_RELEASE);
		else
			found = &holders[at];
	}
	if (!found && nr < HOLDERS) {
		at = __atomic_fetch_add(&nr_holders, 1, __ATOMIC_RELAXED);
		found = at < HOLDERS && holder_clear(&holders[at]) ? &holders[at] : NULL;
	}
	if (found)
		__atomic_store_n(&found->tid, pt_thread.identity.tid, __ATOMIC_RELEASE);
	return found;
}

/* By system calls alone: wrappers are points where a thread is cancelled, or where a sanitizer runs handlers. */
static void *counter_map(int i)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = counters[i].config,
		.sample_period = counters[i].period,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0)
		return NULL;
	page = (void *)syscall(SYS_mmap, NULL, counters[i].size, PROT_READ, MAP_SHARED, fd, 0l);
	syscall(SYS_close, fd);
	if (page == MAP_FAILED)
		return NULL;
	syscall(SYS_madvise, page, counters[i].size, MADV_DONTFORK);
	return page;
}

/* Handlers may have events, of the same thread: they wait while it begins something. */
static uint64_t signals_hold(void)
{
	const uint64_t all = ~0ull;
	uint64_t old = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(old));
	return old;
}

static void signals_release(uint64_t old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

static __attribute__((noinline)) void counter_open(int i)
{
	struct counter *const c = &pt_thread.counters[i];
	const int saved = errno;
	const uint64_t old = signals_hold();

	if (!c->tried) {
		c->tried = true;
		c->base = counters[i].slowly();
		/* TSan runs handlers that it put off at atomic operations */
		if (!pt_thread.opens) {
			pt_thread.opens = true;
			if (!pt_thread.holder)
				pt_thread.holder = holder_take();
			if (pt_thread.holder)
				c->page = pt_thread.holder->page[i] = counter_map(i);
			pt_thread.opens = false;
		}
	}
	signals_release(old);
	errno = saved;
}

static uint64_t switches_in(const struct perf_event_mmap_page *page)
{
	uint32_t sequence;
	uint64_t count;

	do { /* the thread itself is not on a CPU while the kernel writes: mostly once */
		sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		count = (uint64_t)__atomic_load_n(&page->offset, __ATOMIC_ACQUIRE);
	} while (sequence != __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE));
	return count;
}

static uint64_t count_of(int i)
{
	const struct counter *const c = &pt_thread.counters[i];

	if (__builtin_expect(!c->tried, 0))
		counter_open(i);
	if (!c->page)
		return counters[i].slowly() - c->base;
	if (i == SWITCHES)
		return switches_in(c->page);
	return __atomic_load_n(&c->page->data_head, __ATOMIC_RELAXED) / FAULT_SIZE;
}

/* ---- the stack ---- */

static unsigned int hex_digit(char c)
{
	return c >= 'a' ? (unsigned int)(c - 'a' + 10) : (unsigned int)(c - '0');
}

/* The mapping that holds ADDRESS, from /proc/self/maps by system calls alone. */
static struct range mapping_of(uintptr_t address)
{
	struct range now = {0, 0};
	enum { LOW, HIGH, REST } part = LOW;
	const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[1024];
	long n;

	if (fd < 0)
		return now;
	while ((n = syscall(SYS_read, fd, text, sizeof(text))) > 0) {
		for (long i = 0; i < n; i++) {
			const char c = text[i];

			if (c == '\n') {
				now = (struct range){0, 0};
				part = LOW;
			} else if (part == LOW) {
				if (c == '-')
					part = HIGH;
				else
					now.low = now.low << 4 | hex_digit(c);
			} else if (part == HIGH) {
				if (c != ' ') {
					now.high = now.high << 4 | hex_digit(c);
					continue;
				}
				part = REST;
				if (address >= now.low && address < now.high)
					goto out;
			}
		}
	}
	now = (struct range){0, 0};
out:
	syscall(SYS_close, fd);
	return now;
}

static uintptr_t stack_end(uintptr_t address)
{
	const int saved = errno;

	for (unsigned int i = 0; i < 2; i++)
		if (address >= pt_thread.stack[i].low && address < pt_thread.stack[i].high)
			return pt_thread.stack[i].high;
	pt_thread.next_stack ^= 1;
	pt_thread.stack[pt_thread.next_stack] = mapping_of(address);
	errno = saved;
	/* a stack grows down: only its end is remembered for certain */
	return pt_thread.stack[pt_thread.next_stack].high;
}

/* Each frame is {frame of the caller, return address}; what is none ends the walk. */
__attribute__((no_sanitize("address", "undefined"))) static unsigned char *
put_stack(const void *ip, void *frame, unsigned char *to)
{
	unsigned char *const count_at = to;
	uintptr_t at = (uintptr_t)frame;
	const uintptr_t end = stack_end(at);
	uint64_t address = (uintptr_t)ip;
	uint16_t count = 1;

	to += 2;
	memcpy(to, &address, 8);
	to += 8;
	while (count < PT_STACK_DEPTH) {
		uintptr_t next;

		if (at + 16 > end || at & 7)
			break;
		memcpy(&next, (const void *)at, 8);
		if (next <= at || next + 16 > end || next & 7)
			break;
		memcpy(&address, (const void *)(next + 8), 8);
		if (!address)
			break;
		memcpy(to, &address, 8);
		to += 8;
		count++;
		at = next;
	}
	memcpy(count_at, &count, 2);
	return to;
}

/* ---- all of them ---- */

static __attribute__((noinline)) void name_read(void)
{
	const int saved = errno;

	syscall(SYS_prctl, PR_GET_NAME, pt_thread.identity.name);
	errno = saved; /* a filter of system calls may refuse it */
	memcpy(pt_thread.apart.name, pt_thread.identity.name, sizeof(pt_thread.apart.name));
	pt_thread.name_until = __rdtsc() + NAME_AGE;
}

/* A thread's first event, or the first in a forked child, where the parent's pages are not mapped. */
static __attribute__((noinline)) void thread_begin(void)
{
	const int32_t pid = (int32_t)syscall(SYS_getpid);
	const int saved = errno;
	const uint64_t old = signals_hold();

	if (pt_thread.identity.pid != pid) {
		memset(pt_thread.counters, 0, sizeof(pt_thread.counters));
		pt_thread.holder = NULL;
		pt_thread.opens = false;
		pt_thread.identity.tid = (int32_t)syscall(SYS_gettid);
		pt_thread.apart.pid = pid;
		name_read();
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		pt_thread.identity.pid = pid;
	}
	signals_release(old);
	errno = saved;
}

/* Where vpid, vtid and procname stand together in struct thread, as far as they are wanted. */
static const struct {
	unsigned char from, size;
} parts[] = {
	[BIT(VPID)] = {0, 4},
	[BIT(VTID)] = {4, 4},
	[BIT(VPID) | BIT(VTID)] = {0, 8},
	[BIT(PROCNAME)] = {8, 16},
	[BIT(VPID) | BIT(PROCNAME)] = {offsetof(struct thread, apart), 20},
	[BIT(VTID) | BIT(PROCNAME)] = {4, 20},
	[BIT(VPID) | BIT(VTID) | BIT(PROCNAME)] = {0, 24},
};

#define IDENTITY (BIT(VPID) | BIT(VTID) | BIT(PROCNAME))

/* vpid, vtid, procname. *SPLIT: up to where they were stored in eights. */
static inline unsigned char *put_identity(uint32_t mask, unsigned char *to, uint64_t *split)
{
	const uint32_t part = mask & IDENTITY;
	const char *const from = (const char *)&pt_thread + parts[part].from;

	for (int i = 0; i < 24; i += 8) {
		uint64_t eight;

		memcpy(&eight, from + i, 8);
		memcpy(to + i, &eight, 8);
	}
	*split += parts[part].size & ~7u;
	return to + parts[part].size;
}

static inline unsigned char *put_u64(unsigned char *to, uint64_t value)
{
	memcpy(to, &value, 8);
	return to + 8;
}

/* What may be another at each event. */
static inline unsigned char *put_changing(uint32_t mask, const struct rseq *area, const void *ip,
					  void *frame, unsigned char *to)
{
	if (WANTED(CPU_ID)) {
		int cpu = (int)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);

		if (__builtin_expect(cpu < 0, 0))
			cpu = sched_getcpu();
		memcpy(to, &cpu, 4);
		to += 4;
	}
	if (WANTED(CONTEXT_SWITCHES))
		to = put_u64(to, count_of(SWITCHES));
	if (WANTED(PAGE_FAULTS))
		to = put_u64(to, count_of(FAULTS));
	if (WANTED(IP))
		to = put_u64(to, (uintptr_t)ip);
	if (WANTED(USER_STACK))
		to = put_stack(ip, frame, to);
	return to;
}

static __attribute__((noinline)) bool record_slowly(struct pt_session *session, uint32_t generation,
						    const void *head, size_t head_size,
						    const void *record, size_t size)
{
	unsigned char longer[(head_size + size + 8) & ~7ul] __attribute__((aligned(8)));

	memcpy(longer, head, head_size);
	memcpy(longer + head_size, (const char *)record + HEAD, size - HEAD);
	return pt_record_slowly(session, generation, longer, head_size + size - HEAD);
}

bool pt_context_record(struct pt_session *session, uint32_t generation, const void *record,
		       size_t size, const void *ip, void *frame)
{
	const uint32_t mask = __atomic_load_n(&session->contexts, __ATOMIC_RELAXED) & PT_CONTEXTS;
	const bool of_thread = __atomic_load_n(&session->per_thread, __ATOMIC_RELAXED);
	struct rseq *const area = rseq_area();
	unsigned char head[HEAD + ROOM + 8] __attribute__((aligned(8)));
	enum outcome outcome = NO_RING;
	unsigned char *to = head + HEAD;
	uint64_t split = HEAD, until;

	if (__builtin_expect(
		    pt_thread.identity.pid != __atomic_load_n(&session->pid, __ATOMIC_RELAXED), 0))
		thread_begin();
	else if (of_thread && WANTED(PROCNAME) && __rdtsc() > pt_thread.name_until)
		name_read();
	/* before the name: a handler that comes between has both anew, of which the name is not here */
	until = pt_thread.name_until;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(head + 8, (const char *)record + 8, 4);
	to = put_identity(mask, to, &split);
	if (mask >> PANTRACE_CONTEXT_CPU_ID)
		to = put_changing(mask, area, ip, frame, to);
	if (__builtin_expect(!of_thread, 1))
		outcome = section_contexts(session, generation, area, head, split,
					   (uint64_t)(to - head), record, size, until);
	/* one that was interrupted may not have come to look at the time */
	if (outcome != DONE && WANTED(PROCNAME) && __rdtsc() > until) {
		name_read();
		memcpy(head + HEAD, (const char *)&pt_thread + parts[mask & IDENTITY].from,
		       parts[mask & IDENTITY].size);
	}
	return outcome == DONE ||
	       record_slowly(session, generation, head, (size_t)(to - head), record, size);
}

void pt_context_lay_out(struct pt_session *session, uint32_t flags, uint32_t mask)
{
	const uint32_t part = mask & IDENTITY;

	session->identity =
		(char *)&pt_thread - (char *)__builtin_thread_pointer() + parts[part].from;
	session->identity_size = parts[part].size;
	session->size = session->identity_size + (WANTED(CPU_ID) ? 4 : 0) +
			(WANTED(CONTEXT_SWITCHES) ? 8 : 0) + (WANTED(PAGE_FAULTS) ? 8 : 0) +
			(WANTED(IP) ? 8 : 0);
	session->one = 1;
	session->fits = session->sub_mask - (mask ? session->size + 24 : 0);
	__atomic_store_n(&session->contexts, mask | flags, __ATOMIC_RELAXED);
}
