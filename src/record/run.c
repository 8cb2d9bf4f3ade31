// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording's run: its sources side by side, its signals, its end. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "engine/child.h"
#include "record/record.h"
#include "trace/ctf/output.h"

#define NAP_LEAST_MS 1
#define TELL_MS	     500 /* how often progress is looked at */
#define NICE	     (-15)

static volatile sig_atomic_t end_asked, snapshot_asked, rotate_asked;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		snapshot_asked = 1;
	else if (signal == SIGUSR2)
		rotate_asked = 1;
	else
		end_asked = 1;
}

static void signals_take(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &old);
		/* a SIGHUP that nohup ignores stays ignored */
		if (old.sa_handler != SIG_IGN || signals[i] != SIGHUP)
			sigaction(signals[i], &action, NULL);
	}
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

bool record_is_file(const struct record_request *r, const struct record_source *source)
{
	const size_t len = r->output ? strlen(r->output) : 0,
		     tail = source->suffix ? strlen(source->suffix) : 0;

	return tail && len > tail && str_eq(r->output + len - tail, source->suffix);
}

char *record_path(const struct record_run *run, const struct record_source *source)
{
	if (record_is_file(run->request, source))
		return xstrdup(run->request->output);
	return xasprintf("%s/%s", run->directory, source->file);
}

int record_directory(const struct record_run *run)
{
	const int fd = ctf_directory_open(run->directory, run->diag);

	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
}

struct running {
	const struct record_source *source;
	void *state;
};

struct loop {
	struct record_run *run;
	struct running *running;
	size_t count;
	struct child *child; /* NULL = none */
	int *processes; /* those of -p; -ESRCH: it has ended */
	u32 nprocesses;
	u64 began_ns, until_ns, told_ns; /* until_ns: 0 = without end */
	bool shows, has_shown; /* progress, on a terminal */
};

/*
 * If permitted, the recorder gets a higher priority than the programs that it records: as one of
 * three processes on two CPUs it gets two thirds of one, and two programs in a tight loop write
 * more than it can copy in that time. It sleeps when there is nothing to do; the command that it
 * starts has the usual priority.
 */
static void go_first(void)
{
	const struct sched_param none = {0};

	if (!getpriority(PRIO_PROCESS, 0) &&
	    !sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none))
		setpriority(PRIO_PROCESS, 0, NICE);
}

/* Descriptors of the processes of -p, which were checked to exist. */
static void open_processes(struct loop *l)
{
	const struct pid_list *pids = &l->run->request->pids;

	l->processes = xreallocarray(NULL, pids->count + 1, sizeof(*l->processes));
	l->nprocesses = pids->count;
	for (u32 i = 0; i < pids->count; i++)
		l->processes[i] = process_open(pids->items[i]);
}

static void close_processes(struct loop *l)
{
	for (u32 i = 0; i < l->nprocesses; i++)
		if (l->processes[i] >= 0)
			close(l->processes[i]);
	free(l->processes);
}

/* Closes those that have ended. True if there were some and none is left. */
static bool have_ended(struct loop *l)
{
	u32 left = 0;

	for (u32 i = 0; i < l->nprocesses; i++) {
		struct pollfd p = {.fd = l->processes[i], .events = POLLIN};

		if (p.fd >= 0 && poll(&p, 1, 0) > 0) {
			close(p.fd);
			l->processes[i] = -ESRCH;
		}
		left += l->processes[i] != -ESRCH;
	}
	return l->nprocesses && !left;
}

/* ---- progress ---- */

static struct record_progress progress(const struct loop *l)
{
	struct record_progress sum = {0}, one;

	for (size_t i = 0; i < l->count; i++) {
		const struct running *r = &l->running[i];

		if (!r->source->progress)
			continue;
		one = (struct record_progress){0};
		r->source->progress(r->state, &one);
		sum.events += one.events;
		sum.lost += one.lost;
		sum.bytes += one.bytes;
	}
	return sum;
}

/* The line on the terminal, and the end by --max-size. */
static void look(struct loop *l)
{
	const u64 most = l->run->request->max_bytes, now = clock_now_ns(CLOCK_MONOTONIC);
	struct record_progress p;

	if ((!l->shows && !most) || now - l->told_ns < TELL_MS * 1000000ull)
		return;
	l->told_ns = now;
	p = progress(l);
	if (most && p.bytes >= most)
		l->run->end = true;
	if (!l->shows || !(p.events || p.bytes))
		return;
	fprintf(stderr, "\r\033[K%.0f s: %" PRIu64 " events, %.1f MB, %" PRIu64 " lost",
		(double)(now - l->began_ns) / 1e9, p.events, (double)p.bytes / 1e6, p.lost);
	fflush(stderr);
	l->has_shown = true;
}

static void look_end(struct loop *l)
{
	if (l->has_shown)
		fputs("\r\033[K", stderr);
}

/* ---- the loop ---- */

/* How long to sleep: longer each time there was nothing to do. */
static int nap_after(const struct loop *l, int nap, bool busy)
{
	int most = 1000;

	for (size_t i = 0; i < l->count; i++)
		most = MIN(most, l->running[i].source->idle_ms);
	if (l->shows || l->run->request->max_bytes)
		most = MIN(most, TELL_MS);
	nap = busy ? 0 : nap ? MIN(nap * 2, most) : NAP_LEAST_MS;
	if (l->until_ns) {
		const u64 now = clock_now_ns(CLOCK_MONOTONIC);
		const u64 left = l->until_ns > now ? (l->until_ns - now) / 1000000 + 1 : 0;

		nap = (int)MIN((u64)nap, left);
	}
	return nap;
}

static bool wait_for_events(struct loop *l, int nap)
{
	struct pollfd fds[16];
	size_t n = 0;

	for (; n < l->count; n++)
		fds[n] = (struct pollfd){l->running[n].source->poll_fd(l->running[n].state), POLLIN,
					 0};
	fds[n++] = (struct pollfd){l->child ? l->child->pidfd : -1, POLLIN, 0};
	for (u32 i = 0; i < l->nprocesses && n < ARRAY_SIZE(fds); i++)
		fds[n++] = (struct pollfd){l->processes[i], POLLIN, 0};
	return poll(fds, n, nap) > 0;
}

/* Runs until a signal, the end of the time, of the command, or of the processes of -p. */
static void loop(struct loop *l)
{
	struct record_run *run = l->run;
	int nap = NAP_LEAST_MS;

	while (!end_asked && !run->end &&
	       (!l->until_ns || clock_now_ns(CLOCK_MONOTONIC) < l->until_ns)) {
		bool busy = false;

		if (snapshot_asked)
			run->snapshot = true;
		if (rotate_asked)
			run->rotate = true;
		snapshot_asked = rotate_asked = 0;
		for (size_t i = 0; i < l->count; i++)
			busy |= l->running[i].source->round(run, l->running[i].state) > 0;
		if ((l->child && child_poll(l->child)) || have_ended(l))
			break;
		look(l);
		/* busy: rings fill up meanwhile; idle: an occasional check costs nothing */
		nap = nap_after(l, nap, busy);
		/* anything new may be a program that begins to fill its rings */
		if (nap && wait_for_events(l, nap))
			nap = 0;
	}
}

static void run_loop(struct record_run *run, struct running *running, size_t n, u32 needs,
		     struct child *child)
{
	struct loop l = {.run = run, .running = running, .count = n, .child = child};

	l.began_ns = clock_now_ns(CLOCK_MONOTONIC);
	l.shows = !run->request->quiet && isatty(STDERR_FILENO);
	if (run->request->duration_ns)
		l.until_ns = l.began_ns + run->request->duration_ns;
	go_first();
	if (!run->request->keep_privileges)
		sandbox_enter(needs);
	open_processes(&l);
	loop(&l);
	close_processes(&l);
	look_end(&l);
}

static int start_all(struct record_run *run, struct running *running, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (running[i].source->start)
			rc = running[i].source->start(run, running[i].state);
	return rc;
}

static void say_begun(struct record_run *run)
{
	diag_tell(run->diag);
	if (!getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
		return;
	puts("__BPFTRACE_NOTIFY_PROBES_ATTACHED");
	fflush(stdout);
}

int record_all(struct record_run *run, const struct record_source *const *sources, size_t count,
	       char *const *command, int *ret_code)
{
	struct running *running = xreallocarray(NULL, count, sizeof(*running));
	struct child child = {.pid = 0};
	u32 needs = command ? SANDBOX_CHILD : 0;
	size_t n = 0;
	int rc = 0;

	signals_take();
	while (n < count && !rc) {
		running[n].source = sources[n];
		needs |= sources[n]->needs;
		rc = sources[n]->begin(run, &running[n].state);
		n += !rc;
	}
	if (!rc && command)
		rc = child_start_words(&child, command, run->diag);
	run->command = child.pid;
	if (!rc)
		rc = start_all(run, running, n);
	if (!rc)
		say_begun(run);
	if (!rc && command)
		rc = child_release(&child, run->diag);
	if (!rc) {
		run_loop(run, running, n, needs, command ? &child : NULL);
	}
	if (rc && child.pid) /* held before its exec, it has our descriptors, too */
		child_stop(&child);
	for (size_t i = n; i-- > 0;)
		if (running[i].source->end(run, running[i].state))
			run->failed = true;
	if (!rc && child.pid)
		child_stop(&child);
	*ret_code = end_asked ? EXIT_OK : child_exit_code(&child);
	free(running);
	return rc;
}
