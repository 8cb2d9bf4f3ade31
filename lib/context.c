// SPDX-License-Identifier: MIT
/*
 * A thread keeps its ids, its name and its counters in thread-local storage, found out at its first
 * event and again in a forked child. Costs, an event:
 *
 *	vpid, vtid, procname	a copy of up to 24 bytes; the name is asked for again after NAME_AGE
 *	cpu_id, ip		a load and a store
 *	context_switches	two loads: the kernel writes the count into a page whenever it puts
 *the thread on a CPU (perf_swevent_add() calls perf_event_update_userpage(), kernel/events/core.c),
 *which is exactly when this count changes page_faults		a system call: no page shows this
 *count as it changes user_stack		two loads a frame, along frame pointers
 *
 * No descriptor stays open: a page keeps its counter alive, and a program may close all
 * descriptors.
 */
#include "context.h"
#include "section.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pantrace/ring.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define NAME_AGE (1u << 22) /* ticks after which a thread asks for its name again: 1 to 2 ms */
#define NAME_EVENTS                                                                                \
	64 /* and on the long way only every so many events: reading the clock costs more than all \
	      else */
#define PAGE 4096

struct range {
	uintptr_t low, high;
};

#define HEAD 12 /* bytes of a record before the contexts: time, id */

/* The most that contexts take. */
#define ROOM (4 + 4 + 16 + 4 + 8 + 8 + 8 + 2 + 8 * PT_STACK_DEPTH)

/* Offsets are known to the assembly in emit.c. */
static __thread struct thread {
	struct { /* as the contexts are laid out */
		int32_t pid, tid;
		char name[16];
		char behind[8]; /* copied with what is before, in eights */
	} identity;
	uint64_t name_until; /* time stamp counter: then the name is asked for again */
	uint32_t unprepared; /* contexts that go the long way on this thread */
	const struct perf_event_mmap_page
		*switches; /* of zeros: not asked for yet, or not to be had */
	bool switches_tried;
	uint64_t switches_base;
	struct range stack[2]; /* the thread's, and an alternate one of signal handlers */
	unsigned int next_stack;
	uint32_t events; /* that went the long way */
} self __attribute__((tls_model("initial-exec"))) = {.unprepared = ~0u};

_Static_assert(offsetof(struct thread, identity) == 0, "emit.c");
_Static_assert(offsetof(struct thread, name_until) == 32, "emit.c");
_Static_assert(offsetof(struct thread, unprepared) == 40, "emit.c");
_Static_assert(offsetof(struct thread, switches) == 48, "emit.c");
_Static_assert(offsetof(struct perf_event_mmap_page, offset) == 16, "emit.c");

#define BIT(context)	(1u << (PANTRACE_CONTEXT_##context))
#define WANTED(context) (mask & BIT(context))

static const struct perf_event_mmap_page no_switches;

/* ---- the count of context switches ---- */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void page_unmap(void *page)
{
	/* in a forked child it is another's place by now */
	if (self.switches != page || self.identity.pid != getpid())
		return;
	self.unprepared |= BIT(CONTEXT_SWITCHES);
	self.switches = &no_switches;
	munmap(page, PAGE);
}

static void key_make(void)
{
	if (pthread_key_create(&key, page_unmap))
		key = (pthread_key_t)-1;
}

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

static __attribute__((noinline)) void switches_open(void)
{
	const int saved = errno;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	void *page = MAP_FAILED;
	int fd;

	self.switches_tried = true;
	self.switches_base = switches_slowly();
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (page == MAP_FAILED)
		goto out;
	madvise(page, PAGE, MADV_DONTFORK);
	pthread_once(&key_once, key_make);
	if (key == (pthread_key_t)-1 || pthread_setspecific(key, page))
		munmap(page, PAGE);
	else {
		self.switches = page;
		self.unprepared &= ~BIT(CONTEXT_SWITCHES);
	}
out:
	errno = saved;
}

static uint64_t switches(void)
{
	uint32_t sequence;
	uint64_t count;

	if (__builtin_expect(!self.switches_tried, 0))
		switches_open();
	if (self.switches == &no_switches)
		return switches_slowly() - self.switches_base;
	do { /* the thread itself is not on a CPU while the kernel writes: mostly once */
		sequence = __atomic_load_n(&self.switches->lock, __ATOMIC_ACQUIRE);
		count = (uint64_t)__atomic_load_n(&self.switches->offset, __ATOMIC_ACQUIRE);
	} while (sequence != __atomic_load_n(&self.switches->lock, __ATOMIC_ACQUIRE));
	return count;
}

static uint64_t page_faults(void)
{
	struct rusage usage;

	usage_read(&usage);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
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
		if (address >= self.stack[i].low && address < self.stack[i].high)
			return self.stack[i].high;
	self.next_stack ^= 1;
	self.stack[self.next_stack] = mapping_of(address);
	errno = saved;
	/* a stack grows down: only its end is remembered for certain */
	return self.stack[self.next_stack].high;
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
	prctl(PR_GET_NAME, self.identity.name);
	self.name_until = __rdtsc() + NAME_AGE;
}

/* A thread's first event, or the first in a forked child, where the parent's page is not mapped. */
static __attribute__((noinline)) void thread_begin(void)
{
	self.identity.pid = (int32_t)syscall(SYS_getpid);
	self.identity.tid = (int32_t)syscall(SYS_gettid);
	self.unprepared =
		BIT(CONTEXT_SWITCHES) | BIT(PAGE_FAULTS) | BIT(USER_STACK) | PT_CONTEXTS_APART;
	self.switches = &no_switches;
	self.switches_tried = false;
	name_read();
}

/* vpid, vtid and procname, as far as they stand together, in struct thread's identity. */
static const struct {
	unsigned char from, size;
} parts[] = {
	[BIT(VPID)] = {0, 4},
	[BIT(VTID)] = {4, 4},
	[BIT(VPID) | BIT(VTID)] = {0, 8},
	[BIT(PROCNAME)] = {8, 16},
	[BIT(VTID) | BIT(PROCNAME)] = {4, 20},
	[BIT(VPID) | BIT(VTID) | BIT(PROCNAME)] = {0, 24},
};

#define IDENTITY (BIT(VPID) | BIT(VTID) | BIT(PROCNAME))
#define APART	 (BIT(VPID) | BIT(PROCNAME))

/* vpid, vtid, procname. *SPLIT: up to where they were stored in eights. */
static inline unsigned char *put_identity(uint32_t mask, unsigned char *to, uint64_t *split)
{
	const uint32_t part = mask & IDENTITY;
	const char *const from = (const char *)&self.identity + parts[part].from;

	if (__builtin_expect(part == APART, 0)) {
		memcpy(to, &self.identity.pid, 4);
		memcpy(to + 4, self.identity.name, 16);
		return to + 20;
	}
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
		to = put_u64(to, switches());
	if (WANTED(PAGE_FAULTS))
		to = put_u64(to, page_faults());
	if (WANTED(IP))
		to = put_u64(to, (uintptr_t)ip);
	if (WANTED(USER_STACK))
		to = put_stack(ip, frame, to);
	return to;
}

static __attribute__((noinline)) void record_slowly(struct pt_session *session, uint32_t generation,
						    const void *head, size_t head_size,
						    const void *record, size_t size)
{
	unsigned char longer[(head_size + size + 8) & ~7ul] __attribute__((aligned(8)));

	memcpy(longer, head, head_size);
	memcpy(longer + head_size, (const char *)record + HEAD, size - HEAD);
	pt_record_slowly(session, generation, longer, head_size + size - HEAD);
}

void pt_context_record(struct pt_session *session, uint32_t generation, const void *record,
		       size_t size, const void *ip, void *frame)
{
	const uint32_t mask = __atomic_load_n(&session->contexts, __ATOMIC_RELAXED) & PT_CONTEXTS;
	struct rseq *const area = rseq_area();
	unsigned char head[HEAD + ROOM + 8] __attribute__((aligned(8)));
	unsigned char *to = head + HEAD;
	uint64_t split = HEAD;

	if (__builtin_expect(self.identity.pid !=
				     __atomic_load_n(&session->layout.pid, __ATOMIC_RELAXED),
			     0))
		thread_begin();
	else if (!(++self.events & (NAME_EVENTS - 1)) && __rdtsc() > self.name_until)
		name_read();
	memcpy(head + 8, (const char *)record + 8, 4);
	to = put_identity(mask, to, &split);
	if (mask >> PANTRACE_CONTEXT_CPU_ID)
		to = put_changing(mask, area, ip, frame, to);
	if (__builtin_expect(__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED), 0) ||
	    section_contexts(session, generation, area, head, split, (uint64_t)(to - head), record,
			     size) != DONE)
		record_slowly(session, generation, head, (size_t)(to - head), record, size);
}

void pt_context_lay_out(struct pt_session *session, uint32_t flags, uint64_t mask, int32_t pid)
{
	const uint32_t part = mask & IDENTITY;
	const uint64_t contexts = mask | flags | (part == APART ? PT_CONTEXTS_APART : 0);
	struct pt_context_layout *const layout = &session->layout;
	uint32_t at = part == APART ? 20 : parts[part].size;

	layout->thread = (char *)&self - (char *)__builtin_thread_pointer();
	layout->identity = layout->thread + parts[part].from;
	layout->at_cpu = at;
	at += WANTED(CPU_ID) ? 4 : 0;
	layout->at_switches = at;
	at += WANTED(CONTEXT_SWITCHES) ? 8 : 0;
	layout->at_ip = at;
	at += WANTED(IP) ? 8 : 0;
	layout->size = at;
	if (!WANTED(CPU_ID))
		layout->at_cpu = at;
	if (!WANTED(CONTEXT_SWITCHES))
		layout->at_switches = at;
	if (!WANTED(IP))
		layout->at_ip = at;
	__atomic_store_n(&layout->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&session->contexts, contexts, __ATOMIC_RELAXED);
}
