// SPDX-License-Identifier: MIT
/*
 * A signal handler that calls fork() comes while its thread is within an event: after each
 * instruction of the event's way in turn. The child goes on with the event, whose rings it has not,
 * and then has events of its own. The tracer steps the program and sends the signal.
 *
 *	forked DIRECTORY
 */
#include "../../lib/internal.h"
#include "../unit/tap.h"
#include "sessions.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 600
#define OWN   3 /* events of a child beside the one that it was born in */

enum { WELL, MISCOUNTED, USED };

static struct {
	atomic_uint rounds; /* the program is through with */
	atomic_uint died, miscounted, used; /* children */
	atomic_int forks, status; /* the last child's */
	atomic_ullong counted; /* the program's events, recorded or lost */
} * both;

static const struct {
	const char *name;
	struct pt_spec spec;
} cases[] = {
	{"rings of threads", {.mode = PANTRACE_OVERWRITE, .per_thread = true}},
	{"rings of threads that are full", {.mode = PANTRACE_DISCARD, .per_thread = true}},
	{"rings of threads, contexts",
	 {.mode = PANTRACE_OVERWRITE,
	  .per_thread = true,
	  .contexts = 1u << PANTRACE_CONTEXT_VTID | 1u << PANTRACE_CONTEXT_PROCNAME |
		      1u << PANTRACE_CONTEXT_USER_STACK}},
	{"rings of CPUs", {.mode = PANTRACE_OVERWRITE}},
};
#define NR_CASES (sizeof(cases) / sizeof(*cases))

/* ---- the program ---- */

static volatile sig_atomic_t is_child;

/* Large: each second one begins a packet. */
static __attribute__((noinline)) void event(void)
{
	static const char text[1800] = {[0 ... 1798] = 'x'};

	PANTRACE(forked, event, (const char *)text);
}

static void handler(int signal)
{
	const int saved = errno;
	const pid_t child = fork();
	int status = 0;

	(void)signal;
	if (!child) {
		is_child = 1;
		alarm(20);
	} else {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		atomic_store(&both->status, status);
		atomic_fetch_add(&both->forks, 1);
	}
	errno = saved;
}

static unsigned long long counted(void)
{
	struct pt_session_info info = {0};

	pt_session_info(number_of("forked"), &info);
	return info.counts.events + info.counts.lost;
}

/* What became of the child, as its exit status. */
static int child_end(void)
{
	unsigned long long all;

	for (int i = 0; i < OWN; i++)
		event();
	all = counted();
	if (all != OWN && all != OWN + 1)
		return MISCOUNTED;
	return pt_session_users(&pt_state->session[number_of("forked")]) ? USED : WELL;
}

static void program(const char *directory, const struct pt_spec *of_case)
{
	struct pt_spec spec = *of_case;
	struct pt_rules rules = {0};
	const char *why;

	spec.sub_size = 4096;
	spec.nr_subs = 2;
	snprintf(spec.name, sizeof(spec.name), "forked");
	snprintf(spec.directory, sizeof(spec.directory), "%s", directory);
	pt_state_get();
	pt_rules_add(&rules, "forked:*", 8, true, PT_LEVEL_ANY, false);
	if (pt_session_start(&spec, &rules, &why))
		_exit(1);
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, NULL);
	for (;;) {
		__asm__ volatile("int3");
		event();
		if (is_child)
			_exit(child_end());
		atomic_store(&both->counted, counted());
		atomic_fetch_add(&both->rounds, 1);
	}
}

/* ---- its tracer ---- */

/* Goes on by REQUEST, with SIGNAL, to the next trap; other signals reach the program. */
static bool trapped(pid_t pid, enum __ptrace_request request, int signal)
{
	int status;

	do {
		if (request && ptrace(request, pid, 0, signal))
			return false;
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		signal = WSTOPSIG(status);
		request = PTRACE_CONT;
	} while (signal == SIGUSR1 || signal == SIGCHLD);
	return signal == SIGTRAP;
}

/* One event, with the signal after STEP instructions. False: it was through before. */
static bool round_of(pid_t pid, int step)
{
	const unsigned int before = atomic_load(&both->rounds);
	int status;

	for (int i = 0; i < step; i++)
		if (!trapped(pid, PTRACE_SINGLESTEP, 0) || atomic_load(&both->rounds) != before)
			return false;
	if (!trapped(pid, PTRACE_CONT, SIGUSR1))
		return false;
	status = atomic_load(&both->status);
	atomic_fetch_add(&both->died, !WIFEXITED(status));
	atomic_fetch_add(&both->miscounted, WIFEXITED(status) && WEXITSTATUS(status) == MISCOUNTED);
	atomic_fetch_add(&both->used, WIFEXITED(status) && WEXITSTATUS(status) == USED);
	return true;
}

static void case_of(const char *directory, unsigned int i)
{
	const pid_t pid = fork();
	int step = 1, rounds = 0;

	memset(both, 0, sizeof(*both));
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		program(directory, &cases[i].spec);
	}
	if (!trapped(pid, 0, 0)) {
		ok(false, "%s: the program begins", cases[i].name);
		return;
	}
	/* the first event makes more than others do: it is let through */
	for (int first = 0; first < 5; first++)
		if (!trapped(pid, PTRACE_CONT, 0))
			break;
	while (step < STEPS && round_of(pid, step)) {
		step += 1 + step / 20;
		rounds++;
	}
	ok(rounds > 20 && atomic_load(&both->forks) == rounds, "%s: %d of %d signals led to a fork",
	   cases[i].name, atomic_load(&both->forks), rounds);
	is_int(atomic_load(&both->died), 0, "no child dies of the event that it was born in");
	is_int(atomic_load(&both->miscounted), 0, "each has its events, recorded or lost");
	is_int(atomic_load(&both->used), 0, "and nobody stays in its rings");
	is_int((long long)atomic_load(&both->counted), atomic_load(&both->rounds),
	       "the parent has its own alone");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned int i = 0; i < NR_CASES; i++)
		case_of(argc > 1 ? argv[1] : "/tmp", i);
	return tap_done();
}
