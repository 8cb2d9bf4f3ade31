// SPDX-License-Identifier: MIT
/*
 * The event path. With rseq (linux/rseq.h; Documentation/userspace-api/rseq.rst) an event is one
 * critical section: preemption, migration or a signal before its last instruction sends the thread
 * back to the start, so that on its CPU it was alone. Without rseq each thread has a ring.
 *
 * The record is complete on the caller's stack before: nothing in the section can fault but the
 * ring itself, and no other thread can change what is copied.
 */
#include "context.h"
#include "hooks.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define SIGNATURE    0x53053053 /* glibc's, sys/rseq.h */
#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)
#define RETRIES	     10000 /* aborts in a row after which something single-steps us */

enum outcome { DONE, FULL, ABORTED, INACTIVE, NO_RING, STALE };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static __thread struct rseq own_rseq
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED };
static __thread struct {
	uint32_t ring; /* + 1 */
	uint32_t generation;
} thread_slot[PT_SESSIONS] __attribute__((tls_model("initial-exec")));
static __thread uint32_t thread_id __attribute__((tls_model("initial-exec")));
static __thread volatile uint32_t thread_writes __attribute__((tls_model("initial-exec")));

static inline struct rseq *rseq_area(void)
{
	if (__builtin_expect(&__rseq_size && __rseq_size, 1))
		return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	return &own_rseq;
}

bool pt_rseq_here(void)
{
	struct rseq *area = rseq_area();

	if ((int32_t)area->cpu_id >= 0)
		return true;
	if (area != &own_rseq || (int32_t)area->cpu_id == RSEQ_CPU_ID_REGISTRATION_FAILED)
		return false;
	if (!syscall(SYS_rseq, area, sizeof(*area), 0, SIGNATURE))
		return true;
	area->cpu_id = (uint32_t)RSEQ_CPU_ID_REGISTRATION_FAILED;
	return false;
}

#define SECTION_BEGIN                                                                              \
	"	.pushsection __rseq_cs,\"aw\"\n"                                                   \
	"	.balign 32\n"                                                                      \
	"3:	.long 0, 0\n"                                                                      \
	"	.quad 1f, 2f - 1f, 4f\n"                                                           \
	"	.popsection\n"                                                                     \
	"	leaq 3b(%%rip), %%rax\n"                                                           \
	"	movq %%rax, 8(%[area])\n"                                                          \
	"1:\n"

/* rseq_cs is cleared because this code may be in an object that is unloaded. */
#define SECTION_END                                                                                \
	"2:	movq $0, 8(%[area])\n"                                                             \
	"	.pushsection __rseq_failure,\"ax\"\n"                                              \
	"	.byte 0x0f, 0xb9, 0x3d\n"                                                          \
	"	.long " STRINGIFY(SIGNATURE) "\n"                                                  \
	"4:	movl $2, %[outcome]\n"                                                             \
	"	jmp 2b\n"                                                                          \
	"	.popsection\n"

/*
 * Copies the record of SIZE bytes (more than 8) behind the last one of this CPU and publishes it.
 * STAMP puts the time into rax: a reading of the counter, or the one that another session's event had.
 */
#define RECORD(stamp, ...)                                                                         \
	__asm__ volatile(SECTION_BEGIN                                                             \
			 "	movl 4(%[area]), %k[cpu]\n"                                        \
			 "	movl $3, %[outcome]\n"                                             \
			 "	cmpl $0, (%[session])\n"                                           \
			 "	je 2f\n"                                                           \
			 "	movl $4, %[outcome]\n"                                             \
			 "	cmpl 4(%[session]), %k[cpu]\n"                                     \
			 "	jae 2f\n"                                                          \
			 "	movl $1, %[outcome]\n"                                             \
			 "	movq %[cpu], %[n]\n"                                               \
			 "	shlq $4, %[n]\n"                                                   \
			 "	movq 128(%[session], %[n]), %[ring]\n"                             \
			 "	movq 136(%[session], %[n]), %[to]\n"                               \
			 "	movq (%[ring]), %[n]\n"                                            \
			 "	addq $7, %[n]\n"                                                   \
			 "	andq $-8, %[n]\n" /* where the event begins */                     \
			 "	movq %[n], %%rax\n"                                                \
			 "	andq 8(%[session]), %%rax\n"                                       \
			 "	je 2f\n" /* at the very end of a sub-buffer */                     \
			 "	addq %[size], %%rax\n"                                             \
			 "	cmpq 16(%[session]), %%rax\n"                                      \
			 "	ja 2f\n"                                                           \
			 "	leaq (%[n], %[size]), %%rdx\n"                                     \
			 "	movq %%rdx, %%xmm0\n"                                              \
			 "	movq 8(%[ring]), %%rdx\n"                                          \
			 "	incq %%rdx\n"                                                      \
			 "	movq %%rdx, %%xmm1\n"                                              \
			 "	punpcklqdq %%xmm1, %%xmm0\n" /* {position, events} */              \
			 "	andq 24(%[session]), %[n]\n"                                       \
			 "	addq %[n], %[to]\n"                                                \
			 "	movq %[first], 8(%[to])\n"                                         \
			 "	movl $16, %k[n]\n"                                                 \
			 "	cmpq %[size], %[n]\n"                                              \
			 "	jae 6f\n"                                                          \
			 "5:	movq (%[record], %[n]), %%rax\n"                                   \
			 "	movq %%rax, (%[to], %[n])\n"                                       \
			 "	addq $8, %[n]\n"                                                   \
			 "	cmpq %[size], %[n]\n"                                              \
			 "	jb 5b\n"                                                           \
			 "6:\n" stamp "	movq %%rax, (%[to])\n"                              \
			 "	movq %%rax, 32(%[ring])\n"                                         \
			 "	xorl %[outcome], %[outcome]\n"                                     \
			 "	movdqa %%xmm0, (%[ring])\n" SECTION_END                            \
			 : [cpu] "=&r"(cpu), [ring] "=&r"(ring), [to] "=&r"(to), [n] "=&r"(n),     \
			   [outcome] "=&r"(outcome), "=&a"(tsc)                                    \
			 : [session] "r"(session), [area] "r"(area), [record] "r"(record),         \
			   [size] "r"(size), [first] "r"(first)__VA_ARGS__                         \
			 : "rdx", "xmm0", "xmm1", "memory", "cc")

/* The id and the first four bytes of a record, joined in a register: loading them as one from two
 * stores that have just been made would wait for both to reach the cache. */
static inline uint64_t first_word(const void *record)
{
	const uint32_t *const words = record;

	return words[2] | (uint64_t)words[3] << 32;
}

static inline enum outcome record_rseq(struct pt_session *session, struct rseq *area,
				       const void *record, uint64_t size, uint64_t *ret_cpu,
				       uint64_t *ret_tsc)
{
	const uint64_t first = first_word(record);
	uint64_t cpu, ring, to, n, tsc;
	uint32_t outcome;

	RECORD("	rdtsc\n"
	       "	shlq $32, %%rdx\n"
	       "	orq %%rdx, %%rax\n");
	*ret_cpu = cpu;
	*ret_tsc = tsc;
	return (enum outcome)outcome;
}

/* The same with the time WHEN: STALE if the ring has a later event by now. */
static inline enum outcome record_rseq_at(struct pt_session *session, struct rseq *area,
					  const void *record, uint64_t size, uint64_t when)
{
	const uint64_t first = first_word(record);
	uint64_t cpu, ring, to, n, tsc;
	uint32_t outcome;

	RECORD("	movq %[when], %%rax\n"
	       "	movl $5, %[outcome]\n"
	       "	cmpq 32(%[ring]), %%rax\n"
	       "	jb 2f\n",
	       , [when] "r"(when));
	return (enum outcome)outcome;
}

/* Everything that a switch to the next sub-buffer writes, worked out beforehand. */
struct change {
	uint64_t from, to;	     /* positions */
	uint64_t content;	     /* of the packet that ends, bits */
	uint64_t discarded;
	struct pantrace_packet *old; /* a scratch packet when there is none */
	struct pantrace_packet *new;
	struct pantrace_packet image;
};

static enum outcome change_rseq(const struct pt_session *session, struct rseq *area, uint64_t cpu,
				struct pantrace_ring *ring, const struct change *change)
{
	uint64_t n, old = (uint64_t)change->old, new = (uint64_t)change->new;
	uint32_t outcome;

	__asm__ volatile(SECTION_BEGIN
			 "	movl $2, %[outcome]\n"
			 "	cmpl $0, (%[session])\n"
			 "	je 2f\n"
			 "	cmpl %k[cpu], 4(%[area])\n"
			 "	jne 2f\n"
			 "	movq (%[change]), %%rax\n"
			 "	cmpq %%rax, (%[ring])\n"
			 "	jne 2f\n"
			 "	xorl %k[n], %k[n]\n"
			 "5:	movq %c[image](%[change], %[n]), %%rax\n"
			 "	movq %%rax, (%[new], %[n])\n"
			 "	addq $8, %[n]\n"
			 "	cmpq %[bytes], %[n]\n"
			 "	jb 5b\n"
			 "	movq %c[content](%[change]), %%rax\n"
			 "	movq %%rax, %c[p_content](%[old])\n"
			 "	movq %c[discarded](%[change]), %%rax\n"
			 "	movq %%rax, %c[p_discarded](%[old])\n"
			 "	rdtsc\n"
			 "	shlq $32, %%rdx\n"
			 "	orq %%rdx, %%rax\n"
			 "	movq %%rax, %c[p_end](%[old])\n"
			 "	movq %%rax, %c[p_begin](%[new])\n"
			 "	movq %%rax, 32(%[ring])\n"
			 "	movq 8(%[change]), %%rax\n"
			 "	xorl %[outcome], %[outcome]\n"
			 "	movq %%rax, (%[ring])\n" SECTION_END
			 : [n] "=&r"(n), [outcome] "=&r"(outcome)
			 : [session] "r"(session), [area] "r"(area), [cpu] "r"(cpu), [ring] "r"(ring),
			   [change] "r"(change), [old] "r"(old), [new] "r"(new),
			   [bytes] "i"(sizeof(struct pantrace_packet)),
			   [image] "i"(offsetof(struct change, image)),
			   [content] "i"(offsetof(struct change, content)),
			   [discarded] "i"(offsetof(struct change, discarded)),
			   [p_content] "i"(offsetof(struct pantrace_packet, content_size)),
			   [p_discarded] "i"(offsetof(struct pantrace_packet, events_discarded)),
			   [p_end] "i"(offsetof(struct pantrace_packet, timestamp_end)),
			   [p_begin] "i"(offsetof(struct pantrace_packet, timestamp_begin))
			 : "rax", "rdx", "memory", "cc");
	return (enum outcome)outcome;
}

/* False when a reader has yet to take the sub-buffer that comes next, or there is no memory for it. */
static bool change_plan(const struct pt_session *session, const struct pantrace_ring *ring, char *data,
			struct pantrace_packet *scratch, struct change *ret)
{
	const uint64_t sub = session->sub_size, mask = session->ring_mask;
	const uint64_t from = __atomic_load_n(&ring->position, __ATOMIC_ACQUIRE);
	const uint64_t events = __atomic_load_n(&ring->events, __ATOMIC_RELAXED);
	const uint64_t next = from ? ((from - 1) & ~(sub - 1)) + sub : 0;
	const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) & ~(sub - 1);

	if (session->mode != PANTRACE_OVERWRITE && next - consumed > mask)
		return false;
	if (next <= mask && !pt_rings_first_lap(session, data + next, next))
		return false;
	*ret = (struct change){
		.from = from,
		.to = next + sizeof(struct pantrace_packet),
		.old = scratch,
		.new = (struct pantrace_packet *)(data + (next & mask)),
		.discarded = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED),
		.image = {
			.magic = PANTRACE_CTF_MAGIC,
			.packet_size = sub * 8,
			.packet_seq_num = next / sub,
			.events_before = events,
			.cpu_id = ring->cpu,
		},
	};
	memcpy(ret->image.uuid, session->shm->uuid, sizeof(ret->image.uuid));
	if (from) {
		ret->old = (struct pantrace_packet *)(data + ((next - sub) & mask));
		ret->content = (from - (next - sub)) * 8;
	}
	return true;
}

static void lose(uint64_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

/*
 * PANTRACE_BLOCK: waits until a reader gives room back, for at most block_us. False: none did, the event
 * is lost. Without progress since the last vain wait nobody reads, and no event waits again. Keeps errno.
 */
static bool room_wait(struct pt_session *session, struct pantrace_ring *ring)
{
	const uint32_t room = __atomic_load_n(&ring->room, __ATOMIC_ACQUIRE);
	const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
	const struct timespec limit = { .tv_sec = session->block_us / 1000000,
					.tv_nsec = session->block_us % 1000000 * 1000 };
	const int saved = errno;
	bool progress;

	if (session->mode != PANTRACE_BLOCK || !session->block_us ||
	    __atomic_load_n(&ring->vain, __ATOMIC_RELAXED) == consumed + 1)
		return false;
	__atomic_fetch_add(&ring->waiters, 1, __ATOMIC_SEQ_CST);
	/* the reader moves `consumed`, then looks at `waiters`: one of both sees the other */
	if (__atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST) == consumed)
		syscall(SYS_futex, &ring->room, FUTEX_WAIT, room, &limit, NULL, 0);
	__atomic_fetch_sub(&ring->waiters, 1, __ATOMIC_SEQ_CST);
	progress = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) != consumed;
	if (!progress)
		__atomic_store_n(&ring->vain, consumed + 1, __ATOMIC_RELAXED);
	errno = saved;
	return progress;
}

static __attribute__((noinline)) void emit_slowly(struct pt_session *session, struct rseq *area,
						  const void *record, uint64_t size, uint64_t *ret_tsc)
{
	struct pantrace_packet scratch;
	struct change change;
	uint64_t cpu;

	if (size > session->sub_size - sizeof(struct pantrace_packet)) {
		lose(&session->shm->lost);
		return;
	}
	for (int i = 0; i < RETRIES; i++) {
		const enum outcome outcome = record_rseq(session, area, record, size, &cpu, ret_tsc);

		if (outcome == DONE)
			return;
		*ret_tsc = 0;
		if (outcome == INACTIVE) /* stopped: what is off is neither an event nor lost */
			return;
		if (outcome == NO_RING)
			break;
		if (outcome == ABORTED)
			continue;
		if (change_plan(session, session->place[cpu].ring, session->place[cpu].data, &scratch,
				&change)) {
			change_rseq(session, area, cpu, session->place[cpu].ring, &change);
		} else if (!room_wait(session, session->place[cpu].ring)) {
			lose(&session->place[cpu].ring->lost);
			return;
		}
	}
	lose(&session->shm->lost);
}

/* ---- rings of threads ---- */

static bool owner_gone(uint32_t owner)
{
	return syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH;
}

/* A free ring, or one whose thread has died: the number + 1, or 0. Keeps errno, calls no libc lock. */
static uint32_t ring_claim(struct pt_session *session)
{
	const int saved = errno;
	const uint32_t self = (uint32_t)syscall(SYS_gettid);
	uint32_t found = 0;

	for (uint32_t i = 0; i < session->nr_rings && !found; i++) {
		struct pantrace_ring *ring = session->place[i].ring;
		uint32_t owner = __atomic_load_n(&ring->owner, __ATOMIC_RELAXED);

		if (owner && owner != self && !owner_gone(owner))
			continue;
		if (__atomic_compare_exchange_n(&ring->owner, &owner, self, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			found = i + 1;
	}
	errno = saved;
	thread_id = self;
	thread_slot[session->number].generation = session->generation;
	thread_slot[session->number].ring = found;
	return found;
}

static void publish(struct pantrace_ring *ring, uint64_t position, uint64_t events)
{
	const __m128i pair = _mm_set_epi64x((long long)events, (long long)position);

	__asm__ volatile("movdqa %1, (%0)" : : "r"(ring), "x"(pair) : "memory");
}

static void emit_per_thread(struct pt_session *session, void *record, uint64_t size)
{
	const uint32_t number = session->number;
	uint32_t slot = thread_slot[number].generation == session->generation ? thread_slot[number].ring :
										 0;
	struct pantrace_packet scratch;
	struct pantrace_ring *ring;
	uint64_t start, tsc;
	struct change change;

	/* A handler that interrupts a write of its own thread cannot write: counted, never torn. */
	if (thread_writes) {
		lose(&session->shm->lost);
		return;
	}
	thread_writes = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!slot)
		slot = ring_claim(session);
	if (!slot || size > session->sub_size - sizeof(struct pantrace_packet)) {
		lose(&session->shm->lost);
		goto out;
	}
	ring = session->place[slot - 1].ring;
	start = (ring->position + 7) & ~7ull;
	if (!(start & session->sub_mask) || (start & session->sub_mask) + size > session->sub_size) {
		while (!change_plan(session, ring, session->place[slot - 1].data, &scratch, &change)) {
			if (__atomic_load_n(&session->active, __ATOMIC_ACQUIRE) &&
			    room_wait(session, ring))
				continue;
			lose(&ring->lost);
			goto out;
		}
		tsc = __rdtsc();
		change.image.timestamp_begin = tsc;
		*change.new = change.image;
		change.old->content_size = change.content;
		change.old->events_discarded = change.discarded;
		change.old->timestamp_end = tsc;
		publish(ring, change.to, ring->events);
		start = change.to;
	}
	tsc = __rdtsc();
	memcpy(record, &tsc, sizeof(tsc));
	memcpy(session->place[slot - 1].data + (start & session->ring_mask), record, size);
	publish(ring, start + size, ring->events + 1);
out:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_writes = 0;
}

/* ---- what sites call ---- */

static void emit_with_contexts(struct pt_session *session, const void *record, size_t size,
			       const void *ip, void *frame);

/* One session's copy of the event, where the short way did not do. */
static void emit_one(struct pt_session *session, void *record, size_t size, uint64_t *ret_tsc)
{
	if (!__atomic_load_n(&session->active, __ATOMIC_ACQUIRE)) {
		if (!pt_session_of_child(session))
			return;
		if (session->contexts) { /* the parent's state, which said so, is not the child's */
			emit_with_contexts(session, record, size, __builtin_return_address(0),
					   __builtin_frame_address(0));
			return;
		}
	}
	if (__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED)) {
		emit_per_thread(session, record, size);
		return;
	}
	/* seen by whoever unmaps the rings; not counted twice in a handler that interrupts this */
	__atomic_fetch_add(&session->users, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&session->active, __ATOMIC_SEQ_CST))
		;
	else if (pt_rseq_here())
		emit_slowly(session, rseq_area(), record, size, ret_tsc);
	else
		lose(&session->shm->lost);
	__atomic_fetch_sub(&session->users, 1, __ATOMIC_SEQ_CST);
}

/* All sessions of the bits; those behind the first take its time where they can. */
static __attribute__((noinline)) void emit_rest(struct pt_state *state, uint32_t sessions, void *record,
						size_t size, uint64_t tsc)
{
	for (; sessions; sessions &= sessions - 1) {
		struct pt_session *const session = &state->session[__builtin_ctz(sessions)];
		struct rseq *const area = rseq_area();

		if (tsc && !__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED) &&
		    record_rseq_at(session, area, record, size, tsc) == DONE)
			continue;
		emit_one(session, record, size, &tsc);
	}
}

/* The record with the contexts of the session between id and fields. */
static __attribute__((noinline)) void emit_with_contexts(struct pt_session *session,
							 const void *record, size_t size,
							 const void *ip, void *frame)
{
	const uint64_t mask = session->contexts;
	unsigned char longer[(pt_context_room(mask) + size + 15) & ~7ul]
		__attribute__((aligned(8)));
	unsigned char *to = longer + 12;
	uint64_t cpu, tsc = 0;

	memcpy(longer + 8, (const char *)record + 8, 4);
	to = pt_context_put(mask, session->generation, ip, frame, to);
	memcpy(to, (const char *)record + 12, size - 12);
	size += (size_t)(to - longer) - 12;
	if (!__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED) &&
	    (int32_t)rseq_area()->cpu_id >= 0 &&
	    record_rseq(session, rseq_area(), longer, size, &cpu, &tsc) == DONE)
		return;
	emit_one(session, longer, size, &tsc);
}

/* Those of SESSIONS that want contexts; the others are returned. */
static __attribute__((noinline)) uint32_t emit_contexts(struct pt_state *state, uint32_t sessions,
							const void *record, size_t size,
							const void *ip, void *frame)
{
	const uint32_t with = sessions & __atomic_load_n(&state->with_contexts, __ATOMIC_RELAXED);

	for (uint32_t left = with; left; left &= left - 1) {
		struct pt_session *const session = &state->session[__builtin_ctz(left)];

		if (__atomic_load_n(&session->active, __ATOMIC_ACQUIRE))
			emit_with_contexts(session, record, size, ip, frame);
	}
	return sessions & ~with;
}

struct pt_session *pt_session_only(uint32_t sessions)
{
	struct pt_session *session;

	if (!sessions || sessions & (sessions - 1) || sessions & pt_state->with_contexts ||
	    !&__rseq_size || !__rseq_size)
		return NULL;
	session = &pt_state->session[__builtin_ctz(sessions)];
	if (!session->active || session->per_thread)
		return NULL;
	session->rseq_offset = (uint64_t)__rseq_offset;
	return session;
}

static __attribute__((noinline)) void emit_any(const struct pantrace_event *event, void *record, size_t size,
					       const void *ip, void *frame)
{
	struct pt_state *const state = pt_state;
	struct rseq *const area = rseq_area();
	uint32_t sessions = __atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE);
	struct pt_session *session;
	uint64_t cpu, tsc = 0;

	if (__builtin_expect(!state || !sessions, 0))
		return;
	if (__builtin_expect(event->hooks != NULL, 0)) {
		sessions = pt_hooks_run(event, sessions, record, size);
		if (!sessions)
			return;
	}
	((uint32_t *)record)[2] = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	if (__builtin_expect(sessions & __atomic_load_n(&state->with_contexts, __ATOMIC_RELAXED), 0)) {
		sessions = emit_contexts(state, sessions, record, size, ip, frame);
		if (!sessions)
			return;
	}
	session = &state->session[__builtin_ctz(sessions)];
	if (__builtin_expect(!__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED) &&
				     (int32_t)area->cpu_id >= 0, 1) &&
	    __builtin_expect(record_rseq(session, area, record, size, &cpu, &tsc) == DONE, 1)) {
		sessions &= sessions - 1;
		if (__builtin_expect(!sessions, 1))
			return;
		session = &state->session[__builtin_ctz(sessions)];
		if (__builtin_expect(!__atomic_load_n(&session->per_thread, __ATOMIC_RELAXED), 1) &&
		    record_rseq_at(session, area, record, size, tsc) == DONE)
			sessions &= sessions - 1;
		if (!sessions)
			return;
	} else {
		tsc = 0;
	}
	emit_rest(state, sessions, record, size, tsc);
}

/*
 * The short way: record_rseq() for one session, in the registers that a caller does not keep. What it
 * does not like, emit_any() does again. The first four bytes of the fields are copied as such: sites
 * store most fields in four or eight bytes, and a load of eight that spans two stores would wait for
 * both to reach the cache. The clock is read early: on Intel's CPUs it waits for what is before it, and
 * the rest, which is not needed until the end, runs in its shadow (bench/user: 10.5 ns, against 14.4
 * with the clock behind it).
 */
#ifndef PT_STAMP /* bench/user measures what is left without a clock */
#define PT_STAMP                                                                                   \
	"	rdtsc\n"                                                                           \
	"	shlq $32, %%rdx\n"                                                                 \
	"	orq %%rax, %%rdx\n"
#endif
void pantrace_emit(const struct pantrace_event *event, void *record, size_t size)
{
	struct pt_session *const session = __atomic_load_n(&event->only, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!session, 0)) {
		if (event->hooks && pt_hooks_reject(event->hooks, record))
			return;
		goto otherwise;
	}
	__asm__ goto("	.pushsection __rseq_cs,\"aw\"\n"
		     "	.balign 32\n"
		     "3:	.long 0, 0\n"
		     "	.quad 1f, 2f - 1f, 4f\n"
		     "	.popsection\n"
		     "	movq %c[offset](%[session]), %%rax\n"
		     "	leaq 3b(%%rip), %%rdx\n"
		     "	movq %%rdx, %%fs:8(%%rax)\n"
		     "1:	movl %%fs:4(%%rax), %%r11d\n"
		     "	cmpl (%[session]), %%r11d\n" /* no CPU known: greater than any */
		     "	jae 7f\n" PT_STAMP
		     "	shlq $4, %%r11\n"
		     "	movq 128(%[session], %%r11), %%r9\n" /* ring */
		     "	movq 136(%[session], %%r11), %%r10\n"
		     "	movq (%%r9), %%r11\n"
		     "	addq $7, %%r11\n"
		     "	andq $-8, %%r11\n" /* where the event begins */
		     "	movq %%r11, %%rax\n"
		     "	andq 8(%[session]), %%rax\n"
		     "	je 7f\n" /* at the very end of a sub-buffer */
		     "	addq %[size], %%rax\n"
		     "	cmpq 16(%[session]), %%rax\n"
		     "	ja 7f\n"
		     "	leaq (%%r11, %[size]), %%rax\n"
		     "	movq %%rax, %%xmm0\n"
		     "	movq 8(%%r9), %%rax\n"
		     "	incq %%rax\n"
		     "	movq %%rax, %%xmm1\n"
		     "	punpcklqdq %%xmm1, %%xmm0\n" /* {position, events} */
		     "	andq 24(%[session]), %%r11\n"
		     "	addq %%r11, %%r10\n"
		     "	movl %c[id](%[event]), %%eax\n"
		     "	movl %%eax, 8(%%r10)\n"
		     "	movl 12(%[record]), %%eax\n"
		     "	movl %%eax, 12(%%r10)\n"
		     "	movl $16, %%r11d\n"
		     "	cmpq %[size], %%r11\n"
		     "	jae 6f\n"
		     "5:	movq (%[record], %%r11), %%rax\n"
		     "	movq %%rax, (%%r10, %%r11)\n"
		     "	addq $8, %%r11\n"
		     "	cmpq %[size], %%r11\n"
		     "	jb 5b\n"
		     "6:	movq %%rdx, (%%r10)\n"
		     "	movq %%rdx, 32(%%r9)\n"
		     "	movdqa %%xmm0, (%%r9)\n"
		     /* cleared because this code may be in an object that is unloaded */
		     "2:	movq %c[offset](%[session]), %%rax\n"
		     "	movq $0, %%fs:8(%%rax)\n"
		     "	.pushsection __rseq_failure,\"ax\"\n"
		     "	.byte 0x0f, 0xb9, 0x3d\n"
		     "	.long " STRINGIFY(SIGNATURE) "\n"
		     "4:\n"
		     "7:	movq %c[offset](%[session]), %%rax\n"
		     "	movq $0, %%fs:8(%%rax)\n"
		     "	jmp %l[otherwise]\n"
		     "	.popsection\n"
		     :
		     : [event] "r"(event), [session] "r"(session), [record] "r"(record), [size] "r"(size),
		       [offset] "i"(offsetof(struct pt_session, rseq_offset)),
		       [id] "i"(offsetof(struct pantrace_event, id))
		     : "rax", "rdx", "r9", "r10", "r11", "xmm0", "xmm1", "memory", "cc"
		     : otherwise);
	return;
otherwise:
	emit_any(event, record, size, __builtin_return_address(0), __builtin_frame_address(0));
}
