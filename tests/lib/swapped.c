// SPDX-License-Identifier: MIT
/*
 * A session gives way to another one while a thread sleeps within an event: at each instruction of
 * the event's way in turn. What was on its way to the first is nothing to the second, which does
 * not want it. The parent steps the thread and lets it sleep, the main thread of the child
 * exchanges the sessions. Where the thread writes to rings, their session's place is free once it
 * is through.
 *
 *	swapped
 */
#include "../../lib/hooks.h"
#include "../../lib/internal.h"
#include "../unit/tap.h"
#include "sessions.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 300 /* beyond, the rings of the one that stays are tried again and again */

enum order { WAIT, ROUND, SWAP, CHECK, NEXT_CASE, END };

/* What both processes see. */
static struct {
	atomic_int order, done; /* of the main thread: enum order, and the last that is done */
	atomic_int tid; /* of the thread that has the events */
	atomic_int traced;
	atomic_uint events; /* that it is through with */
	atomic_int
		wanted; /* they begin to be written to rings: no session gives way from there on */
	atomic_uint wrong, swaps, refused; /* events, and sessions */
} * both;

struct wants {
	const char *event;
	uint64_t contexts;
	int filter; /* -1: none; what it says */
	bool per_thread;
};

static const struct {
	const char *name;
	struct wants stays; /* a session besides, if it has an event */
	struct wants first, second;
} cases[] = {
#define CONTEXT(name) (1ull << PANTRACE_CONTEXT_##name)
#define NAMES	      (CONTEXT(VPID) | CONTEXT(VTID) | CONTEXT(PROCNAME))
#define OF_EVENT      (CONTEXT(CPU_ID) | CONTEXT(IP))
	{"another event", {0}, {"swapped:event", 0, -1, false}, {"swapped:other", 0, -1, false}},
	{"a filter", {0}, {"swapped:event", 0, -1, false}, {"swapped:event", 0, 0, false}},
	{"contexts, another event",
	 {0},
	 {"swapped:event", NAMES, -1, false},
	 {"swapped:other", NAMES, -1, false}},
	{"contexts, a filter",
	 {0},
	 {"swapped:event", OF_EVENT, -1, false},
	 {"swapped:event", OF_EVENT, 0, false}},
	{"one filter, another",
	 {0},
	 {"swapped:event", 0, 1, false},
	 {"swapped:event", 0, 0, false}},
	{"several, another event",
	 {"swapped:event", 0, -1, false},
	 {"swapped:event", 0, -1, false},
	 {"swapped:other", 0, -1, false}},
	{"several, a filter",
	 {"swapped:event", NAMES, -1, false},
	 {"swapped:event", 0, -1, false},
	 {"swapped:event", 0, 0, false}},
	{"rings of threads", {0}, {"swapped:event", 0, -1, true}, {"swapped:other", 0, -1, true}},
};
#define NR_CASES ((int)(sizeof(cases) / sizeof(*cases)))

/* ---- the program ---- */

static __attribute__((noinline)) void event(int number)
{
	PANTRACE(swapped, event, number, number + 1);
}

__attribute__((noinline)) static void other(void)
{
	PANTRACE(swapped, other);
}

static void *thread(void *arg)
{
	(void)arg;
	atomic_store(&both->tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&both->traced))
		usleep(100);
	for (;;) {
		__asm__ volatile("int3");
		event((int)atomic_load(&both->events));
		atomic_fetch_add(&both->events, 1);
	}
	return NULL;
}

static void session_start(const char *name, const struct wants *wants)
{
	struct pt_spec spec = {.mode = PANTRACE_OVERWRITE,
			       .sub_size = 4096,
			       .nr_subs = 2,
			       .contexts = wants->contexts,
			       .per_thread = wants->per_thread};
	struct {
		struct pt_vm_image head;
		struct bpf_insn insns[2];
	} image = {.head = {.magic = PT_VM_MAGIC, .version = PT_VM_VERSION, .nr_insns = 2},
		   .insns = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = wants->filter},
			     {.code = BPF_JMP | BPF_EXIT}}};
	struct pt_rules rules = {0};
	const char *why;
	int rc;

	if (!wants->event)
		return;
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	pt_rules_add(&rules, wants->event, strlen(wants->event), true, PT_LEVEL_ANY, false);
	if (wants->filter >= 0)
		pt_filter_add(&rules, wants->event, strlen(wants->event), 0, &image, sizeof(image));
	rc = pt_session_start(&spec, &rules, &why);
	if (rc) {
		atomic_fetch_add(&both->refused, 1);
		printf("# %s is refused: %s (%s)\n", name, strerror(-rc), why ? why : "");
		fflush(stdout);
	}
}

static void session_end(const char *name)
{
	pt_session_destroy(name);
	pt_sessions_bury();
}

/*
 * The second session takes the place of the first, unless that one is being written to: then it has
 * to wait.
 */
static bool swap(int now)
{
	const unsigned int place = number_of("first");

	if (pt_session_users(&pt_state->session[place]))
		return false;
	session_end("first");
	session_start("second", &cases[now].second);
	if (number_of("second") != place)
		atomic_fetch_add(&both->wrong, 1000);
	return true;
}

/*
 * The first session ends while the thread writes to its rings: another one takes another place.
 */
static void end_held(int now)
{
	const unsigned int place = number_of("first");

	session_end("first");
	session_start("second", &cases[now].second);
	if (number_of("second") == place)
		atomic_fetch_add(&both->wrong, 1000);
}

/*
 * Once no thread holds them, all places are to be had again and again, but for one that somebody
 * STAYS in.
 */
static void take_all(bool stays)
{
	static const struct wants nothing = {"swapped:none", 0, -1, false};
	const int n = PT_SESSIONS - 1 - stays;
	char name[16];

	for (int i = 0; i < 3 * n; i++) {
		snprintf(name, sizeof(name), "place %d", i);
		session_start(name, &nothing);
		if (i % n < n - 1)
			continue;
		for (int k = i + 1 - n; k <= i; k++) {
			snprintf(name, sizeof(name), "place %d", k);
			pt_session_destroy(name);
		}
	}
	pt_sessions_bury();
}

static void check(void)
{
	const unsigned int place = number_of("second");
	struct pt_session_info info;

	if (!place)
		return;
	if (pt_session_info(place, &info) && info.counts.events + info.counts.lost)
		atomic_fetch_add(&both->wrong, 1);
	session_end("second");
}

static void program(void)
{
	pthread_t one;
	int now = 0;

	pthread_create(&one, NULL, thread, NULL);
	while (!atomic_load(&both->tid))
		usleep(100);
	other();
	for (;;) {
		const int order = atomic_load(&both->order);

		if (order == atomic_load(&both->done)) {
			usleep(20);
			continue;
		}
		if (order == ROUND) {
			session_start("stays",
				      number_of("stays") ? &(struct wants){0} : &cases[now].stays);
			session_start("first", &cases[now].first);
		} else if (order == SWAP) {
			if (swap(now)) {
				atomic_fetch_add(&both->swaps, 1);
			} else {
				end_held(now);
				atomic_store(&both->wanted, 1);
			}
		} else if (order == CHECK) {
			check();
			session_end("first");
			if (atomic_load(&both->wanted))
				take_all(number_of("stays"));
		} else if (order == NEXT_CASE) {
			session_end("stays");
			now++;
		} else if (order == END) {
			_exit(0);
		}
		atomic_store(&both->done, order);
	}
}

/* ---- its parent ---- */

static void order(int what)
{
	atomic_store(&both->order, what);
	for (int i = 0; i < 500000 && atomic_load(&both->done) != what; i++)
		usleep(20);
}

static bool stopped(pid_t tid)
{
	int status;

	return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

/*
 * One event that sleeps after STEP instructions. False: it was through, or no session could give
 * way.
 */
static bool round_of(pid_t tid, int step)
{
	const unsigned int before = atomic_load(&both->events);
	bool through = false;

	order(ROUND);
	for (int i = 0; i < step && !through; i++) {
		if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) || !stopped(tid))
			return false;
		through = atomic_load(&both->events) != before;
	}
	if (!through)
		order(SWAP);
	ptrace(PTRACE_CONT, tid, 0, 0);
	if (!stopped(tid)) /* at the next event */
		return false;
	order(CHECK);
	return !through && !atomic_load(&both->wanted);
}

int main(void)
{
	pid_t child, tid;
	int status;

	both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (!child) {
		pt_state_get();
		program();
	}
	while (!(tid = atomic_load(&both->tid)))
		usleep(100);
	if (ptrace(PTRACE_SEIZE, tid, 0, 0)) {
		printf("ok 1 - a thread that sleeps # SKIP ptrace: %s\n1..1\n", strerror(errno));
		kill(child, SIGKILL);
		return 0;
	}
	atomic_store(&both->traced, 1);
	if (!stopped(tid))
		return 1;
	for (int i = 0; i < NR_CASES; i++) {
		const unsigned int swaps = atomic_load(&both->swaps);
		int step = 1;

		atomic_store(&both->wrong, 0);
		atomic_store(&both->wanted, 0);
		atomic_store(&both->refused, 0);
		while (step < STEPS && round_of(tid, step))
			step += 1 + step / 20; /* the short ways are short */
		ok(!atomic_load(&both->wrong),
		   "%s: %u events are in a session that did not want them", cases[i].name,
		   atomic_load(&both->wrong));
		ok(atomic_load(&both->swaps) - swaps > 10, "%u sessions gave way",
		   atomic_load(&both->swaps) - swaps);
		is_int(atomic_load(&both->refused), 0, "no session is refused");
		order(NEXT_CASE);
	}
	kill(child, SIGKILL);
	waitpid(tid, &status, __WALL); /* a thread that is traced is its tracer's to bury */
	waitpid(child, &status, 0);
	return tap_done();
}
