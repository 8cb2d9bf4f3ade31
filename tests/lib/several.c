// SPDX-License-Identifier: MIT
/*
 * Several sessions at once, and contexts: each session has what was produced or counts it as lost,
 * its time never goes back, and every event says truly who it is of; under signals, migration,
 * forks, and a further session that comes and goes.
 *
 *   several
 */
#include "../../lib/internal.h"
#include "../unit/tap.h"
#include "sessions.h"
#include "storm.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	 3
#define SESSIONS 3
#ifdef __SANITIZE_THREAD__
#define EVENTS 10000 /* slow, and sees races after a few */
#else
#define EVENTS 20000
#endif

static atomic_int stop;
static _Thread_local uint32_t tid;
static _Thread_local uint64_t sequence;

static uint32_t checksum(uint64_t number, uint32_t of)
{
	return (uint32_t)((number + of) * 0x9e3779b97f4a7c15ull >> 32);
}

static __attribute__((noinline)) void event(void)
{
	const uint64_t number = sequence++;

	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	PANTRACE(several, event, number, tid, checksum(number, tid));
	atomic_fetch_add_explicit(&produced, 1, memory_order_relaxed);
}

static __attribute__((noinline)) void bare(void)
{
	PANTRACE(several, bare);
}

static void *worker(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker %lu", (unsigned long)(uintptr_t)arg);
	prctl(PR_SET_NAME, name);
	storm_emit(EVENTS, 2048);
	return NULL;
}

static void storm_of_events(void)
{
	pthread_t threads[THREADS];

	storm(100);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	storm(0);
}

/* ---- what is read ---- */

struct tally {
	uint64_t mask; /* of contexts */
	uint64_t read, lost, bad, backwards, damaged;
	uint32_t ring; /* the last event's, and its time */
	uint64_t last;
};

/* What the payload of an event says: whose it is; 0 if it has none. */
static uint32_t check_payload(const struct pantrace_event_view *view, struct tally *tally)
{
	uint64_t n;
	uint32_t of, sum;

	if (!view->size)
		return 0;
	memcpy(&n, view->fields, 8);
	memcpy(&of, view->fields + 8, 4);
	memcpy(&sum, view->fields + 12, 4);
	tally->bad += sum != checksum(n, of);
	return of;
}

static uint64_t wrong[PANTRACE_CONTEXT_MAX];

/* Notes what of the contexts of MASK is not so. */
static void check(uint64_t mask, const struct pantrace_event_view *view, uint32_t of,
		  uintptr_t function)
{
	const unsigned char *at = view->contexts;
	uint64_t wide;
	int32_t value;
	uint16_t count;
	static long cpus;

	if (!cpus) /* it reads a file */
		cpus = sysconf(_SC_NPROCESSORS_CONF);
#define NEXT(context, size, into) \
	if (mask >> (context)&1 && (memcpy(into, at, size), at += (size), true))
	NEXT(PANTRACE_CONTEXT_VPID, 4, &value)
	wrong[PANTRACE_CONTEXT_VPID] += value != getpid();
	NEXT(PANTRACE_CONTEXT_VTID, 4, &value)
	wrong[PANTRACE_CONTEXT_VTID] += of ? (uint32_t)value != of : value < getpid();
	if (mask >> PANTRACE_CONTEXT_PROCNAME & 1) {
		wrong[PANTRACE_CONTEXT_PROCNAME] += strncmp((const char *)at, "several", 16) &&
						    strncmp((const char *)at, "worker ", 7);
		at += 16;
	}
	NEXT(PANTRACE_CONTEXT_CPU_ID, 4, &value)
	wrong[PANTRACE_CONTEXT_CPU_ID] += value < 0 || value >= cpus;
	NEXT(PANTRACE_CONTEXT_CONTEXT_SWITCHES, 8, &wide)
	wrong[PANTRACE_CONTEXT_CONTEXT_SWITCHES] += wide > 1000000;
	NEXT(PANTRACE_CONTEXT_PAGE_FAULTS, 8, &wide)
	wrong[PANTRACE_CONTEXT_PAGE_FAULTS] += wide > 10000000;
	NEXT(PANTRACE_CONTEXT_IP, 8, &wide)
	wrong[PANTRACE_CONTEXT_IP] +=
		!wide || (function && wide - function > 1 << 20 && function - wide > 1 << 20);
	NEXT(PANTRACE_CONTEXT_USER_STACK, 2, &count)
	wrong[PANTRACE_CONTEXT_USER_STACK] += !count || count > 32;
#undef NEXT
}

/* ---- sessions ---- */

static void note(void *arg, uint32_t ring, const struct pantrace_event_view *view)
{
	struct tally *const tally = arg;
	const uint32_t of = check_payload(view, tally);

	tally->bad += !of;
	check(tally->mask, view, of, (uintptr_t)event);
	tally->backwards += tally->ring == ring && view->tsc < tally->last;
	tally->ring = ring;
	tally->last = view->tsc;
	tally->read++;
}

static void tally_session(const char *name, struct tally *ret)
{
	struct pantrace_reader *reader;
	const unsigned int number = number_of(name);
	const int fd = pt_session_fd(number);
	struct pt_session_info info = {0};

	pt_session_info(number, &info);
	*ret = (struct tally){.mask = info.spec.contexts};
	if (fd < 0 || pantrace_reader_open_fd(fd, false, &reader)) {
		ret->damaged = 1;
		return;
	}
	close(fd);
	ret->damaged = each_event(reader, note, ret);
	ret->lost = pantrace_reader_lost(reader);
	pantrace_reader_close(reader);
}

static struct pt_rules rules;

static void session_start(const char *name, uint32_t sub_size, uint64_t mask)
{
	const char *why;
	struct pt_spec spec = {
		.mode = PANTRACE_DISCARD, .sub_size = sub_size, .nr_subs = 4, .contexts = mask};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	is_int(pt_session_start(&spec, &rules, &why), 0, name);
	pt_sessions_populate(); /* what is measured is not how fast memory comes */
}

/*
 * A session that is neither first nor last comes and goes, each time with another of the contexts
 * of *ARG.
 */
static void *comes_and_goes(void *arg)
{
	struct pt_spec spec = {
		.name = "guest", .mode = PANTRACE_OVERWRITE, .sub_size = 4096, .nr_subs = 2};
	const uint64_t mask = *(const uint64_t *)arg;
	const char *why;

	for (unsigned int i = 0; !atomic_load(&stop); i++) {
		spec.contexts = mask & 1ull << i % PANTRACE_CONTEXT_MAX;
		pt_session_start(&spec, &rules, &why);
		usleep(500);
		pt_session_destroy("guest");
		pt_sessions_bury();
	}
	return NULL;
}

/* Each with the contexts of its MASK, the guest with some of the last. */
static void sessions(const uint64_t masks[SESSIONS + 1])
{
	static const char *const names[SESSIONS] = {"session 1", "session 2", "session 3"};
	const uint32_t large =
		pt_rseq_here() ? 16 << 20 : 1 << 20; /* there are rings of 64 threads */
	pthread_t guest;
	int status = 1;
	pid_t child;

	atomic_store(&produced, 0);
	atomic_store(&stop, 0);
	for (int i = 1; i <= SESSIONS; i++) /* small ones lose, large ones do not */
		session_start(names[i - 1], i == 2 ? 8192 : large, masks[i - 1]);
	pthread_create(&guest, NULL, comes_and_goes, (void *)&masks[SESSIONS]);
	storm_of_events();
	child = fork();
	if (!child) { /* its events are in its own rings */
		struct tally tally;

		atomic_store(&produced, 0);
		tid = 0;
		for (int i = 0; i < 1000; i++)
			event();
		for (int i = 1; i <= SESSIONS; i++) {
			tally_session(names[i - 1], &tally);
			if (tally.read + tally.lost != atomic_load(&produced) || tally.bad)
				_exit(i);
		}
		_exit(0);
	}
	waitpid(child, &status, 0);
	is_int(status, 0, "a forked child's events are in sessions of its own");
	atomic_store(&stop, 1);
	pthread_join(guest, NULL);
	ok(atomic_load(&produced) > THREADS * EVENTS, "%lu events, signals among them",
	   atomic_load(&produced));
	for (int i = 1; i <= SESSIONS; i++) {
		struct tally tally;

		tally_session(names[i - 1], &tally);
		is_int((long long)(tally.read + tally.lost), (long long)atomic_load(&produced),
		       "produced is read and lost");
		printf("# session %d: %llu read, %llu lost\n", i, (unsigned long long)tally.read,
		       (unsigned long long)tally.lost);
		/*
		 * Rings of threads get their memory while threads run: on a busy machine the large
		 * ones may lose, too.
		 */
		ok((tally.lost != 0) == (i == 2) || !__rseq_size,
		   "the small one loses, the others do not");
		is_int((long long)tally.bad, 0, "checksums");
		is_int((long long)tally.backwards, 0, "time never goes back");
		is_int((long long)tally.damaged, 0, "packets are whole");
		pt_session_destroy(names[i - 1]);
	}
	pt_sessions_bury();
}

/* ---- contexts ---- */

struct context_tally {
	struct tally *total;
	uint64_t mask;
	unsigned long expected; /* yet to be read */
};

static void note_contexts(void *arg, uint32_t ring, const struct pantrace_event_view *view)
{
	struct context_tally *const t = arg;
	const uint32_t of = check_payload(view, t->total);

	(void)ring;
	t->expected--;
	t->total->read++;
	check(t->mask, view, of, of ? (uintptr_t)event : (uintptr_t)bare);
}

static void contexts(uint64_t mask, struct tally *total)
{
	const struct pantrace_options options = {.size = sizeof(options),
						 .mode = PANTRACE_DISCARD,
						 .sub_size = 4096,
						 .nr_subs = 64,
						 .contexts = mask};
	struct context_tally t = {.total = total, .mask = mask};
	struct pantrace_reader *reader;

	atomic_store(&produced, 0);
	if (pantrace_start(&options) || pantrace_enable("several:*") < 0) {
		total->damaged++;
		return;
	}
	storm(100);
	for (int i = 0; i < 300; i++) {
		event();
		bare();
	}
	storm(0);
	t.expected = atomic_load(&produced) + 300;
	if (pantrace_reader_open_fd(pantrace_fd(), false, &reader)) {
		total->damaged++;
		return;
	}
	total->damaged += each_event(reader, note_contexts, &t);
	total->lost += t.expected - pantrace_reader_lost(reader);
	pantrace_reader_close(reader);
	pantrace_disable("*");
	pantrace_stop();
}

int main(void)
{
	const uint64_t quick = 1u << PANTRACE_CONTEXT_VPID | 1u << PANTRACE_CONTEXT_VTID |
			       1u << PANTRACE_CONTEXT_PROCNAME | 1u << PANTRACE_CONTEXT_CPU_ID |
			       1u << PANTRACE_CONTEXT_CONTEXT_SWITCHES | 1u << PANTRACE_CONTEXT_IP;
	const uint64_t of_thread = 1u << PANTRACE_CONTEXT_VTID | 1u << PANTRACE_CONTEXT_PROCNAME;
	const uint64_t of_event = 1u << PANTRACE_CONTEXT_CPU_ID | 1u << PANTRACE_CONTEXT_IP;
	struct tally tally = {0};

	storm_prepare();
	prctl(PR_SET_NAME, "several");
	pt_state_get();
	pt_rules_add(&rules, "several:event", 13, true, PT_LEVEL_ANY, false);
	sessions((const uint64_t[]){0, 0, 0, 0});
	sessions((const uint64_t[]){quick, of_thread, of_event, (1u << PANTRACE_CONTEXT_MAX) - 1});
	sessions((const uint64_t[]){0, quick, 0, quick});
	for (uint64_t mask = 0; mask < 1u << PANTRACE_CONTEXT_MAX; mask++)
		contexts(mask, &tally);
	ok(tally.read > 256 * 300, "%llu events with every set of contexts",
	   (unsigned long long)tally.read);
	is_int((long long)tally.lost, 0, "produced is read and lost");
	is_int((long long)tally.bad, 0, "checksums");
	is_int((long long)tally.damaged, 0, "packets are whole");
	for (int i = 0; i < PANTRACE_CONTEXT_MAX; i++)
		is_int((long long)wrong[i], 0, "a context tells the truth");
	return tap_done();
}
