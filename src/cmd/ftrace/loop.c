/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of an ftrace session: waits, reads the buffer, prints, and ends in order. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stall.h"
#include "cmd/ftrace/session.h"
#include "kernel/sandbox/sandbox.h"
#include "kernel/tracefs/buffer_size.h"

#define LIVE_MS	    100 /* the longest time until an event is shown */
#define BUFFERED_MS 1000 /* -d: how often the size is checked */
/* more than this left to print at the end is mentioned */
#define LATE_BYTES	((size_t)64 << 20)
#define EVENTS_PER_LOOK 4096 /* events printed before signals and the output are checked again */
/*
 * The most memory for events that wait to be printed: a quarter of what is free, within these
 * bounds.
 */
#define QUEUE_MOST  ((size_t)1 << 30)
#define QUEUE_LEAST ((size_t)16 << 20)

struct loop {
	struct ftrace_session *session;
	struct raw_buffer *buffer;
	int signals; /* signalfd */
	u64 end; /* 0 = none */
	size_t bound; /* bytes that may wait in memory */
	bool stop;
	bool by_signal; /* it was one that stopped it */
};

static void print_event(struct ftrace_session *s, const struct raw_event *e)
{
	struct strbuf *out = &s->out.text;
	struct event_info *info;

	ftrace_names_at(s, e);
	s->printed++;
	if (s->print) {
		s->print(s, e, out);
	} else if (s->options->json) {
		ftrace_json_event(s, e, out);
	} else {
		info = s->user_stacks ? event_table_get(s->text.events, page_event_id(&e->event))
				      : NULL;
		if (!info || !ftrace_user_stack(s, info, e, out))
			trace_text_event(&s->text, e, out);
	}
	output_commit(&s->out);
}

static void end_by_signal(struct loop *l)
{
	l->stop = l->by_signal = true;
	stall_end();
}

static void check_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info))
		end_by_signal(l);
	/* The reader of our output is gone (| head). */
	if (l->session->out.error)
		l->stop = true;
}

/*
 * Prints what is older than `until`. Ends early if the run is asked to end: tracing is stopped
 * first.
 */
static void print_until(struct loop *l, u64 until, bool running)
{
	struct raw_event e;

	for (u32 n = 1; raw_buffer_next(l->buffer, until, &e); n++) {
		print_event(l->session, &e);
		if (n % EVENTS_PER_LOOK)
			continue;
		if (running)
			check_signals(l);
		if (l->session->out.error || (running && l->stop))
			return;
	}
	output_idle(&l->session->out);
}

static int wait_ms(const struct loop *l, bool buffered)
{
	const u64 limit = buffered ? BUFFERED_MS : LIVE_MS, now = clock_now_ns(CLOCK_MONOTONIC);

	if (!l->end)
		return (int)limit;
	return now >= l->end ? 0 : (int)MIN((l->end - now) / 1000000 + 1, limit);
}

enum { POLL_SIGNALS, POLL_BUFFER, POLL_OUTPUT, POLL_PROCESS, POLL_FIXED };

/* What is waited for; the descriptors of the watch come last. Malloc'ed. */
static struct pollfd *poll_set(const struct loop *l, nfds_t *ret_count)
{
	const int *fds = NULL;
	const u32 n = l->session->watch ? watch_fds(l->session->watch, &fds) : 0;
	struct pollfd *set = xreallocarray(NULL, POLL_FIXED + n, sizeof(*set));

	set[POLL_SIGNALS] = (struct pollfd){.fd = l->signals, .events = POLLIN};
	set[POLL_BUFFER] = (struct pollfd){.fd = raw_buffer_fd(l->buffer), .events = POLLIN};
	/* POLLERR: the reader is gone. Reported also while nothing is written. */
	set[POLL_OUTPUT] = (struct pollfd){.fd = l->session->out.fd};
	set[POLL_PROCESS] = (struct pollfd){.fd = l->session->process, .events = POLLIN};
	for (u32 i = 0; i < n; i++)
		set[POLL_FIXED + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	*ret_count = POLL_FIXED + n;
	return set;
}

/*
 * -d: what is in memory is printed before the end only if there is much of it. Without a reader
 * thread, this is also where pages are moved into memory.
 */
static bool has_to_print(struct loop *l)
{
	if (!l->session->reader_thread)
		raw_buffer_drain(l->buffer);
	return raw_buffer_pending(l->buffer) > l->bound / 4 * 3;
}

static int loop(struct loop *l)
{
	struct ftrace_session *s = l->session;
	const bool buffered = l->end != 0 && !s->tick;
	nfds_t count;
	struct pollfd *set = poll_set(l, &count);
	int err = 0;

	while (!l->stop && !err && (!l->end || clock_now_ns(CLOCK_MONOTONIC) < l->end)) {
		u64 until;

		poll(set, count, wait_ms(l, buffered));
		check_signals(l);
		l->stop |= (set[POLL_OUTPUT].revents & (POLLERR | POLLHUP)) != 0 ||
			   set[POLL_PROCESS].revents;
		if (s->watch)
			watch_read(s->watch);
		if (buffered)
			ftrace_names_read(s);
		if (set[POLL_BUFFER].revents)
			raw_buffer_heard(l->buffer);
		if (buffered && !has_to_print(l))
			continue;
		err = raw_buffer_drain(l->buffer);
		ftrace_names_read(s);
		/* Events after this time may still come out of order. */
		until = raw_buffer_complete(l->buffer);
		print_until(l, until, true);
		if (s->tick && !l->stop)
			s->tick(s, until);
		check_signals(l);
	}
	free(set);
	return err;
}

static bool was_switched_off(struct ftrace_session *s)
{
	char *value;
	bool off;

	if (instance_read(s->instance, "tracing_on", &value))
		return false;
	off = *value == '0';
	free(value);
	return off;
}

static int say_losses(struct ftrace_session *s, struct raw_buffer *buffer)
{
	struct raw_buffer_stats stats;

	if (raw_buffer_stats(buffer, &stats))
		return EXIT_OK;
	if (stats.damaged)
		diag_warning(&s->diag, NO_SPAN,
			     "%" PRIu64 " page%s of the buffer could not be read to their end",
			     stats.damaged, plural(stats.damaged));
	if (!stats.lost)
		return stats.damaged ? EXIT_LOST : EXIT_OK;
	diag_warning(&s->diag, NO_SPAN, "%" PRIu64 " event%s %s lost, %" PRIu64 " were printed",
		     stats.lost, plural(stats.lost), was_were(stats.lost), s->printed);
	diag_hint(&s->diag,
		  "a filter (-p, FILTER) makes them fewer, -b KB makes the buffer larger");
	return EXIT_LOST;
}

/* Prints all that was recorded. A second Ctrl-C kills the process; the guard then cleans up. */
static void print_rest(struct loop *l)
{
	struct ftrace_session *s = l->session;
	const size_t pending = raw_buffer_pending(l->buffer);

	if (l->by_signal && pending > LATE_BYTES && !s->options->quiet)
		fprintf(stderr,
			"Printing what was recorded, %zu MB; Ctrl-C once more ends it at once.\n",
			pending >> 20);
	if (l->by_signal)
		run_signals_begin(&s->run_signals);
	print_until(l, UINT64_MAX, false);
	if (!l->by_signal)
		return;
	run_signals_end(&s->run_signals);
	sigprocmask(SIG_BLOCK, &s->run_signals.ours, NULL);
}

static int run_loop(struct ftrace_session *s, struct loop *l)
{
	int err, rc;

	if (s->options->header && !s->options->json)
		trace_text_columns(&s->text, &s->out.text);
	output_idle(&s->out);
	err = loop(l);
	if (was_switched_off(s))
		diag_warning(&s->diag, NO_SPAN,
			     "somebody wrote 0 to %s/tracing_on: nothing was recorded since then",
			     instance_directory(s->instance));
	instance_try(s->instance, "tracing_on", "0");
	if (!err && !s->out.error)
		err = raw_buffer_drain_all(l->buffer);
	ftrace_names_read(s);
	if (s->watch)
		watch_read(s->watch);
	if (!s->out.error)
		print_rest(l);
	if (err)
		diag_error(&s->diag, NO_SPAN, "the trace buffer cannot be read: %s",
			   strerror(-err));
	rc = say_losses(s, l->buffer);
	return err ? EXIT_FAILED : rc;
}

static void enter(u32 needs)
{
	sandbox_enter(needs);
}

/*
 * Switching ftrace off writes to files that belong to root, which takes no capability. Capabilities
 * are per thread.
 */
static void drop_privileges(const struct ftrace_session *s)
{
	const u32 needs = SANDBOX_TRACEFS | SANDBOX_KERNEL_NAMES |
			  (s->user_stacks ? SANDBOX_USER_FILES : 0) |
			  (s->has_child ? SANDBOX_CHILD : 0);

	if (s->options->keep_privileges)
		return;
	raw_buffer_order(s->buffer, enter, needs);
	enter(needs);
}

/* For tests and scripts that must not start before tracing has. */
static void notify_attached(struct ftrace_session *s)
{
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		strbuf_addstr(&s->out.text, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
		output_flush(&s->out);
	}
}

static size_t queue_bound(void)
{
	const size_t share = (size_t)available_kb() / 4 * 1024;

	return MAX(MIN(share, QUEUE_MOST), QUEUE_LEAST);
}

int ftrace_session_run(struct ftrace_session *s)
{
	struct loop l = {.session = s, .signals = s->signals, .bound = queue_bound()};
	int rc, err;

	err = raw_buffer_open_with(instance_directory(s->instance), s->reader, l.bound, &l.buffer);
	s->reader = NULL;
	if (err) {
		diag_error(&s->diag, NO_SPAN, "cannot read %s/per_cpu/*/trace_pipe_raw: %s",
			   instance_directory(s->instance), strerror(-err));
		return EXIT_FAILED;
	}
	s->buffer = l.buffer;
	if (s->options->duration_ns)
		l.end = clock_now_ns(CLOCK_MONOTONIC) + s->options->duration_ns;
	drop_privileges(s);
	notify_attached(s);
	if (s->has_child) /* one that cannot run has ended, too */
		child_release(&s->child, &s->diag);
	rc = run_loop(s, &l);
	s->was_asked = s->has_child && !child_poll(&s->child);
	s->buffer = NULL;
	raw_buffer_close(l.buffer);
	return rc;
}
