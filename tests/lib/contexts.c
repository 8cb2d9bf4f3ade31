// SPDX-License-Identifier: MIT
/*
 * What events say of the thread that made them, with every set of contexts that needs no system
 * call and with some that do: in threads from their first event on, after a change of name, in
 * forked children and their threads, in signal handlers, and on whatever CPU. Each event has what
 * the system said then in its fields.
 *
 *	contexts
 */
#include "../../lib/internal.h"
#include "../../lib/thread.h"
#include "../unit/tap.h"
#include "sessions.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <pantrace/reader.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define BIT(context) (1ull << PANTRACE_CONTEXT_##context)
#define NAME_AGE     (1ull << 22) /* ticks after which a thread looks at its name: lib/context.c */
#define ROUNDS	     20

static atomic_ulong produced;
static atomic_uint handled; /* by signal handlers, in a session */
static _Thread_local char name[16];
static bool named; /* the session wants names */
static _Thread_local int32_t tid, pinned = -1; /* the only CPU that the thread may be on */

/*
 * What the recording of an event may touch first; TSan lets handlers run where they are held off.
 */
#ifdef __SANITIZE_THREAD__
#define TOUCHED 1000
#else
#define TOUCHED FRESH
#endif
#define FRESH 4 /* faults that the thread has before each event */
#define PAGES 1024 /* that take turns */

static _Thread_local int counter = -1;
static unsigned char *pages;
static atomic_uint next_page;

/* What perf counts, or where that is not allowed the system. */
static uint64_t faults(void)
{
	struct rusage usage;
	uint64_t count;

	for (unsigned int i = 0; i < FRESH; i++) {
		unsigned char *const page =
			pages + (size_t)(atomic_fetch_add(&next_page, 1) % PAGES) * 4096;

		__atomic_store_n(page, 1, __ATOMIC_RELAXED);
		madvise(page, 4096, MADV_DONTNEED);
	}
	if (counter >= 0 && read(counter, &count, sizeof(count)) == sizeof(count))
		return count;
	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* Events of four shapes: none of the fields is where a context would be copied with them. */
static __attribute__((noinline)) void event(void)
{
	sigset_t set, old;

	PANTRACE(contexts, event, getpid(), tid, pinned, PT_STRN(name, 16));
	PANTRACE(contexts, bare);
	PANTRACE(contexts, number, tid);
	sigemptyset(&set); /* a handler's faults would come between the system's count and ours */
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	PANTRACE(contexts, faults, tid, faults());
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	atomic_fetch_add(&produced, 4);
}

/*
 * Signals come for as long as a busy machine lets threads wait for the helper: what their handlers
 * record, too, is to fit into a ring (1.4 KB each with stacks, 4 MB), as nobody reads meanwhile.
 */
#define HANDLED 2500

static void on_signal(int signal)
{
	const int saved = errno;

	(void)signal;
	if (tid && atomic_fetch_add(&handled, 1) < HANDLED)
		event();
	errno = saved;
}

/*
 * Until the helper has seen the thread's NAME; and that of its first thread, which new ones have.
 */
static void name_wait(void)
{
	struct pt_known *const known = pt_known_get(tid, 0);
	char seen[16];

	for (int i = 0; known && i < 60000; i++) {
		pt_known_name(known, seen);
		if (!memcmp(seen, name, sizeof(seen)))
			break;
		for (uint64_t from = __rdtsc(); __rdtsc() - from < NAME_AGE;)
			; /* it looks when the process has run for a while */
	}
}

/* From when it returns, events have the new name. */
static void rename_thread(const char *text)
{
	sigset_t set, old;
	uint64_t from;
	char next[16] = "";

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	snprintf(next, sizeof(next), "%s", text); /* where TSan runs handlers that it put off */
	memcpy(name, next, sizeof(name));
	prctl(PR_SET_NAME, name);
	if (named)
		name_wait();
	from = __rdtsc();
	while (__rdtsc() - from <= NAME_AGE)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void thread_begin(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_PAGE_FAULTS};

	if (counter >= 0) /* of the parent */
		close(counter);
	counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	prctl(PR_GET_NAME, name);
	tid = (int32_t)syscall(SYS_gettid); /* from here on signal handlers have events */
}

/* The helper has what events say of a thread some milliseconds after its first one. */
static void serve_wait(void)
{
	PANTRACE(contexts, bare);
	atomic_fetch_add(&produced, 1);
	for (int i = 0; i < 60000 && !pt_thread_served((int32_t)syscall(SYS_gettid)); i++)
		for (uint64_t from = __rdtsc(); __rdtsc() - from < NAME_AGE;)
			;
}

static void *thread(void *arg)
{
	cpu_set_t set;

	serve_wait();
	thread_begin();
	for (int i = 0; i < ROUNDS; i++) {
		event();
		CPU_ZERO(&set);
		CPU_SET(i % 2, &set);
		pinned = -1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (!sched_setaffinity(0, sizeof(set), &set))
			pinned = i % 2;
	}
	rename_thread(arg);
	for (int i = 0; i < ROUNDS; i++)
		event();
	tid = 0; /* no more in handlers */
	close(counter);
	return NULL;
}

static void threads(void)
{
	pthread_t two[2];

	event();
	pthread_create(&two[0], NULL, thread, (void *)(uintptr_t) "first");
	pthread_create(&two[1], NULL, thread, (void *)(uintptr_t) "the second, long");
	event();
	for (int i = 0; i < 2; i++)
		pthread_join(two[i], NULL);
	event();
}

#define BASES 256 /* more than a session has threads: their ids do not meet */

struct tally {
	unsigned long read, wrong[PANTRACE_CONTEXT_MAX], damaged;
	uint64_t lost;
	struct base {
		int32_t tid;
		int64_t low, high;
	} bases[BASES];
};

static bool take(const unsigned char **at, uint64_t mask, unsigned int context, void *to, size_t n)
{
	if (!(mask >> context & 1))
		return false;
	memcpy(to, *at, n);
	*at += n;
	return true;
}

#define TAKE(context, to) take(&at, mask, PANTRACE_CONTEXT_##context, to, sizeof(*(to)))

/*
 * Another counter of the same began at another time: it has the same number more in all events of a
 * thread, but for what the recording of an event itself may touch first.
 */
static bool are_faults(struct tally *tally, int32_t of, const void *field, uint64_t context)
{
	struct base *base = &tally->bases[(uint32_t)of % BASES];
	uint64_t said;
	int64_t more;

	memcpy(&said, field, sizeof(said));
	more = (int64_t)(said - context);
	if (base->tid != of)
		*base = (struct base){of, more, more};
	if (more < base->low)
		base->low = more;
	if (more > base->high)
		base->high = more;
	return base->high - base->low < TOUCHED;
}

static void check(uint64_t mask, const struct pantrace_event_view *view, uint32_t ring,
		  struct tally *tally)
{
	const bool full = view->size > 12;
	const unsigned char *at = view->contexts;
	int32_t pid, of = 0, cpu = -1, value;
	char said[16], text[16] = "";
	uint64_t wide;
	uint16_t length;

	memcpy(&pid, view->fields, full ? 4 : 0);
	memcpy(&of, view->fields + (full ? 4 : 0), view->size ? 4 : 0);
	if (full) {
		memcpy(&cpu, view->fields + 8, 4);
		memcpy(&length, view->fields + 12, 2);
		memcpy(text, view->fields + 14, length < 16 ? length : 16);
	} else {
		pid = getpid();
	}
	if (TAKE(VPID, &value))
		tally->wrong[PANTRACE_CONTEXT_VPID] += value != pid || pid != getpid();
	if (TAKE(VTID, &value))
		tally->wrong[PANTRACE_CONTEXT_VTID] += view->size ? value != of : value <= 0;
	if (TAKE(PROCNAME, &said))
		tally->wrong[PANTRACE_CONTEXT_PROCNAME] += full && memcmp(said, text, 16) != 0;
	if (TAKE(CPU_ID, &value))
		tally->wrong[PANTRACE_CONTEXT_CPU_ID] +=
			cpu < 0 ? value < 0 || value >= PT_MAX_RING
				: value != cpu || (pt_rseq_here() && cpu != (int)ring);
	if (TAKE(CONTEXT_SWITCHES, &wide))
		tally->wrong[PANTRACE_CONTEXT_CONTEXT_SWITCHES] += wide > 1000000;
	if (TAKE(PAGE_FAULTS, &wide))
		tally->wrong[PANTRACE_CONTEXT_PAGE_FAULTS] +=
			view->size == 12 && !are_faults(tally, of, view->fields + 4, wide);
	if (TAKE(IP, &wide))
		tally->wrong
			[PANTRACE_CONTEXT_IP] += /* of the part that the compiler puts apart, too */
			wide - (uintptr_t)event > 1 << 20 && (uintptr_t)event - wide > 1 << 20;
	tally->read++;
}

static void tally_session(uint64_t mask, struct tally *tally)
{
	struct pantrace_packet_view packet;
	struct pantrace_event_view view;
	struct pantrace_reader *reader;
	const int fd = pt_session_fd(number_of("contexts"));
	int rc;

	if (fd < 0 || pantrace_reader_open_fd(fd, false, &reader)) {
		tally->damaged++;
		return;
	}
	close(fd);
	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		while ((rc = pantrace_reader_packet(reader, ring, &packet)) == 1) {
			size_t at = packet.from;

			while ((rc = pantrace_reader_event(reader, &packet, &at, &view)) == 1)
				check(mask, &view, ring, tally);
			tally->damaged += rc < 0;
		}
		tally->damaged += rc < 0;
	}
	tally->lost += pantrace_reader_lost(reader);
	pantrace_reader_close(reader);
}

static unsigned long wrongs(const struct tally *tally)
{
	/* in rings of threads events of handlers within an event are lost, and counted */
	unsigned long sum = tally->damaged + (pt_rseq_here() ? tally->lost : 0);

	for (unsigned int i = 0; i < PANTRACE_CONTEXT_MAX; i++)
		sum += tally->wrong[i];
	return sum;
}

static struct tally total;
static unsigned long children_wrong;
static struct pt_rules rules;
static const struct itimerval storm = {{0, 200}, {0, 200}}, quiet;

/* In a child: its own events, of its own threads, in rings of its own. */
__attribute__((unused)) static void child(uint64_t mask)
{
	struct tally tally = {0};

	atomic_store(&produced, 0);
	thread_begin();
	event();
	/* where a child has no helper, nobody tells it of new threads and names */
	if (mask % 3 == 0 && pt_control_helps())
		threads();
	if (mask % 5 == 0 && pt_control_helps())
		rename_thread("a child");
	event();
	tally_session(mask, &tally);
	_exit(wrongs(&tally) || tally.read + tally.lost != atomic_load(&produced));
}

/*
 * Not with AddressSanitizer: GCC 12's leaves the locks of its allocator as they are when another
 * thread, the helper, holds them at fork(), and the child waits for ever.
 */
static bool child_is_right(uint64_t mask)
{
#ifndef __SANITIZE_ADDRESS__
	int status = 1;
	const pid_t pid = fork();

	if (!pid)
		child(mask);
	waitpid(pid, &status, 0);
	return !status;
#else
	return true;
#endif
}

static void contexts(uint64_t mask)
{
	/* Read only at the end, and the storm lasts as long as the machine is busy. */
	struct pt_spec spec = {.name = "contexts",
			       .mode = PANTRACE_DISCARD,
			       .sub_size = 4096,
			       .nr_subs =
				       pt_rseq_here() ? 1024 : 64, /* a ring a CPU, or a thread */
			       .contexts = mask};
	const unsigned long before = total.read + total.lost;
	const char *why;

	atomic_store(&produced, 0);
	atomic_store(&handled, 0);
	named = mask & BIT(PROCNAME);
	if (pt_session_start(&spec, &rules, &why)) {
		total.damaged++;
		return;
	}
	pt_sessions_populate(); /* what is measured is not how fast memory comes */
	event();
	children_wrong += !child_is_right(mask);
	setitimer(ITIMER_REAL, &storm, NULL);
	threads();
	rename_thread(mask & 1 ? "odd" : "even, and long");
	event();
	setitimer(ITIMER_REAL, &quiet, NULL);
	memset(total.bases, 0, sizeof(total.bases)); /* ids of threads come again */
	tally_session(mask, &total);
	total.damaged += total.read + total.lost - before != atomic_load(&produced);
	pt_session_destroy("contexts");
	pt_sessions_bury();
}

int main(void)
{
	static const uint64_t fast[] = {
		BIT(VPID), BIT(VTID), BIT(PROCNAME), BIT(CPU_ID), BIT(CONTEXT_SWITCHES), BIT(IP)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	pages = mmap(NULL, PAGES * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	madvise(pages, PAGES * 4096ul, MADV_NOHUGEPAGE);
	sigaction(SIGALRM, &action, NULL);
	pt_state_get();
	pt_rules_add(&rules, "contexts:*", 10, true, PT_LEVEL_ANY, false);
	thread_begin();
	for (uint32_t set = 1; set < 1u << 6; set++) {
		uint64_t mask = 0;

		for (unsigned int i = 0; i < 6; i++)
			mask |= set >> i & 1 ? fast[i] : 0;
		contexts(mask | (__builtin_popcount(set) & 1 ? BIT(PAGE_FAULTS) : 0));
	}
	contexts(BIT(PROCNAME) | BIT(PAGE_FAULTS) | BIT(VTID));
	contexts(BIT(VPID) | BIT(PROCNAME) | BIT(IP) | BIT(USER_STACK));
	ok(total.read > 64 * 120, "%lu events with 65 sets of contexts", total.read);
	ok(!total.lost || !pt_rseq_here(), "%llu are lost", (unsigned long long)total.lost);
	is_int((long long)total.damaged, 0, "each is read, once, and whole");
	is_int((long long)children_wrong, 0, "forked children tell of themselves");
	for (unsigned int i = 0; i < PANTRACE_CONTEXT_USER_STACK; i++)
		ok(!total.wrong[i], "context %u is what the system said: %lu times not", i,
		   total.wrong[i]);
	return tap_done();
}
