// SPDX-License-Identifier: MIT
/*
 * What sites call. There are two fast ways: the bare one, for events of one session without
 * contexts, and the general one, for several sessions and for contexts that need no call. What
 * neither can record is done again in C, by pt_emit_otherwise() or pt_emit_rest().
 */
#include "context.h"
#include "hooks.h"
#include "section.h"
#include <x86intrin.h>

/* For the assembly. */
#define SESSION_SHIFT 14
#define OF_A_THREAD   7 /* bits of contexts: VPID, VTID, PROCNAME */
#define CPU_ID	      8
#define SWITCHES      16
#define FAULTS	      32
#define IP	      64
#define ANY_CONTEXT   127

#define ATTEMPTS 16 /* how often an event is tried again when its session is replaced by another */

struct pt_short pt_short __attribute__((used));
__thread uint32_t pt_emitting;

/* Called by the assembly. */
PT_HIDDEN void pt_emit_otherwise(const struct pantrace_event *event, void *record, size_t size);
PT_HIDDEN void pt_emit_rest(const struct pantrace_event *event, void *record, size_t size,
			    uint64_t sessions);

struct pt_session *pt_session_only(uint32_t sessions)
{
	struct pt_session *first;

	if (!sessions || !&__rseq_size || !__rseq_size)
		return NULL;
	for (uint32_t left = sessions; left; left &= left - 1) {
		const struct pt_session *session = &pt_state->session[__builtin_ctz(left)];

		if (!session->active || session->per_thread)
			return NULL;
	}
	__atomic_store_n(&pt_short.rseq_offset, (uint64_t)__rseq_offset, __ATOMIC_RELAXED);
	__atomic_store_n(&pt_short.session, pt_state->session, __ATOMIC_RELAXED);
	first = &pt_state->session[__builtin_ctz(sessions)];
	if (sessions & (sessions - 1) || first->contexts)
		first = (struct pt_session *)-(uintptr_t)first;
	return first;
}

/* When the event is recorded and by whom; the sections do not know this. */
struct moment {
	uint64_t tsc; /* 0: when it is recorded */
	const void *ip;
	void *frame;
};

/*
 * Records the event in one session. A thread may sleep here for long: the session may end and
 * another take its place, for which the decisions made here are not valid. So the generation of its
 * rings is read first, and the record is published only in rings of this generation, by the
 * critical section that checks it; else the new session is asked from the start.
 */
static __attribute__((noinline)) void emit_to(const struct pantrace_event *event,
					      unsigned int number, void *record, size_t size,
					      const struct moment *moment)
{
	struct pt_session *const session = &pt_state->session[number];

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		const uint32_t generation = __atomic_load_n(&session->generation, __ATOMIC_ACQUIRE);
		const uint32_t contexts = __atomic_load_n(&session->contexts, __ATOMIC_RELAXED);
		bool done;

		if (!pt_hooks_accept(event, number, record, size))
			return;
		if (moment->tsc && !contexts &&
		    section_record_at(session, generation, rseq_area(), record, size,
				      moment->tsc) == DONE)
			return;
		if (!__atomic_load_n(&session->active, __ATOMIC_ACQUIRE))
			return;
		if (contexts & PT_CONTEXTS)
			done = pt_context_record(session, generation, record, size, moment->ip,
						 moment->frame);
		else
			done = pt_record_slowly(session, generation, record, size);
		if (done)
			return;
	}
}

static void emit_each(const struct pantrace_event *event, uint32_t sessions, void *record,
		      size_t size, const struct moment *moment)
{
	for (; sessions; sessions &= sessions - 1)
		emit_to(event, (unsigned int)__builtin_ctz(sessions), record, size, moment);
}

static __attribute__((noinline)) void emit_any(const struct pantrace_event *event, void *record,
					       size_t size, struct moment moment)
{
	uint32_t sessions = __atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE);

	if (!pt_state)
		return;
	sessions = pt_hooks_run(event, sessions, record, size);
	if (!sessions)
		return;
	((uint32_t *)record)[2] = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	moment.tsc = __rdtsc();
	emit_each(event, sessions, record, size, &moment);
}

/* A signal handler that comes between load and store leaves the number as it was. */
static void emitting(uint32_t more)
{
	__atomic_store_n(&pt_emitting, pt_emitting + more, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define HERE \
	((struct moment){.ip = __builtin_return_address(0), .frame = __builtin_frame_address(0)})

/* Records in all sessions that want the event, whatever they require. */
__attribute__((noinline, used)) void pt_emit_otherwise(const struct pantrace_event *event,
						       void *record, size_t size)
{
	const struct pantrace_hooks *const hooks = __atomic_load_n(&event->hooks, __ATOMIC_ACQUIRE);

	if (hooks && pt_hooks_reject(hooks, record))
		return;
	emitting(1);
	emit_any(event, record, size, HERE);
	emitting(-1u);
}

/* The sessions that the general way could not record in: it stops at the first of them. */
__attribute__((noinline, used)) void pt_emit_rest(const struct pantrace_event *event, void *record,
						  size_t size, uint64_t sessions)
{
	emitting(1);
	emit_each(event, (uint32_t)sessions, record, size, &HERE);
	emitting(-1u);
}

/*
 * The short ways are section_record() in the registers that a caller does not keep, without a
 * frame:
 *
 *	rdi event	rsi record	r8 size		rcx session
 *	r11 ring	r10 sub-buffer	rdx time	r9 and rax: what is at hand
 *
 * rdtsc begins when all that is before it is done, and nothing after it begins before it is
 * through, 7.5 ns. So an instruction costs the sixth of a cycle that it takes to be issued, a
 * branch a half, and one that is taken nearly a whole one (bench/user/floor.c); the chain of loads
 * to the position begins as early as can be, and what is not part of it, the contexts above all, is
 * done behind the clock: before it they cost 3 to 8 cycles more.
 */

/* clang-format off */
/* r9 is pt_short.rseq_offset. */
#define SECTION_BEGIN                                                                              \
	"	.pushsection __rseq_cs,\"aw\"\n"                                                   \
	"	.balign 32\n"                                                                      \
	"3:	.long 0, 0\n"                                                                      \
	"	.quad 1f, 2f - 1f, 4f\n"                                                           \
	"	.popsection\n"                                                                     \
	"	leaq 3b(%rip), %rax\n"                                                             \
	"	movq %rax, %fs:8(%r9)\n"                                                           \
	"1:"

#define RSEQ_OFFSET "	movq 64+pt_short(%rip), %r9\n"
#define LEAVE	    RSEQ_OFFSET "	movq $0, %fs:8(%r9)\n"

/*
 * If it cannot be done, or was interrupted, this starts again with OTHERWISE; the size is in rdx.
 */
#define SECTION_END(undo, otherwise)                                                               \
	"2:	.pushsection __rseq_failure,\"ax\"\n"                                              \
	"	.byte 0x0f, 0xb9, 0x3d\n"                                                          \
	"	.long " PT_STRINGIFY(PT_SIGNATURE) "\n"                                            \
	"4:	movq %r8, %rdx\n" undo LEAVE                                                       \
	"	jmp " otherwise "\n"                                                               \
	"	.popsection\n"

/*
 * A thread that slept between finding the session and the section may find another session in its
 * place. Not within the section: stopping the old session would have restarted it. So the section
 * asks the event once more which session it is for.
 */
#define STILL_ONLY                                                                                 \
	"	cmpq %rcx, 56(%rdi)\n"                                                             \
	"	jne 4f\n"

#define THIS_CPU "	movl %fs:4(%r9), %r11d\n"

/*
 * The ring of CPU r11, if that is below the session's field at offset MANY, which says how many
 * rings this way may write (pt_session_open()). An unknown CPU is greater than any.
 */
#define FIND_RING(many)                                                                            \
	"	cmpl " #many "(%rcx), %r11d\n"                                                     \
	"	jae 4f\n"                                                                          \
	"	movq 128(%rcx, %r11, 8), %r10\n"                                                   \
	"	shlq $7, %r11\n"                                                                   \
	"	addq 16(%rcx), %r11\n"                                                             \
	"	movq (%r11), %r9\n"

/* PT_FIND_ROOM(), with what the session adds to each event. */
#define FIND_ROOM                                                                                  \
	"	subq $1, %r9\n"                                                                    \
	"	orq $7, %r9\n"                                                                     \
	"	leaq 1(%r9, %r8), %rax\n"                                                          \
	"	cmpq 48(%r11), %rax\n" /* had */ \
	"	ja 4f\n"                                                                           \
	"	movq %rax, %xmm0\n"                                                                \
	"	movhps 8(%r11), %xmm0\n"                                                           \
	"	paddq 80(%rcx), %xmm0\n" /* {size, one} */                                         \
	"	movq %r9, %rax\n"                                                                  \
	"	andq 8(%rcx), %rax\n"                                                              \
	"	addq %r8, %rax\n"                                                                  \
	"	cmpq 96(%rcx), %rax\n" /* fits */                                                  \
	"	ja 4f\n"                                                                           \
	"	andq 24(%rcx), %r9\n"                                                              \
	"	addq %r9, %r10\n" /* the byte before the event */

#define PUT_ID                                                                                     \
	"	movl 44(%rdi), %eax\n"                                                             \
	"	movl %eax, 9(%r10)\n"

#define PUT_TIME "	movq %rdx, 1(%r10)\n"

#define COPY_FIELDS                                                                                \
	"	movl 12(%rsi), %eax\n"                                                             \
	"	movl %eax, 13(%r10)\n"                                                             \
	"	cmpq $16, %r8\n"                                                                   \
	"	jbe 6f\n"                                                                          \
	"	movl $16, %r9d\n"                                                                  \
	"5:	movq (%rsi, %r9), %rax\n"                                                          \
	"	movq %rax, 1(%r10, %r9)\n"                                                         \
	"	addq $8, %r9\n"                                                                    \
	"	cmpq %r8, %r9\n"                                                                   \
	"	jb 5b\n"                                                                           \
	"6:\n"

#define PUBLISH                                                                                    \
	"	movq %rdx, 32(%r11)\n"                                                             \
	"	movdqa %xmm0, (%r11)\n"

/*
 * Contexts are put between id and fields; r10 moves on with them. The thread's data, at r9, is
 * valid if its PID is the process's: in a forked child it is not.
 */
#define FIND_THREAD                                                                                \
	"	movq pt_thread@gottpoff(%rip), %r9\n"                                              \
	"	movl 72(%rcx), %eax\n" /* pid */                                                   \
	"	cmpl %eax, %fs:(%r9)\n"                                                            \
	"	jne 4f\n"

/*
 * Copies 24 bytes although fewer may be wanted: the rest is overwritten by what follows, or lies
 * behind the event, where `fits` leaves room.
 */
#define PUT_OF_THREAD                                                                              \
	FIND_THREAD                                                                                \
	"	movq 104(%rcx), %rax\n" /* identity */                                             \
	"	movdqu %fs:(%rax), %xmm3\n"                                                        \
	"	movq %fs:16(%rax), %rax\n"                                                         \
	"	movdqu %xmm3, 13(%r10)\n"                                                          \
	"	movq %rax, 29(%r10)\n"                                                             \
	"	addq 112(%rcx), %r10\n"                                                            \
	"	cmpq %fs:32(%r9), %rdx\n"                                                          \
	"	ja 4f\n" /* the name is to be asked for */

/* VALUE brings it into rax. */
#define PUT_LONG(value)                                                                            \
	value "	movq %rax, 13(%r10)\n"                                                             \
	      "	addq $8, %r10\n"
#define WANTS(context, otherwise)                                                                  \
	"	testb $" PT_STRINGIFY(context) ", 32(%rcx)\n"                                      \
	"	jz " otherwise "\n"

#define PUT_CPU                                                                                    \
	"	movl 28(%r11), %eax\n"                                                             \
	"	movl %eax, 13(%r10)\n"                                                             \
	"	addq $4, %r10\n"
#define PUT_IP PUT_LONG("	movq (%rsp), %rax\n")

/*
 * The thread's data is at r9. No torn reads: a context switch, which changes the count in its page,
 * restarts the section.
 */
#define COUNT(page, at)                                                                            \
	"	movq %fs:" #page "(%r9), %rax\n"                                                   \
	"	testq %rax, %rax\n"                                                                \
	"	jz 4f\n"                                                                           \
	"	movq " #at "(%rax), %rax\n"
#define PUT_SWITCHES PUT_LONG(COUNT(64, 16))
#define PUT_FAULTS   PUT_LONG(COUNT(72, 1024) "	shrq $3, %rax\n")

#define PUT_CONTEXTS                                                                               \
	WANTS(ANY_CONTEXT, "6f")                                                                   \
	WANTS(OF_A_THREAD, "5f") PUT_OF_THREAD                                                     \
	"5:" WANTS(CPU_ID, "5f") PUT_CPU                                                           \
	"5:" WANTS(SWITCHES, "5f") FIND_THREAD PUT_SWITCHES                                        \
	"5:" WANTS(FAULTS, "5f") FIND_THREAD PUT_FAULTS                                            \
	"5:" WANTS(IP, "6f") PUT_IP                                                                \
	"6:\n"

#define CLOCK PT_CLOCK_READ("%")

/*
 * The general way: a section for each session, of which the first is in rcx, negative. All take the
 * time of one reading of the clock, as long as it is the same CPU (xmm1) and the ring has no later
 * event. rdi: the sessions that are left; xmm4: the event. The next session (xmm2) and the CPU are
 * known before the clock is read, so that the chain to the next ring is short: 4 ns less.
 */
#define PUT_OWN_ID                                                                                 \
	"	movl 8(%rsi), %eax\n"                                                              \
	"	movl %eax, 9(%r10)\n"
/*
 * STILL_ONLY for all sessions that are left: no session with hooks has come, and each is still
 * wanted.
 */
#define STILL_WANTED                                                                               \
	"	movq %xmm4, %rax\n"                                                                \
	"	cmpq $0, 64(%rax)\n"                                                               \
	"	jne 4f\n"                                                                          \
	"	movl 48(%rax), %eax\n"                                                             \
	"	notl %eax\n"                                                                       \
	"	testl %edi, %eax\n"                                                                \
	"	jnz 4f\n"
#define REST                                                                                       \
	"	movl %edi, %ecx\n"                                                                 \
	"	movq %xmm4, %rdi\n"
#define GENERAL                                                                                    \
	"	negq %rcx\n"                                                                       \
	"	movq %rdi, %xmm4\n"                                                                \
	"	movl 48(%rdi), %eax\n" /* sessions */                                              \
	"	movq %rdx, %r8\n"                                                                  \
	"	movl 44(%rdi), %edi\n"                                                             \
	"	movl %edi, 8(%rsi)\n"                                                              \
	"	movl %eax, %edi\n" SECTION_BEGIN THIS_CPU                                          \
	"	movd %r11d, %xmm1\n" FIND_RING(36) STILL_WANTED                                    \
	"	movl 68(%rcx), %eax\n" /* number */                                                \
	"	btrl %eax, %edi\n"                                                                 \
	"	jnc 4f\n"                                                                          \
	"	bsfl %edi, %eax\n"                                                                 \
	"	shlq $" PT_STRINGIFY(SESSION_SHIFT) ", %rax\n"                                     \
	"	addq 72+pt_short(%rip), %rax\n"                                                    \
	"	movq %rax, %xmm2\n" CLOCK FIND_ROOM PUT_OWN_ID PUT_TIME PUT_CONTEXTS COPY_FIELDS   \
		PUBLISH                                                                            \
	SECTION_END("	movq %xmm4, %rdi\n"                                                        \
		    "	movl 48(%rdi), %ecx\n", "pt_emit_rest")                                    \
	"	testl %edi, %edi\n"                                                                \
	"	jz 9f\n"                                                                           \
	"	movq %xmm2, %rcx\n"                                                                \
	"8:\n" RSEQ_OFFSET SECTION_BEGIN                                                           \
	"	movd %xmm1, %r11d\n"                                                               \
	"	cmpl %r11d, %fs:4(%r9)\n"                                                          \
	"	jne 4f\n" FIND_RING(36) STILL_WANTED                                               \
	"	cmpq 32(%r11), %rdx\n"                                                             \
	"	jb 4f\n" FIND_ROOM PUT_OWN_ID PUT_TIME PUT_CONTEXTS COPY_FIELDS PUBLISH            \
		SECTION_END(REST, "pt_emit_rest")                                                  \
	"	leal -1(%rdi), %eax\n"                                                             \
	"	andl %eax, %edi\n"                                                                 \
	"	bsfl %edi, %ecx\n"                                                                 \
	"	jz 9f\n"                                                                           \
	"	shlq $" PT_STRINGIFY(SESSION_SHIFT) ", %rcx\n"                                     \
	"	addq 72+pt_short(%rip), %rcx\n"                                                    \
	"	jmp 8b\n"                                                                          \
	"9:\n" LEAVE                                                                               \
	"	ret\n"

#ifdef __CET__
#define ENDBR "	endbr64\n"
#else
#define ENDBR
#endif

__attribute__((aligned(64), naked, no_instrument_function, used)) void
pantrace_emit(const struct pantrace_event *event __attribute__((unused)),
	      void *record __attribute__((unused)), size_t size __attribute__((unused)))
{
	__asm__(ENDBR RSEQ_OFFSET
		"	movq 56(%rdi), %rcx\n" /* only */
		"	testq %rcx, %rcx\n"
		"	jle 9f\n"
		"	movq %rdx, %r8\n"
		SECTION_BEGIN THIS_CPU FIND_RING(4) STILL_ONLY CLOCK FIND_ROOM PUT_ID COPY_FIELDS
		PUT_TIME PUBLISH SECTION_END(, "pt_emit_otherwise") LEAVE
		"	ret\n"
		"9:	jz pt_emit_otherwise\n"
		GENERAL);
}
/* clang-format on */

#define AT(what, offset) _Static_assert((what) == (offset), "layout")
AT(offsetof(struct pantrace_event, id), 44);
AT(offsetof(struct pantrace_event, sessions), 48);
AT(offsetof(struct pantrace_event, only), 56);
AT(offsetof(struct pantrace_event, hooks), 64);
AT(offsetof(struct pt_short, rseq_offset), 64);
AT(offsetof(struct pt_short, session), 72);
AT(sizeof(struct pt_session), 1 << SESSION_SHIFT);
AT(offsetof(struct pt_state, session) % 128, 64);
AT(offsetof(struct pt_session, bare), 4);
AT(offsetof(struct pt_session, contexts), 32);
AT(offsetof(struct pt_session, quick), 36);
AT(offsetof(struct pt_session, number), 68);
AT(offsetof(struct pt_session, pid), 72);
AT(offsetof(struct pt_session, size), 80);
AT(offsetof(struct pt_session, one), 88);
AT(offsetof(struct pt_session, fits), 96);
AT(offsetof(struct pt_session, identity), 104);
AT(offsetof(struct pt_session, identity_size), 112);
AT(offsetof(struct pantrace_ring, cpu), 28);
AT(offsetof(struct pantrace_ring, had), 48);
AT(1 << PANTRACE_CONTEXT_VPID | 1 << PANTRACE_CONTEXT_VTID | 1 << PANTRACE_CONTEXT_PROCNAME,
   OF_A_THREAD);
AT(1 << PANTRACE_CONTEXT_CPU_ID, CPU_ID);
AT(1 << PANTRACE_CONTEXT_CONTEXT_SWITCHES, SWITCHES);
AT(1 << PANTRACE_CONTEXT_PAGE_FAULTS, FAULTS);
AT(1 << PANTRACE_CONTEXT_IP, IP);
