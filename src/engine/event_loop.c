/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/event_loop.h"

#include <linux/bpf.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/stall.h"
#include "engine/actions.h"
#include "engine/in_process_maps.h"
#include "engine/packets.h"
#include "user/in_process_session.h"

/* Records that are handled before signals and the end of the child are checked again. */
#define RECORDS_PER_ROUND 4096u
#define ROUND_NS	  20000000u
/* Lost events are looked for this often while records flow. */
#define LOST_INTERVAL_NS 500000000u

static bool handle_record(void *arg, const void *data, u32 size, const void *next, u32 next_size)
{
	struct loop *l = arg;

	if (!engine_handle_record(l->e, data, size, next, next_size))
		return false;
	/* Most actions take less than a microsecond; some run a command. */
	if (--l->budget % 64 == 0 || l->e->was_slow)
		l->budget = clock_now_ns(CLOCK_MONOTONIC) > l->round_ends ? 0 : l->budget;
	l->e->was_slow = false;
	return l->budget > 0;
}

/* Returns true if there may be more. */
static bool read_records(struct loop *l)
{
	if (l->source) {
		l->source_ms = l->source->run(l->source->arg);
		l->is_over |= l->e->out->error != 0;
		return false;
	}
	packets_read(l->e);
	if (!l->e->ring)
		return false;
	l->budget = RECORDS_PER_ROUND;
	l->round_ends = clock_now_ns(CLOCK_MONOTONIC) + ROUND_NS;
	engine_read_watch(l->e); /* records may need what it tells */
	ring_consume(l->e->ring, handle_record, l);
	l->read = RECORDS_PER_ROUND - l->budget;
	if (l->e->out->error)
		l->is_over = true;
	return !l->budget;
}

void loop_read_all(struct loop *l)
{
	u64 until = clock_now_ns(CLOCK_MONOTONIC) + DRAIN_NS;

	while (read_records(l) && !l->e->out->error)
		if (clock_now_ns(CLOCK_MONOTONIC) > until)
			l->e->is_giving_up = true;
	l->e->is_giving_up = false;
}

int loop_add(struct loop *l, int fd, enum waiting_for what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};

	if (fd < 0)
		return 0;
	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Ends the run when the reader of the output is gone, even if the script prints nothing. */
static void watch_reader(struct loop *l)
{
	struct epoll_event ev = {.events = 0, .data.u32 = WAIT_READER}; /* EPOLLERR comes unasked */

	if (l->e->out->may_stall)
		epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->e->out->fd, &ev);
}

void loop_block_signals(struct loop *l)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH};
	sigset_t *const set = &l->run_signals.ours;

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(set, wanted[i]);
	sigprocmask(SIG_BLOCK, set, &l->run_signals.old);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the output, which ends the run */
	l->signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void end_by_signal(struct loop *l)
{
	l->is_over = l->e->was_asked = true;
	stall_end();
}

static void wake_reporter(struct loop *l)
{
	const struct engine_reporter *const r = l->e->options->reporter;

	if (r->fd >= 0)
		l->is_over |= !r->wake(r->arg, l->e);
}

void loop_take_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		bool probed = engine_has_signal(l->e, info.ssi_signo);

		if (probed || info.ssi_signo == SIGUSR1)
			engine_run_signal(l->e, info.ssi_signo);
		else if (info.ssi_signo == SIGWINCH && l->e->options->reporter)
			wake_reporter(l);
		else if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGUSR2)
			end_by_signal(l);
	}
}

static void open_pace(struct loop *l)
{
	const struct engine *e = l->e;
	const u32 globals = e->script->global_map;
	const bool has_flags = globals < e->script->maps.len &&
			       e->script->maps.items[globals].map_flags & BPF_F_MMAPABLE;

	/* Processes of which names are wanted may end any time: their records are read at once. */
	wakeup_open(&l->wakeup, has_flags && !e->notes_processes ? e->maps[globals].fd : -1,
		    e->ring, e->out->buffering == OUTPUT_FULL);
}

int loop_open(struct loop *l)
{
	const struct run_config *o = l->e->options;
	const int *fds = NULL;
	u32 n;
	int err;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return -errno;
	open_pace(l);
	watch_reader(l);
	err = loop_add(l, l->signals, WAIT_SIGNAL);
	if (!err && l->e->ring)
		err = loop_add(l, ring_fd(l->e->ring), WAIT_RING);
	n = l->e->packets ? packets_fds(l->e->packets, &fds) : 0;
	for (u32 i = 0; i < n && !err; i++)
		err = loop_add(l, fds[i], WAIT_RING);
	if (!err && l->e->child)
		err = loop_add(l, l->e->child->pidfd, WAIT_CHILD);
	if (!err && l->process >= 0)
		err = loop_add(l, l->process, WAIT_PROCESS);
	if (!err && o->reporter && o->reporter->fd >= 0)
		err = loop_add(l, o->reporter->fd, WAIT_REPORTER);
	if (!err && o->guest)
		err = loop_add(l, o->guest->fd, WAIT_GUEST);
	if (!err && o->duration_ns) {
		struct itimerspec when = {.it_value = {(time_t)(o->duration_ns / 1000000000),
						       (long)(o->duration_ns % 1000000000)}};

		l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		timerfd_settime(l->timer, 0, &when, NULL);
		err = loop_add(l, l->timer, WAIT_TIMER);
	}
	return err;
}

int loop_watch_process(struct loop *l)
{
	const struct run_config *o = l->e->options;
	const pid_t pid = o->ends_with ? o->ends_with : o->pid;

	if (!pid)
		return 0;
	l->process = process_open(pid);
	if (l->process >= 0 || l->process == -ENOSYS)
		return 0;
	diag_error(l->e->env->diag, NO_SPAN, "cannot watch process %d: %s", pid,
		   strerror(-l->process));
	return l->process;
}

int loop_add_watch(struct loop *l)
{
	const int *fds = NULL;
	u32 n = l->e->watch ? watch_fds(l->e->watch, &fds) : 0;
	int err = 0;

	for (u32 i = 0; i < n && !err; i++)
		err = loop_add(l, fds[i], WAIT_WATCH);
	return err;
}

void loop_close(struct loop *l)
{
	int fds[] = {l->epoll, l->signals, l->process, l->timer};

	wakeup_close(&l->wakeup);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/*
 * How long to sleep, in ms; -1 = until an event, unless there is something that no descriptor
 * reports (kernels without pidfd, losses not reported yet).
 */
static int poll_timeout(const struct loop *l)
{
	const struct child *child = l->e->child;

	if (l->source)
		return l->source_ms;
	if (l->e->unwind_due)
		return 2;
	return child && child->pidfd < 0 ? 50 : -1;
}

static void wait_and_handle(struct loop *l, bool more)
{
	struct epoll_event events[16];
	int timeout = 0, wakeup, n;

	if (!more) {
		output_idle(l->e->out);
		timeout = poll_timeout(l);
		wakeup = l->e->ring ? wakeup_wait(&l->wakeup, l->read, l->e->ring) : -1;
		if (wakeup >= 0)
			timeout = timeout < 0 ? wakeup : MIN(timeout, wakeup);
	}
	n = epoll_wait(l->epoll, events, ARRAY_SIZE(events), timeout);
	for (int i = 0; i < n; i++) {
		switch (events[i].data.u32) {
		case WAIT_SIGNAL:
			loop_take_signals(l);
			break;
		case WAIT_PROCESS:
		case WAIT_TIMER:
		case WAIT_READER: /* of our output: it is gone */
			l->is_over = true;
			break;
		case WAIT_CHILD: /* looked at below */
		case WAIT_RING: /* read by the caller */
			break;
		case WAIT_WATCH:
			engine_read_watch(l->e);
			break;
		case WAIT_COUNTING:
			aggregates_refresh(l->e->aggregates);
			break;
		case WAIT_LATER:
			probe_later(l->e->env);
			break;
		case WAIT_REPORTER:
			wake_reporter(l);
			break;
		case WAIT_GUEST:
			l->e->options->guest->wake(l->e->options->guest->arg, l->e);
			break;
		}
	}
	engine_refresh_unwind(l->e);
	if (l->e->child && child_poll(l->e->child)) {
		loop_take_signals(l); /* Ctrl-C ends both: its signal counts as the cause */
		l->is_over = true;
	}
}

static void check_lost(struct loop *l)
{
	u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (now < l->next_lost_check)
		return;
	l->next_lost_check = now + LOST_INTERVAL_NS;
	engine_report_lost(l->e, false);
}

/* exit() was called, but its record did not fit into the buffer: the script ends all the same. */
static void check_over(struct loop *l)
{
	struct script_globals g;
	const struct script *s = l->e->script;
	u32 zero = 0;

	if (!s->has_exit || s->global_map >= s->maps.len ||
	    s->maps.items[s->global_map].value_size != sizeof(g) ||
	    map_lookup(&l->e->maps[s->global_map], &zero, &g) < 0 || !g.is_over)
		return;
	loop_read_all(l);
	if (l->e->is_exiting)
		return;
	l->e->exit_code = (int)(g.is_over - 1);
	l->e->is_exiting = l->e->has_exit_code = true;
}

void loop_run(struct loop *l)
{
	while (!l->is_over && !l->e->is_exiting) {
		bool more = read_records(l);

		if (l->e->is_exiting || l->is_over)
			break;
		check_lost(l);
		if (!more)
			check_over(l);
		if (!l->e->is_exiting)
			wait_and_handle(l, more);
	}
}

void loop_run_iterators(struct loop *l)
{
	l->e->is_iterating = true;
	for (size_t i = 0; i < l->e->iterators.len; i++) {
		const int fd = l->e->iterators.items[i].sequence;
		char buf[4096];
		ssize_t n;

		while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) != 0) {
			if (n < 0 && errno != EINTR && errno != EAGAIN)
				break;
			if (n > 0)
				strbuf_add(&l->e->out->text, buf, (size_t)n);
			loop_read_all(l);
		}
		loop_read_all(l);
	}
	l->e->is_iterating = false;
}
