// SPDX-License-Identifier: MIT
/*
 * What sites call. An event that one session wants, without contexts, goes the short way; whatever
 * that does not like is done again by pt_emit_otherwise().
 */
#include "context.h"
#include "hooks.h"
#include "section.h"
#include <x86intrin.h>

/* For the assembly. */
#define SESSION_SHIFT 14
#define SWITCHES      16 /* bit of PANTRACE_CONTEXT_CONTEXT_SWITCHES */

PT_HIDDEN uint64_t pt_rseq_offset; /* of the thread's struct rseq from its thread pointer */

/* What the assembly and the rest know of each other. */
#define WAY(name, first, ...) PT_HIDDEN void name(first, void *record, size_t size __VA_ARGS__)
WAY(pt_emit_several, const struct pantrace_event *event);
WAY(pt_emit_contexts, const struct pantrace_event *event, , struct pt_session *session);
WAY(pt_emit_otherwise, const struct pantrace_event *event);
WAY(pt_contexts_otherwise, const struct pantrace_event *event, , struct pt_session *session);
WAY(pt_emit_rest, uint64_t sessions);

struct pt_session *pt_session_only(uint32_t sessions)
{
	uintptr_t first;

	if (!sessions || !&__rseq_size || !__rseq_size)
		return NULL;
	for (uint32_t left = sessions; left; left &= left - 1) {
		const struct pt_session *session = &pt_state->session[__builtin_ctz(left)];

		if (!session->active || session->per_thread ||
		    (session->contexts && sessions & (sessions - 1)))
			return NULL;
	}
	__atomic_store_n(&pt_rseq_offset, (uint64_t)__rseq_offset, __ATOMIC_RELAXED);
	first = (uintptr_t)&pt_state->session[__builtin_ctz(sessions)];
	if (sessions & (sessions - 1))
		return (struct pt_session *)-first; /* even: pt_emit_several() */
	return (struct pt_session *)(pt_state->session[__builtin_ctz(sessions)].contexts ? ~first : first);
}

/*
 * One session's copy of the event. Another session may take the place of this one meanwhile, with other
 * contexts; what was made for the one is nothing to the other, which its generation tells.
 */
static __attribute__((noinline)) void emit_one(struct pt_session *session, void *record, size_t size,
					       const void *ip, void *frame)
{
	uint32_t generation = __atomic_load_n(&session->generation, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&session->active, __ATOMIC_ACQUIRE)) {
		if (!pt_session_of_child(session))
			return;
		generation = __atomic_load_n(&session->generation, __ATOMIC_ACQUIRE);
	}
	if (__atomic_load_n(&session->contexts, __ATOMIC_RELAXED) & PT_CONTEXTS)
		pt_context_record(session, generation, record, size, ip, frame);
	else
		pt_record_slowly(session, generation, record, size);
}

static __attribute__((noinline)) void emit_any(const struct pantrace_event *event, void *record,
					       size_t size, const void *ip, void *frame)
{
	uint32_t sessions = __atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE);
	struct rseq *const area = rseq_area();
	uint64_t tsc;

	if (!pt_state)
		return;
	sessions = pt_hooks_run(event, sessions, record, size);
	if (!sessions)
		return;
	((uint32_t *)record)[2] = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	tsc = __rdtsc();
	for (; sessions; sessions &= sessions - 1) {
		struct pt_session *const session = &pt_state->session[__builtin_ctz(sessions)];
		const uint32_t generation = __atomic_load_n(&session->generation, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&session->contexts, __ATOMIC_RELAXED) ||
		    section_record_at(session, generation, area, record, size, tsc) != DONE)
			emit_one(session, record, size, ip, frame);
	}
}

/* All sessions that want the event, whatever they ask for. */
__attribute__((noinline, used)) void
pt_emit_otherwise(const struct pantrace_event *event, void *record, size_t size)
{
	const struct pantrace_hooks *const hooks = __atomic_load_n(&event->hooks, __ATOMIC_ACQUIRE);

	if (hooks && pt_hooks_reject(hooks, record))
		return;
	emit_any(event, record, size, __builtin_return_address(0), __builtin_frame_address(0));
}

/* What pt_emit_several() left: these sessions, of which the first did not have it its way. */
__attribute__((noinline, used)) void pt_emit_rest(uint64_t sessions, void *record, size_t size)
{
	for (; sessions; sessions &= sessions - 1)
		emit_one(&pt_state->session[__builtin_ctzll(sessions)], record, size,
			 __builtin_return_address(0), __builtin_frame_address(0));
}

/* An event of one session with contexts that the short way cannot, or not now. */
__attribute__((noinline, used)) void
pt_contexts_otherwise(const struct pantrace_event *event, void *record, size_t size,
		      struct pt_session *session)
{
	((uint32_t *)record)[2] = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	emit_one(session, record, size, __builtin_return_address(0), __builtin_frame_address(0));
}

/*
 * The short ways are section_record() in the registers that a caller does not keep, without a frame:
 *
 *	rdi event	rsi record	r8 size		rcx session
 *	r11 ring	r10 sub-buffer	rdx time	r9 and rax: what is at hand
 */

#define SECTION_BEGIN                                                                              \
	"	.pushsection __rseq_cs,\"aw\"\n"                                                   \
	"	.balign 32\n"                                                                      \
	"3:	.long 0, 0\n"                                                                      \
	"	.quad 1f, 2f - 1f, 4f\n"                                                           \
	"	.popsection\n"                                                                     \
	"	movq pt_rseq_offset(%rip), %r9\n"                                                  \
	"	leaq 3b(%rip), %rax\n"                                                             \
	"	movq %rax, %fs:8(%r9)\n"                                                           \
	"1:"

#define LEAVE                                                                                      \
	"	movq pt_rseq_offset(%rip), %r9\n"                                                  \
	"	movq $0, %fs:8(%r9)\n"

/* What cannot be done, or was interrupted, does OTHERWISE with the size in rdx again. */
#define SECTION_END(otherwise)                                                                     \
	"2:	.pushsection __rseq_failure,\"ax\"\n"                                              \
	"	.byte 0x0f, 0xb9, 0x3d\n"                                                          \
	"	.long " PT_STRINGIFY(PT_SIGNATURE) "\n"                                            \
	"4:	movq %r8, %rdx\n" LEAVE                                                            \
	"	jmp " otherwise "\n"                                                               \
	"	.popsection\n"

#define FIND_RING                                                                                  \
	"	movl %fs:4(%r9), %r11d\n"                                                          \
	"	cmpl (%rcx), %r11d\n" /* no CPU known: greater than any */                         \
	"	jae 4f\n"                                                                          \
	"	movq 128(%rcx, %r11, 8), %r10\n"                                                   \
	"	shlq $7, %r11\n"                                                                   \
	"	addq 16(%rcx), %r11\n"                                                             \
	"	movq (%r11), %r9\n"

/* In the section, for until there another session may have taken the place of this one. */
#define NO_CONTEXTS                                                                                \
	"	cmpq $0, 32(%rcx)\n"                                                               \
	"	jne 4f\n"

/* PT_FIND_ROOM(), with CONTEXTS to add their size to rax. */
#define FIND_ROOM(contexts, margin)                                                                                 \
	"	subq $1, %r9\n"                                                                    \
	"	orq $7, %r9\n"                                                                     \
	"	leaq 1(%r9, %r8), %rax\n" contexts                                                 \
	"	movq %rax, %xmm0\n"                                                                \
	"	movhps 8(%r11), %xmm0\n"                                                           \
	"	paddq pt_one_event(%rip), %xmm0\n"                                                 \
	"	movq %r9, %rax\n"                                                                  \
	"	andq 8(%rcx), %rax\n" contexts                                                     \
	"	leaq " #margin "(%rax, %r8), %rax\n"                                               \
	"	cmpq 8(%rcx), %rax\n"                                                              \
	"	ja 4f\n"                                                                           \
	"	andq 24(%rcx), %r9\n"                                                              \
	"	addq %r9, %r10\n" /* the byte before the event */

#define PUT_ID                                                                                     \
	"	movl 44(%rdi), %eax\n"                                                             \
	"	movl %eax, 9(%r10)\n"

#define COPY_FIELDS                                                                                \
	"	movl 12(%rsi), %eax\n"                                                             \
	"	movl %eax, 13(%r10)\n"                                                             \
	"	movl $16, %r9d\n"                                                                  \
	"	cmpq %r8, %r9\n"                                                                   \
	"	jae 6f\n"                                                                          \
	"5:	movq (%rsi, %r9), %rax\n"                                                          \
	"	movq %rax, 1(%r10, %r9)\n"                                                         \
	"	addq $8, %r9\n"                                                                    \
	"	cmpq %r8, %r9\n"                                                                   \
	"	jb 5b\n"                                                                           \
	"6:\n"

#define PUT_TIME "	movq %rdx, 1(%r10)\n"

#define PUBLISH                                                                                    \
	"	movq %rdx, 32(%r11)\n"                                                             \
	"	movdqa %xmm0, (%r11)\n"

#ifdef __CET__
#define ENDBR "	endbr64\n"
#else
#define ENDBR
#endif
#define SHORT_WAY __attribute__((aligned(64), naked, no_instrument_function, used))

/* An event of one session. */
SHORT_WAY void pantrace_emit(const struct pantrace_event *event __attribute__((unused)),
			     void *record __attribute__((unused)),
			     size_t size __attribute__((unused)))
{
	__asm__(ENDBR "	movq 56(%rdi), %rcx\n" /* only */
		"	testq %rcx, %rcx\n"
		"	jle 9f\n"
		"	movq %rdx, %r8\n"
		SECTION_BEGIN FIND_RING NO_CONTEXTS PT_CLOCK_READ("%") FIND_ROOM(, 0)
		PUT_ID COPY_FIELDS PUT_TIME PUBLISH SECTION_END("pt_emit_otherwise") LEAVE
		"	ret\n"
		"9:	jz pt_emit_otherwise\n"
		"	testb $1, %cl\n"
		"	jz pt_emit_several\n"
		"	jmp pt_emit_contexts\n");
}

/*
 * An event of several sessions without contexts, of which the first is at -rcx: a section each, with the
 * time of one reading of the clock if their rings have no later event by now. rdi: the other sessions.
 */
SHORT_WAY void pt_emit_several(const struct pantrace_event *event __attribute__((unused)),
					 void *record __attribute__((unused)),
					 size_t size __attribute__((unused)))
{
	__asm__("	cmpq $0, 64(%rdi)\n" /* hooks that came after rcx was read */
		"	jne pt_emit_otherwise\n"
		"	negq %rcx\n"
		"	movq %rdx, %r8\n"
		SECTION_BEGIN FIND_RING NO_CONTEXTS PT_CLOCK_READ("%") FIND_ROOM(, 0)
		PUT_ID COPY_FIELDS PUT_TIME PUBLISH SECTION_END("pt_emit_otherwise")
		"	movl 44(%rdi), %eax\n"
		"	movl %eax, 8(%rsi)\n"
		"	movl 48(%rdi), %eax\n" /* sessions */
		"	bsfl %eax, %r9d\n"
		"	leal -1(%rax), %edi\n"
		"	andl %eax, %edi\n"
		"	cmpl 68(%rcx), %r9d\n" /* number */
		"	jne 7f\n"
		"8:	bsfl %edi, %ecx\n"
		"	jz 9f\n"
		"	shlq $" PT_STRINGIFY(SESSION_SHIFT) ", %rcx\n"
		"	addq pt_state(%rip), %rcx\n"
		"	addq $64, %rcx\n"
		SECTION_BEGIN FIND_RING NO_CONTEXTS
		"	cmpq 32(%r11), %rdx\n"
		"	jb 4f\n"
		FIND_ROOM(, 0)
		"	movl 8(%rsi), %eax\n"
		"	movl %eax, 9(%r10)\n"
		COPY_FIELDS PUT_TIME PUBLISH SECTION_END("pt_emit_rest")
		"	leal -1(%rdi), %eax\n"
		"	andl %eax, %edi\n"
		"	jmp 8b\n"
		"7:	movl 68(%rcx), %ecx\n" /* the sessions are others by now */
		"	movl %eax, %edi\n"
		"	btrl %ecx, %edi\n"
		"	movq %r8, %rdx\n" LEAVE
		"	jmp pt_emit_rest\n"
		"9:\n" LEAVE
		"	ret\n");
}

/*
 * An event of one session, at ~rcx, with contexts that need no call, between id and fields: up to 24 bytes of what the
 * thread knows of itself, then CPU, context switches and return address. What is not wanted is written
 * where the fields come next, and up to 24 bytes behind the event: hence the room that is asked for.
 * Nothing is torn: a switch of threads, which changes the count in its page, begins the section again.
 */
SHORT_WAY void pt_emit_contexts(const struct pantrace_event *event __attribute__((unused)),
					  void *record __attribute__((unused)),
					  size_t size __attribute__((unused)),
					  struct pt_session *session __attribute__((unused)))
{
	__asm__("	notq %rcx\n"
		"	movq %rdx, %r8\n"
		SECTION_BEGIN
		"	movl %fs:4(%r9), %eax\n"
		"	movd %eax, %xmm1\n"
		FIND_RING
		"	movq 88(%rcx), %rax\n" /* struct thread */
		"	movl 32(%rcx), %edx\n"
		"	testl %edx, %fs:40(%rax)\n"
		"	jnz 4f\n"
		"	movl 124(%rcx), %edx\n"
		"	cmpl %edx, %fs:(%rax)\n" /* a forked child's is another */
		"	jne 4f\n"
		PT_CLOCK_READ("%")
		"	movq 88(%rcx), %rax\n"
		"	cmpq %fs:32(%rax), %rdx\n"
		"	ja 4f\n" /* the name is to be asked for */
		FIND_ROOM("	addq 104(%rcx), %rax\n", 24) PUT_ID PUT_TIME
		"	movq 96(%rcx), %r9\n" /* identity */
		"	movdqu %fs:(%r9), %xmm2\n"
		"	movdqu %xmm2, 13(%r10)\n"
		"	movq %fs:16(%r9), %rax\n"
		"	movq %rax, 29(%r10)\n"
		"	movl 112(%rcx), %eax\n"
		"	movd %xmm1, 13(%r10, %rax)\n"
		"	movl 120(%rcx), %r9d\n"
		"	movq (%rsp), %rax\n"
		"	movq %rax, 13(%r10, %r9)\n"
		"	testl $" PT_STRINGIFY(SWITCHES) ", 32(%rcx)\n"
		"	jz 5f\n"
		"	movq 88(%rcx), %r9\n"
		"	movq %fs:48(%r9), %rax\n"
		"	movl 116(%rcx), %r9d\n"
		"	movq 16(%rax), %rax\n"
		"	movq %rax, 13(%r10, %r9)\n"
		"5:	addq 104(%rcx), %r10\n"
		COPY_FIELDS PUBLISH SECTION_END("pt_contexts_otherwise") LEAVE
		"	ret\n");
}

#define AT(what, offset) _Static_assert(what == (offset), "layout")
AT(offsetof(struct pantrace_event, id), 44);
AT(offsetof(struct pantrace_event, sessions), 48);
AT(offsetof(struct pantrace_event, only), 56);
AT(offsetof(struct pantrace_event, hooks), 64);
AT(offsetof(struct pt_state, session), 64);
AT(sizeof(struct pt_session), 1 << SESSION_SHIFT);
AT(offsetof(struct pt_session, contexts), 32);
AT(offsetof(struct pt_session, number), 68);
AT(offsetof(struct pt_session, layout.thread), 88);
AT(offsetof(struct pt_session, layout.identity), 96);
AT(offsetof(struct pt_session, layout.size), 104);
AT(offsetof(struct pt_session, layout.at_cpu), 112);
AT(offsetof(struct pt_session, layout.at_switches), 116);
AT(offsetof(struct pt_session, layout.at_ip), 120);
AT(offsetof(struct pt_session, layout.pid), 124);
AT(1 << PANTRACE_CONTEXT_CONTEXT_SWITCHES, SWITCHES);
