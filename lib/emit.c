// SPDX-License-Identifier: MIT
/*
 * The event path. With rseq (linux/rseq.h; Documentation/userspace-api/rseq.rst) an event is one
 * critical section: preemption, migration or a signal before its last instruction sends the thread
 * back to the start, so that on its CPU it was alone. Without rseq each thread has a ring.
 *
 * The record is complete on the caller's stack before: nothing in the section can fault but the
 * ring itself, and no other thread can change what is copied.
 */
#include "internal.h"
#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define SIGNATURE    0x53053053 /* glibc's, sys/rseq.h */
#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)
#define RETRIES	     10000 /* aborts in a row after which something single-steps us */

enum outcome { DONE, FULL, ABORTED, INACTIVE, NO_RING };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static __thread struct rseq own_rseq
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED };
static __thread uint32_t thread_ring __attribute__((tls_model("initial-exec"))); /* + 1 */
static __thread uint32_t thread_generation __attribute__((tls_model("initial-exec")));
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

/* Copies the record of SIZE bytes (more than 8) behind the last one of this CPU and publishes it. */
static inline enum outcome record_rseq(struct pt_state *state, struct rseq *area,
				       const void *record, uint64_t size, uint64_t *ret_cpu)
{
	/* The id and the first four bytes, joined in a register: loading them as one from two stores
	 * that have just been made would wait for both to reach the cache. */
	const uint32_t *const words = record;
	const uint64_t first = words[2] | (uint64_t)words[3] << 32;
	uint64_t cpu, ring, to, n;
	uint32_t outcome;

	__asm__ volatile(SECTION_BEGIN
			 "	movl 4(%[area]), %k[cpu]\n"
			 "	movl $3, %[outcome]\n"
			 "	cmpl $0, (%[state])\n"
			 "	je 2f\n"
			 "	movl $4, %[outcome]\n"
			 "	cmpl 4(%[state]), %k[cpu]\n"
			 "	jae 2f\n"
			 "	movl $1, %[outcome]\n"
			 "	movq %[cpu], %[n]\n"
			 "	shlq $4, %[n]\n"
			 "	movq 72(%[state], %[n]), %[ring]\n"
			 "	movq 80(%[state], %[n]), %[to]\n"
			 "	movq (%[ring]), %[n]\n"
			 "	addq $7, %[n]\n"
			 "	andq $-8, %[n]\n" /* where the event begins */
			 "	movq %[n], %%rax\n"
			 "	andq 8(%[state]), %%rax\n"
			 "	je 2f\n" /* at the very end of a sub-buffer */
			 "	addq %[size], %%rax\n"
			 "	cmpq 16(%[state]), %%rax\n"
			 "	ja 2f\n"
			 "	leaq (%[n], %[size]), %%rdx\n"
			 "	movq %%rdx, %%xmm0\n"
			 "	movq 8(%[ring]), %%rdx\n"
			 "	incq %%rdx\n"
			 "	movq %%rdx, %%xmm1\n"
			 "	punpcklqdq %%xmm1, %%xmm0\n" /* {position, events} */
			 "	andq 24(%[state]), %[n]\n"
			 "	addq %[n], %[to]\n"
			 "	movq %[first], 8(%[to])\n"
			 "	movl $16, %k[n]\n"
			 "	cmpq %[size], %[n]\n"
			 "	jae 6f\n"
			 "5:	movq (%[record], %[n]), %%rax\n"
			 "	movq %%rax, (%[to], %[n])\n"
			 "	addq $8, %[n]\n"
			 "	cmpq %[size], %[n]\n"
			 "	jb 5b\n"
			 "6:	rdtsc\n"
			 "	shlq $32, %%rdx\n"
			 "	orq %%rdx, %%rax\n"
			 "	movq %%rax, (%[to])\n"
			 "	xorl %[outcome], %[outcome]\n"
			 "	movdqa %%xmm0, (%[ring])\n" SECTION_END
			 : [cpu] "=&r"(cpu), [ring] "=&r"(ring), [to] "=&r"(to), [n] "=&r"(n),
			   [outcome] "=&r"(outcome)
			 : [state] "r"(state), [area] "r"(area), [record] "r"(record), [size] "r"(size),
			   [first] "r"(first)
			 : "rax", "rdx", "xmm0", "xmm1", "memory", "cc");
	*ret_cpu = cpu;
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

static enum outcome change_rseq(const struct pt_state *state, struct rseq *area, uint64_t cpu,
				struct pantrace_ring *ring, const struct change *change)
{
	uint64_t n, old = (uint64_t)change->old, new = (uint64_t)change->new;
	uint32_t outcome;

	__asm__ volatile(SECTION_BEGIN
			 "	movl $2, %[outcome]\n"
			 "	cmpl $0, (%[state])\n"
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
			 "	movq 8(%[change]), %%rax\n"
			 "	xorl %[outcome], %[outcome]\n"
			 "	movq %%rax, (%[ring])\n" SECTION_END
			 : [n] "=&r"(n), [outcome] "=&r"(outcome)
			 : [state] "r"(state), [area] "r"(area), [cpu] "r"(cpu), [ring] "r"(ring),
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

/* False when a reader has yet to take the sub-buffer that comes next. */
static bool change_plan(const struct pt_state *state, const struct pantrace_ring *ring, char *data,
			struct pantrace_packet *scratch, struct change *ret)
{
	const uint64_t sub = state->sub_size, mask = state->ring_mask;
	const uint64_t from = __atomic_load_n(&ring->position, __ATOMIC_ACQUIRE);
	const uint64_t events = __atomic_load_n(&ring->events, __ATOMIC_RELAXED);
	const uint64_t next = from ? ((from - 1) & ~(sub - 1)) + sub : 0;
	const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) & ~(sub - 1);

	if (!state->overwrite && next - consumed > mask)
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
	memcpy(ret->image.uuid, state->shm->uuid, sizeof(ret->image.uuid));
	if (from) {
		ret->old = (struct pantrace_packet *)(data + ((next - sub) & mask));
		ret->content = (from - (next - sub)) * 8;
	}
	return true;
}

static void lose(struct pt_state *state, uint64_t *count)
{
	(void)state;
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void emit_slowly(struct pt_state *state, struct rseq *area,
						  const void *record, uint64_t size)
{
	struct pantrace_packet scratch;
	struct change change;
	uint64_t cpu;

	if (size > state->sub_size - sizeof(struct pantrace_packet)) {
		lose(state, &state->shm->lost);
		return;
	}
	for (int i = 0; i < RETRIES; i++) {
		const enum outcome outcome = record_rseq(state, area, record, size, &cpu);

		if (outcome == DONE)
			return;
		if (outcome == INACTIVE) /* stopped: what is off is neither an event nor lost */
			return;
		if (outcome == NO_RING)
			break;
		if (outcome == ABORTED)
			continue;
		if (!change_plan(state, state->place[cpu].ring, state->place[cpu].data, &scratch,
				 &change)) {
			lose(state, &state->place[cpu].ring->lost);
			return;
		}
		change_rseq(state, area, cpu, state->place[cpu].ring, &change);
	}
	lose(state, &state->shm->lost);
}

/* ---- rings of threads ---- */

static bool owner_gone(uint32_t owner)
{
	return syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH;
}

/* A free ring, or one whose thread has died: the number + 1, or 0. Keeps errno, calls no libc lock. */
static uint32_t ring_claim(struct pt_state *state)
{
	const int saved = errno;
	const uint32_t self = (uint32_t)syscall(SYS_gettid);
	uint32_t found = 0;

	for (uint32_t i = 0; i < state->nr_rings && !found; i++) {
		struct pantrace_ring *ring = state->place[i].ring;
		uint32_t owner = __atomic_load_n(&ring->owner, __ATOMIC_RELAXED);

		if (owner && owner != self && !owner_gone(owner))
			continue;
		if (__atomic_compare_exchange_n(&ring->owner, &owner, self, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			found = i + 1;
	}
	errno = saved;
	thread_id = self;
	thread_generation = state->generation;
	thread_ring = found;
	return found;
}

static void publish(struct pantrace_ring *ring, uint64_t position, uint64_t events)
{
	const __m128i pair = _mm_set_epi64x((long long)events, (long long)position);

	__asm__ volatile("movdqa %1, (%0)" : : "r"(ring), "x"(pair) : "memory");
}

static void emit_per_thread(struct pt_state *state, void *record, uint64_t size)
{
	uint32_t slot = thread_generation == state->generation ? thread_ring : 0;
	struct pantrace_packet scratch;
	struct pantrace_ring *ring;
	uint64_t start, tsc;
	struct change change;

	/* A handler that interrupts a write of its own thread cannot write: counted, never torn. */
	if (thread_writes) {
		lose(state, &state->shm->lost);
		return;
	}
	thread_writes = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!slot)
		slot = ring_claim(state);
	if (!slot || size > state->sub_size - sizeof(struct pantrace_packet)) {
		lose(state, &state->shm->lost);
		goto out;
	}
	ring = state->place[slot - 1].ring;
	start = (ring->position + 7) & ~7ull;
	if (!(start & state->sub_mask) || (start & state->sub_mask) + size > state->sub_size) {
		if (!change_plan(state, ring, state->place[slot - 1].data, &scratch, &change)) {
			lose(state, &ring->lost);
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
	memcpy(state->place[slot - 1].data + (start & state->ring_mask), record, size);
	publish(ring, start + size, ring->events + 1);
out:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_writes = 0;
}

/* ---- what sites call ---- */

void pantrace_emit(const struct pantrace_event *event, void *record, size_t size)
{
	struct pt_state *const state = pt_state;
	struct rseq *const area = rseq_area();
	uint64_t cpu;

	if (__builtin_expect(!state, 0))
		return;
	((uint32_t *)record)[2] = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	if (__builtin_expect(!__atomic_load_n(&state->per_thread, __ATOMIC_RELAXED) && (int32_t)area->cpu_id >= 0, 1) &&
	    __builtin_expect(record_rseq(state, area, record, size, &cpu) == DONE, 1))
		return;
	if (!__atomic_load_n(&state->active, __ATOMIC_ACQUIRE) && !pt_session_of_child())
		return;
	if (state->per_thread)
		emit_per_thread(state, record, size);
	else if (pt_rseq_here())
		emit_slowly(state, rseq_area(), record, size);
	else
		lose(state, &state->shm->lost);
}

unsigned char *pantrace_put_string(unsigned char *to, unsigned char *end, const char *string)
{
	const char *from = string ? string : "(null)";

	/*
	 * One pass: another thread may change the string meanwhile, the copy ends with its own NUL.
	 * Sixteen bytes at a time as long as they are on one page; what is behind the NUL is overwritten
	 * by the next field. (Assembly, because the load is meant to go past the end of the string.)
	 */
	while (end - to >= 16 && ((uintptr_t)from & 4095) <= 4096 - 16) {
		__m128i bytes;
		int zeros;

		__asm__("movdqu %1, %0" : "=x"(bytes) : "m"(*(const char(*)[16])from));
		_mm_storeu_si128((__m128i *)to, bytes);
		zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
		if (zeros)
			return to + __builtin_ctz((unsigned int)zeros) + 1;
		to += 16;
		from += 16;
	}
	while (to < end) {
		const unsigned char c = (unsigned char)*from++;

		*to++ = c;
		if (!c)
			return to;
	}
	*to++ = 0;
	return to;
}

unsigned char *pantrace_put_text(unsigned char *to, unsigned char *end, const char *text, size_t n)
{
	const size_t room = to + 2 < end ? (size_t)(end - to - 2) : 0;

	return pantrace_put_sequence(to, end, text, text ? strnlen(text, n < room ? n : room) : 0, 1);
}

unsigned char *pantrace_put_sequence(unsigned char *to, unsigned char *end, const void *from,
				     size_t n, size_t element)
{
	const size_t room = to + 2 < end ? (size_t)(end - to - 2) / element : 0;
	uint16_t count;

	if (!from)
		n = 0;
	if (n > room)
		n = room;
	if (n > UINT16_MAX)
		n = UINT16_MAX;
	count = (uint16_t)n;
	memcpy(to, &count, 2);
	memcpy(to + 2, from ? from : "", n * element);
	return to + 2 + n * element;
}
