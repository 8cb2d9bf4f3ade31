// SPDX-License-Identifier: MIT
/*
 * A thread keeps its ids, its name and its counters in thread-local storage, found out at its first
 * event and again in a forked child; what takes a system call the helper finds out (thread.h).
 * Costs, an event:
 *
 *	vpid, vtid, procname	a copy of up to 24 bytes; the name is looked at again after NAME_AGE
 *	cpu_id, ip		a load and a store
 *	context_switches	two loads: the kernel writes the count into a page whenever it puts
 *				the thread on a CPU (perf_swevent_add() calls
 *				perf_event_update_userpage(), kernel/events/core.c), which is
 *				exactly when this count changes
 *	page_faults		two loads and a shift: no page shows this count as it changes, but
 *				how far the ring of a perf event has been written does. Each fault
 *				is a sample of nothing, 8 bytes; one at a time is never throttled
 *				(perf_swevent_overflow()), and a ring that is mapped to be read only
 *				never full. A fault, 500 ns and more, takes some 100 ns longer
 *	user_stack		two loads a frame, along frame pointers
 *
 * Who may not count what the kernel does (kernel.perf_event_paranoid) does not take part in a
 * session that wants one of the counts.
 */
#include "context.h"
#include "section.h"
#include "thread.h"
#include "vm_internal.h"
#include <linux/perf_event.h>
#include <pantrace/ring.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <x86intrin.h>

#define NAME_AGE (1u << 22) /* ticks after which a thread looks at its name again: 1 to 2 ms */

#define HEAD 12 /* bytes of a record before the contexts: time, id */

/* The most that contexts take. */
#define ROOM (4 + 4 + 16 + 4 + 8 + 8 + 8 + 2 + 8 * PT_STACK_DEPTH)

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
	const struct perf_event_mmap_page *pages[PT_COUNTERS]; /* NULL: not counted yet */
	struct pt_range stack[2]; /* the thread's, and an alternate one of signal handlers */
	unsigned int next_stack;
	uint32_t wants; /* contexts that the helper knows of */
	struct pt_known *known;
};
extern __thread struct thread pt_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
__thread struct thread pt_thread __attribute__((used, aligned(64)));

_Static_assert(offsetof(struct thread, identity) == 0, "emit.c");
_Static_assert(offsetof(struct thread, name_until) == 32, "emit.c");
_Static_assert(offsetof(struct thread, pages[PT_COUNTER_SWITCHES]) == 64, "emit.c");
_Static_assert(offsetof(struct thread, pages[PT_COUNTER_FAULTS]) == 72, "emit.c");
_Static_assert(offsetof(struct perf_event_mmap_page, offset) == 16, "emit.c");
_Static_assert(offsetof(struct perf_event_mmap_page, data_head) == 1024, "emit.c");

#define BIT(context)	(1u << (PANTRACE_CONTEXT_##context))
#define WANTED(context) (mask & BIT(context))

/* ---- the counts of context switches and page faults ---- */

#define FAULT_SIZE 8 /* of a record in the ring: struct perf_event_header */

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

/* 0 until the helper has begun to count. */
static uint64_t count_of(int i)
{
	const struct perf_event_mmap_page *page = pt_thread.pages[i];

	if (__builtin_expect(!page, 0)) {
		if (!pt_thread.known)
			return 0;
		page = __atomic_load_n(&pt_thread.known->page[i], __ATOMIC_ACQUIRE);
		pt_thread.pages[i] = page;
		if (!page)
			return 0;
	}
	if (i == PT_COUNTER_SWITCHES)
		return switches_in(page);
	return __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) / FAULT_SIZE;
}

/* ---- the stack ---- */

/* 0: not known, or not yet. */
static uintptr_t stack_end(uintptr_t address)
{
	for (unsigned int i = 0; i < 2; i++)
		if (address >= pt_thread.stack[i].low && address < pt_thread.stack[i].high)
			return pt_thread.stack[i].high;
	pt_thread.next_stack ^= 1;
	pt_thread.stack[pt_thread.next_stack] = pt_known_stack(pt_thread.known, address);
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

/* Each name is written by one instruction: no handler sees half of it. */
static __attribute__((noinline)) void name_read(void)
{
	char name[16] __attribute__((aligned(16)));
	__m128i bytes;

	pt_known_name(pt_thread.known, name);
	bytes = _mm_load_si128((const __m128i *)(const void *)name);
	_mm_storeu_si128((__m128i *)(void *)pt_thread.identity.name, bytes);
	_mm_storeu_si128((__m128i *)(void *)pt_thread.apart.name, bytes);
	pt_thread.name_until = __rdtsc() + NAME_AGE;
}

/*
 * A thread's first event with contexts, or the first in a forked child, whose PID it is. A handler
 * that comes between finds out the same.
 */
static __attribute__((noinline)) void thread_begin(int32_t pid, uint32_t wants)
{
	memset(pt_thread.pages, 0, sizeof(pt_thread.pages));
	memset(pt_thread.stack, 0, sizeof(pt_thread.stack));
	pt_thread.identity.tid = pt_thread_id();
	pt_thread.apart.pid = pid;
	pt_thread.wants = wants;
	pt_thread.known = pt_known_get(pt_thread.identity.tid, wants);
	name_read();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	pt_thread.identity.pid = pid;
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
		to = put_u64(to, count_of(PT_COUNTER_SWITCHES));
	if (WANTED(PAGE_FAULTS))
		to = put_u64(to, count_of(PT_COUNTER_FAULTS));
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
	const int32_t pid = __atomic_load_n(&session->pid, __ATOMIC_RELAXED);
	uint64_t split = HEAD, until;

	if (__builtin_expect(pt_thread.identity.pid != pid || mask & ~pt_thread.wants, 0))
		thread_begin(pid, mask | (pt_thread.identity.pid == pid ? pt_thread.wants : 0));
	else if (of_thread && __rdtsc() > pt_thread.name_until)
		name_read();
	/*
	 * before the name: a handler that comes between has both anew, of which the name is not
	 * here
	 */
	until = pt_thread.name_until;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(head + 8, (const char *)record + 8, 4);
	to = put_identity(mask, to, &split);
	if (mask >> PANTRACE_CONTEXT_CPU_ID)
		to = put_changing(mask, area, ip, frame, to);
	if (__builtin_expect(!of_thread, 1))
		outcome = section_contexts(session, generation, area, head, split,
					   (uint64_t)(to - head), record, size, until);
	/*
	 * Also where the name is not wanted: the fast way does not look which contexts are, and
	 * would give up at each event from now on. A section that was interrupted may not have
	 * come to look at the time.
	 */
	if (outcome != DONE && __rdtsc() > until) {
		name_read();
		memcpy(head + HEAD, (const char *)&pt_thread + parts[mask & IDENTITY].from,
		       parts[mask & IDENTITY].size);
	}
	return outcome == DONE ||
	       record_slowly(session, generation, head, (size_t)(to - head), record, size);
}

void pt_thread_who(struct pt_vm_who *ret)
{
	const int32_t pid = pt_threads_pid();
	int cpu = (int)__atomic_load_n(&rseq_area()->cpu_id, __ATOMIC_RELAXED);

	if (pt_thread.identity.pid != pid || !(pt_thread.wants & BIT(PROCNAME)))
		thread_begin(pid, pt_thread.identity.pid == pid ? pt_thread.wants | BIT(PROCNAME)
								: BIT(PROCNAME));
	else if (__rdtsc() > pt_thread.name_until)
		name_read();
	if (cpu < 0)
		cpu = sched_getcpu();
	ret->pid = (uint32_t)pid;
	ret->tid = (uint32_t)pt_thread.identity.tid;
	ret->cpu = (uint32_t)cpu;
	pt_threads_user(&ret->uid, &ret->gid);
	memcpy(ret->name, pt_thread.identity.name, sizeof(ret->name));
}

void pt_contexts_of_parent(void)
{
	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		if (pt_emitting && pt_thread.pages[i])
			pt_memory_stand_in((void *)pt_thread.pages[i], sizeof(*pt_thread.pages[i]));
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
