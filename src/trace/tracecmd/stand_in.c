/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main thread hears our recorder and the agent. While the recorder does not take what is
 * recorded, the agent waits, and the rings there count what they lose. Clocks are compared by a
 * thread, whenever the recorder has asked, but once in a second at most: trace-cmd's way takes
 * hundreds of messages.
 */
#include "trace/tracecmd/stand_in.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "trace/agent/frames.h"
#include "trace/agent/sender.h"
#include "trace/tracecmd/received.h"

#define ANSWER_MS    10000
#define COMPARE_NS   1000000000ull /* from one comparison of clocks to the next */
#define MOMENTS_MOST 100000u /* of a recording of a day */

struct stand_in {
	const struct tracecmd_asked *asked;
	struct agent_sender to_host;
	struct agent_in from_host;
	struct tracecmd_stream control, sync;
	struct tracecmd_response machine;
	int cpus[TRACECMD_CPUS_MOST]; /* connections; the received ones' from record() on */
	s64 to_calendar; /* what is to be added to its CLOCK_MONOTONIC */
	struct tracecmd_received *received; /* NULL: not asked to record yet */
	bool has_ended; /* the agent */
	bool is_quiet;
	/* clocks; the thread's, under the lock */
	pthread_t clock;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct agent_clock question; /* sent_ns 0 = there is none */
	bool clock_ends;
	tracecmd_moments moments;
};

/* ---- what our recorder reads ---- */

static void tell(struct stand_in *s, enum agent_type type, const char *text)
{
	agent_send(&s->to_host, type, text, MIN(strlen(text), (size_t)AGENT_TEXT_MOST), NULL, 0);
}

/* Nothing is recorded: why, and that was it. */
static void refuse(struct stand_in *s, const struct diag *d)
{
	struct strbuf text = STRBUF_INIT;

	tracecmd_write(&s->control, TRACECMD_CLOSE, NULL, NULL, 0);
	for (size_t i = 0; i < d->messages.len; i++)
		strbuf_addf(&text, "%s%s", i ? "; " : "", d->messages.items[i].text);
	tell(s, AGENT_REFUSED, text.data);
	_exit(EXIT_FAILED);
}

/* ---- clocks ---- */

/* The answer as if it had come at once: as exact as the moment is, however long that took. */
static void answer(struct stand_in *s, struct agent_clock *c, const struct tracecmd_moment *m)
{
	const u64 waited = m->least_ns - c->sent_ns;

	if (m->machine_ns <= waited)
		return;
	c->received_ns = m->machine_ns - waited;
	c->answered_ns = m->machine_ns + clock_now_ns(CLOCK_MONOTONIC) - m->most_ns;
	agent_send(&s->to_host, AGENT_CLOCK, c, sizeof(*c), NULL, 0);
}

/* False: it is not to be compared any more. */
static bool wait_for_question(struct stand_in *s, u64 not_before_ns, struct agent_clock *ret)
{
	const struct timespec until = {.tv_sec = (time_t)(not_before_ns / 1000000000),
				       .tv_nsec = (long)(not_before_ns % 1000000000)};
	bool goes_on;

	pthread_mutex_lock(&s->lock);
	while (!s->clock_ends && pthread_cond_timedwait(&s->change, &s->lock, &until) != ETIMEDOUT)
		;
	while (!s->clock_ends && !s->question.sent_ns)
		pthread_cond_wait(&s->change, &s->lock);
	*ret = s->question;
	s->question.sent_ns = 0;
	goes_on = ret->sent_ns;
	pthread_mutex_unlock(&s->lock);
	return goes_on;
}

/* The last question is answered at once when it ends. */
static void *compare_clocks(void *arg)
{
	struct stand_in *const s = arg;
	struct tracecmd_moment m;
	struct agent_clock question;
	u64 last_ns = 0;
	int err = 0;

	while ((!err || err == -EAGAIN) && wait_for_question(s, last_ns + COMPARE_NS, &question)) {
		err = tracecmd_compare(&s->sync, &m);
		last_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (err)
			continue;
		answer(s, &question, &m);
		if (s->moments.len < MOMENTS_MOST)
			vector_push(&s->moments, m);
	}
	if (err && err != -EAGAIN)
		tell(s, AGENT_TEXT, "WARNING: trace-cmd there compares clocks no more");
	return NULL;
}

static void ask_clock(struct stand_in *s, const u8 *body)
{
	pthread_mutex_lock(&s->lock);
	memcpy(&s->question, body, sizeof(s->question));
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
}

static void end_clock(struct stand_in *s)
{
	if (s->clock_ends)
		return;
	pthread_mutex_lock(&s->lock);
	s->clock_ends = true;
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->clock, NULL);
	tracecmd_sync_write(&s->sync, TRACECMD_NO_WAY, TRACECMD_STOP, NULL, 0);
	shutdown(s->sync.fd, SHUT_RDWR);
}

/* ---- the beginning ---- */

static void ask(struct stand_in *s, struct diag *d)
{
	struct tracecmd_message m;
	int err = tracecmd_request_write(&s->control, s->asked->words, s->asked->count);

	if (!err)
		err = tracecmd_read(&s->control, ANSWER_MS, &m);
	if (!err)
		err = tracecmd_response_parse(&m, &s->machine);
	if (err == -EPROTO)
		diag_error(d, NO_SPAN, "who answers there is no `trace-cmd agent`");
	else if (err)
		diag_error(d, NO_SPAN, "trace-cmd does not answer: %s", strerror(-err));
	else if (!str_eq(s->machine.way, TRACECMD_PTP))
		diag_error(d, NO_SPAN, "trace-cmd there cannot compare clocks by 'ptp'");
	if (err || d->errors)
		refuse(s, d);
}

/* To all of its ports, also if it then records nothing: what waits there for us waits for ever. */
static void connect_all(struct stand_in *s, struct diag *d)
{
	const struct tracecmd_asked *const a = s->asked;

	s->sync.fd = a->connect(a->machine, s->machine.way_port);
	for (u32 i = 0; i < s->machine.cpu_count; i++) {
		s->cpus[i] = a->connect(a->machine, s->machine.ports[i]);
		if (s->cpus[i] < 0)
			diag_error(d, NO_SPAN, "cannot connect to its port %u, of CPU %u: %s",
				   s->machine.ports[i], i, strerror(-s->cpus[i]));
	}
	if (d->errors)
		refuse(s, d);
}

static void greet(struct stand_in *s)
{
	struct agent_welcome w = {.protocol = AGENT_PROTOCOL, .version = PANTRACE_VERSION};
	struct diag d = DIAG_INIT;
	struct tracecmd_moment m;
	int err;

	s->to_host.error = write_all(s->to_host.fd, AGENT_MARK_AGENT, AGENT_MARK_SIZE)
				   ?: write_all(s->to_host.fd, &s->from_host.nonce,
						sizeof(s->from_host.nonce));
	ask(s, &d);
	connect_all(s, &d);
	do
		err = s->sync.fd < 0 ? s->sync.fd : tracecmd_compare(&s->sync, &m);
	while (err == -EAGAIN);
	if (err) {
		diag_error(&d, NO_SPAN, "its clock cannot be compared: %s", strerror(-err));
		refuse(s, &d);
	}
	vector_push(&s->moments, m);
	/* its own calendar cannot be asked for: ours is taken */
	s->to_calendar = w.realtime_ns = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME) +
					 (s64)(m.least_ns - m.machine_ns);
	agent_send(&s->to_host, AGENT_WELCOME, &w, sizeof(w), NULL, 0);
	pthread_create(&s->clock, NULL, compare_clocks, s);
}

/* The words were sent before; one more may stand behind them. */
static void record(struct stand_in *s, const u8 *words, size_t n)
{
	static const char quiet[] = "-q";
	struct diag d = DIAG_INIT;

	s->is_quiet =
		n >= sizeof(quiet) && !memcmp(words + n - sizeof(quiet), quiet, sizeof(quiet));
	if (tracecmd_received_begin(&s->control, &s->machine, s->to_calendar, &s->to_host.carrier,
				    &d, &s->received))
		refuse(s, &d);
	tracecmd_received_start(s->received, s->cpus);
	s->to_host.carrier.begun(&s->to_host.carrier);
}

/* ---- the run ---- */

static void stop(struct stand_in *s)
{
	end_clock(s);
	tracecmd_received_expect_end(s->received, false);
	tracecmd_write(&s->control, TRACECMD_CLOSE, NULL, NULL, 0);
}

/* False: it has gone. */
static bool hear_host(struct stand_in *s)
{
	struct agent_frame f;
	const u8 *body;
	int rc = agent_in_read(&s->from_host, s->to_host.fd);

	if (rc < 0)
		return false;
	while ((rc = agent_in_next(&s->from_host, &f, &body)) > 0) {
		if (f.type == AGENT_HELLO)
			greet(s);
		else if (f.type == AGENT_CLOCK)
			ask_clock(s, body);
		else if (f.type == AGENT_RECORD && !s->received)
			record(s, body, f.size);
		else if (f.type == AGENT_STOP && s->received)
			stop(s);
	}
	return rc >= 0;
}

static void hear_agent(struct stand_in *s)
{
	struct tracecmd_message m;
	const int err = tracecmd_read(&s->control, ANSWER_MS, &m);

	if (!err && m.type != TRACECMD_CLOSE_RESP)
		return;
	s->has_ended = true;
	if (err)
		tell(s, AGENT_TEXT,
		     "WARNING: its trace-cmd has gone; what it had not sent is lost");
	if (err && s->received)
		tracecmd_received_expect_end(s->received, true);
}

/* False: everything is told. */
static bool turn(struct stand_in *s)
{
	struct pollfd fds[] = {
		{s->to_host.fd, POLLIN, 0},
		{s->received && !s->has_ended ? s->control.fd : -1, POLLIN, 0},
		{s->received ? tracecmd_received_fd(s->received) : -1, POLLIN, 0},
	};

	clock_poll(fds, ARRAY_SIZE(fds), -1);
	if (fds[0].revents && !hear_host(s))
		return false;
	if (fds[1].revents)
		hear_agent(s);
	return !(s->received && s->has_ended && tracecmd_received_has_ended(s->received));
}

static void finish(struct stand_in *s)
{
	struct agent_ended ended = {.code = EXIT_OK};
	struct tracecmd_totals t;
	char *text;

	end_clock(s);
	t = tracecmd_received_end(s->received, &s->moments);
	if (t.lost || t.uncounted)
		ended.code = EXIT_LOST;
	text = xasprintf("%u CPUs in trace.dat, %" PRIu64 " bytes; %" PRIu64 " lost",
			 s->machine.cpu_count, t.bytes, t.lost);
	if (!s->is_quiet || ended.code)
		tell(s, AGENT_TEXT, text);
	free(text);
	s->to_host.carrier.ended(&s->to_host.carrier, t.lost, t.uncounted);
	agent_send(&s->to_host, AGENT_ENDED, &ended, sizeof(ended), NULL, 0);
}

static void converse(const struct tracecmd_asked *asked, int host)
{
	struct stand_in s = {.asked = asked,
			     .control.fd = asked->fd,
			     .sync.fd = -1,
			     .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s.change, &monotonic);
	agent_sender_init(&s.to_host, host);
	agent_in_init(&s.from_host, AGENT_MARK_HOST, NULL);
	while (turn(&s))
		;
	if (s.received && s.has_ended && tracecmd_received_has_ended(s.received))
		finish(&s);
	else /* nobody takes it: the agent ends its recording */
		tracecmd_write(&s.control, TRACECMD_CLOSE, NULL, NULL, 0);
}

/* ---- the process ---- */

static void begin(const struct tracecmd_asked *asked, int host)
{
	struct tracecmd_asked own = *asked;
	const int nothing = open("/dev/null", O_RDWR);

	prctl(PR_SET_NAME, "stand-in");
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the recorder, which says when it ends */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	host = fcntl(host, F_DUPFD, 10);
	own.fd = fcntl(own.fd, F_DUPFD, 10);
	dup2(host, 3);
	dup2(own.fd, 4);
	close_range(5, ~0u, 0);
	own.fd = 4;
	converse(&own, 3);
	_exit(EXIT_OK);
}

int tracecmd_stand_in(const struct tracecmd_asked *asked, pid_t *ret_pid)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		close(asked->fd);
		return -errno;
	}
	fflush(NULL);
	*ret_pid = fork();
	if (!*ret_pid)
		begin(asked, pair[1]);
	rc = *ret_pid < 0 ? -errno : pair[0];
	if (rc < 0)
		close(pair[0]);
	else
		fcntl(rc, F_SETFL, O_NONBLOCK);
	close(pair[1]);
	close(asked->fd);
	return rc;
}
