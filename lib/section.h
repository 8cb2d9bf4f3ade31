/* SPDX-License-Identifier: MIT */
/*
 * Critical sections on the rings of CPUs (linux/rseq.h; Documentation/userspace-api/rseq.rst):
 * preemption, migration or a signal before the last instruction of one sends the thread to its
 * abort handler, so that on its CPU it was alone. Nothing in them can fault but the ring itself,
 * and no other thread can change what is copied: the record is complete on its thread's stack
 * before.
 *
 * rdtsc waits for what is before it. Two of them are 3.8 ns and the longest chain of dependent
 * loads between them apart, at least 7.2 ns (bench/user/floor.c); so the chains are kept short:
 * what can be computed is not loaded, and the next position is made from the last in three steps.
 */
#ifndef PANTRACE_LIB_SECTION_H
#define PANTRACE_LIB_SECTION_H

#include "internal.h"
#include <linux/rseq.h>

#define PT_SIGNATURE	 0x53053053 /* glibc's, sys/rseq.h */
#define PT_STRINGIFY_(x) #x
#define PT_STRINGIFY(x)	 PT_STRINGIFY_(x)

enum outcome { DONE, FULL, ABORTED, NO_RING, STALE, EXPIRED };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Added to {position, events}. */
extern PT_HIDDEN const uint64_t pt_one_event[2];

/*
 * Where the C library does not register one for each thread (glibc before 2.35, or by its tunable):
 * of no CPU. An event would have to register it, by a system call; rings belong to threads then.
 */
extern PT_HIDDEN __thread struct rseq pt_no_rseq __attribute__((tls_model("initial-exec")));

static inline struct rseq *rseq_area(void)
{
	if (__builtin_expect(&__rseq_size && __rseq_size, 1))
		return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	return &pt_no_rseq;
}

/* clang-format off */
/* The time into rdx. P stands before names of registers: "%" or, with operands, "%%". */
#ifndef PT_NO_CLOCK /* bench/user measures what is left without one */
#define PT_CLOCK_READ(p)                                                                           \
	"	rdtsc\n"                                                                           \
	"	shlq $32, " p "rdx\n"                                                              \
	"	orq " p "rax, " p "rdx\n"
#else
#define PT_CLOCK_READ(p) "	movl $1, " p "edx\n"
#endif

#define PT_SECTION_BEGIN                                                                           \
	"	.pushsection __rseq_cs,\"aw\"\n"                                                   \
	"	.balign 32\n"                                                                      \
	"3:	.long 0, 0\n"                                                                      \
	"	.quad 1f, 2f - 1f, 4f\n"                                                           \
	"	.popsection\n"                                                                     \
	"	leaq 3b(%%rip), %%rax\n"                                                           \
	"	movq %%rax, 8(%[area])\n"                                                          \
	"1:\n"

/* eax is the outcome. rseq_cs is cleared because this code may be in an object that is unloaded. */
#define PT_SECTION_END                                                                             \
	"2:	movq $0, 8(%[area])\n"                                                             \
	"	.pushsection __rseq_failure,\"ax\"\n"                                              \
	"	.byte 0x0f, 0xb9, 0x3d\n"                                                          \
	"	.long " PT_STRINGIFY(PT_SIGNATURE) "\n"                                            \
	"4:	movl $2, %%eax\n"                                                                  \
	"	jmp 2b\n"                                                                          \
	"7:	movl $1, %%eax\n"                                                                  \
	"	jmp 2b\n"                                                                          \
	"8:	movl $3, %%eax\n"                                                                  \
	"	jmp 2b\n"                                                                          \
	"9:	movl $4, %%eax\n"                                                                  \
	"	jmp 2b\n"                                                                          \
	"10:	movl $5, %%eax\n"                                                                  \
	"	jmp 2b\n"                                                                          \
	"	.popsection\n"

/* The ring of this CPU, and its sub-buffers at TO. */
#define PT_FIND_RING                                                                               \
	"	movl 4(%[area]), %k[ring]\n"                                                       \
	"	cmpl (%[session]), %k[ring]\n" /* no CPU known: greater than any */                \
	"	jae 8f\n"                                                                          \
	"	cmpl 64(%[session]), %[generation]\n" /* another's by now */                       \
	"	jne 9f\n"                                                                          \
	"	movq 128(%[session], %[ring], 8), %[to]\n"                                         \
	"	shlq $7, %[ring]\n"                                                                \
	"	addq 16(%[session]), %[ring]\n"                                                   \
	"	movq (%[ring]), %[n]\n"

/*
 * Room for TOTAL bytes, with MARGIN bytes after them that may be written over. Then TO is the byte
 * before the event, and xmm0 what is to be published. A sub-buffer has none where it begins: there
 * a packet begins, and so it does in a ring that was never written.
 */
#define PT_FIND_ROOM(total, margin)                                                                \
	"	subq $1, %[n]\n"                                                                   \
	"	orq $7, %[n]\n"                                                                    \
	"	leaq 1(%[n], %[" #total "]), %%rax\n"                                              \
	"	cmpq 48(%[ring]), %%rax\n" /* had */ \
	"	ja 7f\n"                                                                           \
	"	movq %%rax, %%xmm0\n"                                                              \
	"	movhps 8(%[ring]), %%xmm0\n"                                                       \
	"	paddq %[one], %%xmm0\n"                                                            \
	"	movq %[n], %%rax\n"                                                                \
	"	andq 8(%[session]), %%rax\n"                                                       \
	"	leaq " #margin "(%%rax, %[" #total "]), %%rax\n"                                   \
	"	cmpq 8(%[session]), %%rax\n"                                                       \
	"	ja 7f\n"                                                                           \
	"	andq 24(%[session]), %[n]\n"                                                       \
	"	addq %[n], %[to]\n"

/* The time, which is in rdx, and the publishing store. */
#define PT_PUBLISH                                                                                 \
	"	movq %%rdx, 1(%[to])\n"                                                            \
	"	movq %%rdx, 32(%[ring])\n"                                                         \
	"	xorl %%eax, %%eax\n"                                                               \
	"	movdqa %%xmm0, (%[ring])\n"

/*
 * The id and the first bytes of the fields are copied as they were stored: a load that spans two
 * stores waits for both to reach the cache.
 */
#define PT_COPY_RECORD                                                                             \
	"	movl 8(%[record]), %%eax\n"                                                        \
	"	movl %%eax, 9(%[to])\n"                                                            \
	"	movl 12(%[record]), %%eax\n"                                                       \
	"	movl %%eax, 13(%[to])\n"                                                           \
	"	movl $16, %k[n]\n"                                                                 \
	"	cmpq %[size], %[n]\n"                                                              \
	"	jae 6f\n"                                                                          \
	"5:	movq (%[record], %[n]), %%rax\n"                                                   \
	"	movq %%rax, 1(%[to], %[n])\n"                                                      \
	"	addq $8, %[n]\n"                                                                   \
	"	cmpq %[size], %[n]\n"                                                              \
	"	jb 5b\n"                                                                           \
	"6:\n"

/*
 * Copies the record of SIZE bytes (more than 8) after the last one of this CPU and publishes it.
 * STALE: the session is not the one any more that had this GENERATION, to which the record belongs.
 */
static inline enum outcome section_record(struct pt_session *session, uint32_t generation,
					  struct rseq *area, const void *record, uint64_t size)
{
	uint64_t ring, to, n;
	uint32_t outcome;

	__asm__ volatile(PT_SECTION_BEGIN PT_FIND_RING PT_CLOCK_READ("%%") PT_FIND_ROOM(size, 0)
				 PT_COPY_RECORD PT_PUBLISH PT_SECTION_END
			 : [ring] "=&r"(ring), [to] "=&r"(to), [n] "=&r"(n), "=&a"(outcome)
			 : [session] "r"(session), [generation] "r"(generation), [area] "r"(area),
			   [record] "r"(record),
			   [size] "r"(size), [one] "m"(pt_one_event)
			 : "rdx", "xmm0", "memory", "cc");
	return (enum outcome)outcome;
}

/* The same with the time WHEN: STALE also if the ring has a later event by now. */
static inline enum outcome section_record_at(struct pt_session *session, uint32_t generation,
					     struct rseq *area, const void *record, uint64_t size,
					     uint64_t when)
{
	uint64_t ring, to, n;
	uint32_t outcome;

	__asm__ volatile(PT_SECTION_BEGIN PT_FIND_RING
			 "	cmpq 32(%[ring]), %%rdx\n"
			 "	jb 9f\n" PT_FIND_ROOM(size, 0)
				 PT_COPY_RECORD PT_PUBLISH PT_SECTION_END
			 : [ring] "=&r"(ring), [to] "=&r"(to), [n] "=&r"(n), "=&a"(outcome)
			 : [session] "r"(session), [generation] "r"(generation), [area] "r"(area),
			   [record] "r"(record),
			   [size] "r"(size), "d"(when), [one] "m"(pt_one_event)
			 : "xmm0", "memory", "cc");
	return (enum outcome)outcome;
}

/*
 * The record with HEAD in place of its first 12 bytes: id and contexts, HEAD_SIZE bytes, which were
 * stored in eights from 12 up to SPLIT, and in fours or eights from there on. Up to 7 bytes after
 * both are read, and written behind the event. EXPIRED: it is later than UNTIL.
 */
static inline enum outcome section_contexts(struct pt_session *session, uint32_t generation,
					    struct rseq *area, const void *head, uint64_t split,
					    uint64_t head_size, const void *record, uint64_t size,
					    uint64_t until)
{
	const uint64_t total = head_size + size - 12;
	uint64_t ring, to, n;
	uint32_t outcome;

	__asm__ volatile(PT_SECTION_BEGIN PT_FIND_RING PT_CLOCK_READ("%%")
			 "	cmpq %[until], %%rdx\n"
			 "	ja 10f\n" PT_FIND_ROOM(total, 8)
			 "	movl 8(%[head]), %%eax\n"
			 "	movl %%eax, 9(%[to])\n"
			 "	movl $12, %k[n]\n"
			 "	jmp 6f\n"
			 "5:	movq (%[head], %[n]), %%rax\n"
			 "	movq %%rax, 1(%[to], %[n])\n"
			 "	addq $8, %[n]\n"
			 "6:	cmpq %[split], %[n]\n"
			 "	jb 5b\n"
			 "	jmp 6f\n"
			 "5:	movl (%[head], %[n]), %%eax\n"
			 "	movl %%eax, 1(%[to], %[n])\n"
			 "	addq $4, %[n]\n"
			 "6:	cmpq %[head_size], %[n]\n"
			 "	jb 5b\n"
			 "	movq %[to], %%xmm1\n"
			 "	addq %[head_size], %[to]\n"
			 "	movl $12, %k[n]\n"
			 "	jmp 6f\n"
			 "5:	movq (%[record], %[n]), %%rax\n"
			 "	movq %%rax, -11(%[to], %[n])\n"
			 "	addq $8, %[n]\n"
			 "6:	cmpq %[size], %[n]\n"
			 "	jb 5b\n"
			 "	movq %%xmm1, %[to]\n" PT_PUBLISH PT_SECTION_END
			 : [ring] "=&r"(ring), [to] "=&r"(to), [n] "=&r"(n), "=&a"(outcome)
			 : [session] "r"(session), [generation] "r"(generation), [area] "r"(area),
			   [head] "r"(head),
			   [split] "m"(split), [head_size] "m"(head_size), [record] "r"(record),
			   [size] "r"(size), [total] "r"(total), [until] "m"(until),
			   [one] "m"(pt_one_event)
			 : "rdx", "xmm0", "xmm1", "memory", "cc");
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

/* Does it, if RING is still CPU's and where it was. */
static inline enum outcome section_change(const struct pt_session *session, struct rseq *area,
					  uint64_t cpu, struct pantrace_ring *ring,
					  const struct change *change)
{
	uint64_t n, old = (uint64_t)change->old, new = (uint64_t)change->new;
	uint32_t outcome;

	__asm__ volatile(PT_SECTION_BEGIN
			 "	cmpl (%[session]), %k[cpu]\n"
			 "	jae 8f\n"
			 "	cmpl %k[cpu], 4(%[area])\n"
			 "	jne 9f\n"
			 "	movq 8(%[change]), %%rax\n"
			 "	cmpq 48(%[ring]), %%rax\n"
			 "	ja 7f\n"
			 "	movq (%[change]), %%rax\n"
			 "	cmpq %%rax, (%[ring])\n"
			 "	jne 7f\n"
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
			 "	movq 8(%[change]), %%rdx\n"
			 "	xorl %%eax, %%eax\n"
			 "	movq %%rdx, (%[ring])\n" PT_SECTION_END
			 : [n] "=&r"(n), "=&a"(outcome)
			 : [session] "r"(session), [area] "r"(area), [cpu] "r"(cpu),
			 [ring] "r"(ring),
			   [change] "r"(change), [old] "r"(old), [new] "r"(new),
			   [bytes] "i"(sizeof(struct pantrace_packet)),
			   [image] "i"(offsetof(struct change, image)),
			   [content] "i"(offsetof(struct change, content)),
			   [discarded] "i"(offsetof(struct change, discarded)),
			   [p_content] "i"(offsetof(struct pantrace_packet, content_size)),
			   [p_discarded] "i"(offsetof(struct pantrace_packet, events_discarded)),
			   [p_end] "i"(offsetof(struct pantrace_packet, timestamp_end)),
			   [p_begin] "i"(offsetof(struct pantrace_packet, timestamp_begin))
			 : "rdx", "memory", "cc");
	return (enum outcome)outcome;
}
/* clang-format on */

_Static_assert(offsetof(struct pt_session, active) == 0, "layout");
_Static_assert(offsetof(struct pt_session, sub_mask) == 8, "layout");
_Static_assert(offsetof(struct pt_session, rings) == 16, "layout");
_Static_assert(offsetof(struct pt_session, ring_mask) == 24, "layout");
_Static_assert(offsetof(struct pt_session, generation) == 64, "layout");
_Static_assert(offsetof(struct pt_session, data) == 128, "layout");
_Static_assert(offsetof(struct pantrace_ring, position) == 0, "layout");
_Static_assert(offsetof(struct pantrace_ring, events) == 8, "layout");
_Static_assert(offsetof(struct pantrace_ring, last_tsc) == 32, "layout");
_Static_assert(offsetof(struct pantrace_ring, had) == 48, "layout");
_Static_assert(sizeof(struct pantrace_ring) == 128, "layout");
_Static_assert(offsetof(struct rseq, cpu_id) == 4, "layout");
_Static_assert(offsetof(struct rseq, rseq_cs) == 8, "layout");

#endif
