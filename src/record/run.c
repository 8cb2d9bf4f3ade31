/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a recording: its sources, signals, and the end. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/stall.h"
#include "engine/child.h"
#include "kernel/tracefs/dynamic_event.h"
#include "record/record.h"
#include "record/state_dump.h"
#include "trace/ctf/output.h"

#define NAP_LEAST_MS 1
#define TELL_MS	     500 /* between updates of the progress line */
#define NICE	     (-15)

static volatile sig_atomic_t end_asked, snapshot_asked, rotate_asked;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		snapshot_asked = 1;
	else if (signal == SIGUSR2)
		rotate_asked = 1;
	else
		end_asked++;
}

u32 record_end_asked(void)
{
	return (u32)end_asked;
}

static void signals_take(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &old);
		/* nohup's ignored SIGHUP stays ignored */
		if (old.sa_handler != SIG_IGN || signals[i] != SIGHUP)
			sigaction(signals[i], &action, NULL);
	}
	action.sa_handler = SIG_IGN; /* write() returns EPIPE and EFBIG instead */
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
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
	if (run->request->carrier)
		return xstrdup(source->file);
	return xasprintf("%s/%s", run->directory, source->file);
}

int record_buffer_kb(const struct record_request *r, u64 most, u64 *ret)
{
	u64 bytes;

	*ret = 0;
	if (!r->buffer)
		return 0;
	if (parse_u64(r->buffer, ret)) {
		if (parse_value(OPTION_SIZE, r->buffer, &bytes))
			return -EINVAL;
		*ret = bytes / 1024 + (bytes % 1024 != 0);
	}
	return *ret && *ret <= most ? 0 : -EINVAL;
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
	int *processes; /* processes of -p; -ESRCH: has ended */
	u32 nprocesses;
	u64 began_ns, until_ns, told_ns; /* until_ns: 0 = no limit */
	u64 told_events;
	bool shows, has_shown; /* progress, on a terminal */
};

/*
 * Raises the recorder's priority above that of the traced programs, if permitted: as one of three
 * processes on two CPUs it gets two thirds of a CPU, and two programs in a tight loop write more
 * than it can copy in that time. It sleeps when idle; the command that it starts has normal
 * priority.
 */
static void go_first(void)
{
	const struct sched_param none = {0};

	if (!getpriority(PRIO_PROCESS, 0) &&
	    !sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none))
		setpriority(PRIO_PROCESS, 0, NICE);
}

/* Opens the processes of -p, which were checked to exist. */
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

/* Closes processes that have ended. Returns true if there were some and none is left. */
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

/* Updates the progress line, and ends the run at --max-size. */
static void look(struct loop *l)
{
	const u64 most = l->run->request->max_bytes, now = clock_now_ns(CLOCK_MONOTONIC);
	struct record_progress p;
	double rate;

	if ((!l->shows && !most) || now - l->told_ns < TELL_MS * 1000000ull)
		return;
	p = progress(l);
	rate = (double)(p.events - MIN(l->told_events, p.events)) /
	       ((double)(now - l->told_ns) / 1e9);
	l->told_ns = now;
	l->told_events = p.events;
	if (most && p.bytes >= most)
		l->run->end = true;
	if (!l->shows || !(p.events || p.bytes))
		return;
	fprintf(stderr, "\r\033[K%.0f s: %" PRIu64 " events, %.0f/s, %.1f MB, %" PRIu64 " lost",
		(double)(now - l->began_ns) / 1e9, p.events, rate, (double)p.bytes / 1e6, p.lost);
	fflush(stderr);
	l->has_shown = true;
}

static void look_end(struct loop *l)
{
	if (l->has_shown)
		fputs("\r\033[K", stderr);
}

/* ---- the loop ---- */

/* How long to sleep: longer after each round that found nothing. */
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
	size_t n = 0, reader;
	int ready;

	for (; n < l->count; n++)
		fds[n] = (struct pollfd){l->running[n].source->poll_fd(l->running[n].state), POLLIN,
					 0};
	fds[n++] = (struct pollfd){l->child ? l->child->pidfd : -1, POLLIN, 0};
	reader = n; /* POLLERR without being asked for: the reader has left */
	fds[n++] = (struct pollfd){l->run->request->ends_with_reader ? STDOUT_FILENO : -1, 0, 0};
	for (u32 i = 0; i < l->nprocesses && n < ARRAY_SIZE(fds); i++)
		fds[n++] = (struct pollfd){l->processes[i], POLLIN, 0};
	ready = poll(fds, n, nap);
	if (ready > 0 && fds[reader].revents)
		l->run->end = true;
	return ready > 0;
}

/* Runs until a signal, or the end of the duration, the command or the processes of -p. */
static void loop(struct loop *l)
{
	struct record_run *run = l->run;
	int nap = NAP_LEAST_MS;

	while (!end_asked && !run->end &&
	       (!l->until_ns || clock_now_ns(CLOCK_MONOTONIC) < l->until_ns)) {
		bool busy = false;

		run->snapshot = snapshot_asked;
		run->rotate = rotate_asked;
		snapshot_asked = rotate_asked = 0;
		for (size_t i = 0; i < l->count; i++)
			busy |= l->running[i].source->round(run, l->running[i].state) > 0;
		if ((l->child && child_poll(l->child)) || have_ended(l))
			break;
		look(l);
		/* busy: rings are filling up; idle: an occasional check costs nothing */
		nap = nap_after(l, nap, busy);
		/* a new event may mean a program that is about to fill its rings */
		if (nap && wait_for_events(l, nap))
			nap = 0;
	}
}

static void run_loop(struct record_run *run, struct running *running, size_t n, u32 needs,
		     struct child *child)
{
	struct loop l = {.run = run, .running = running, .count = n, .child = child};

	l.began_ns = l.told_ns = clock_now_ns(CLOCK_MONOTONIC);
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
	struct recording_carrier *const carrier = run->request->carrier;

	diag_tell(run->diag);
	if (carrier)
		carrier->begun(carrier);
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
	bool wants_state = false;
	size_t n = 0;
	int rc = 0;

	signals_take();
	while (n < count && !rc) {
		running[n].source = sources[n];
		needs |= sources[n]->needs;
		wants_state |= sources[n]->wants_state;
		rc = sources[n]->begin(run, &running[n].state);
		n += !rc;
	}
	wants_state &= !rc && (run->directory || run->request->carrier) && !run->request->no_state;
	if (wants_state)
		rc = state_dump_write(run);
	if (run->probes) /* they are removed at the end */
		needs |= SANDBOX_TRACEFS;
	if (!rc && command)
		rc = child_start_words(&child, command, run->diag);
	run->command = child.pid;
	if (!rc)
		rc = start_all(run, running, n);
	if (!rc)
		say_begun(run);
	if (!rc && command)
		rc = child_release(&child, run->diag);
	if (!rc)
		run_loop(run, running, n, needs, command ? &child : NULL);
	if (rc && wants_state)
		state_dump_remove(run);
	if (rc && child.pid) /* held before its exec, it has copies of our descriptors */
		child_stop(&child);
	for (size_t i = n; i-- > 0;)
		if (running[i].source->end(run, running[i].state))
			run->failed = true;
	/* the kernel refuses to remove an enabled event: the sources have ended by now */
	dynamic_events_release(run->probes);
	run->probes = NULL;
	if (!rc && child.pid)
		child_stop(&child);
	if (end_asked)
		stall_end();
	*ret_code = end_asked ? EXIT_OK : child_exit_code(&child);
	free(running);
	return rc;
}
