/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/run/guest.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/stall.h"
#include "trace/agent/frames.h"
#include "trace/agent/reach.h"
#include "trace/relay/ctf_relay_connect.h"

#define GREETING_MS 10000
#define SSH_MS	    60000 /* somebody may have to type a password */
#define END_MS	    15000 /* after a signal */

struct script {
	const char *where;
	int fd;
	pid_t ssh;
	u64 nonce;
	struct agent_in in;
	struct agent_out out;
	struct agent_lines lines;
	const struct strbuf *words; /* to be sent when it has greeted */
	bool greeted, done;
	int code;
	u64 until_ms; /* it has to have answered by then; 0 = it may take its time */
};

PRINTF_LIKE(2, 3) static void fail(struct script *s, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ERROR: %s: %s\n", s->where, text);
	s->done = true;
	s->code = EXIT_FAILED;
}

static void say(const u8 *text, size_t n)
{
	struct strbuf line = STRBUF_INIT;

	escape_terminal(&line, (const char *)text, n);
	fprintf(stderr, "%s\n", line.data);
	strbuf_release(&line);
}

static void welcome(struct script *s, const u8 *body)
{
	struct agent_welcome w;

	memcpy(&w, body, sizeof(w));
	if (w.protocol != AGENT_PROTOCOL) {
		fail(s, "its agent speaks protocol %u, we speak %u: take the same pantrace",
		     w.protocol, AGENT_PROTOCOL);
		return;
	}
	s->greeted = true;
	s->until_ms = 0;
	agent_out_put(&s->out, AGENT_RUN, NULL, 0, s->words->data, s->words->len);
}

static void print(struct script *s, const u8 *body, size_t n)
{
	const int err = stall_write(STDOUT_FILENO, body, n);

	if (!err)
		return;
	s->done = true;
	s->code = err == -ETIMEDOUT ? EXIT_LOST : err == -EPIPE ? EXIT_OK : EXIT_FAILED;
}

static void take(struct script *s, const struct agent_frame *f, const u8 *body)
{
	struct agent_ended e;

	if (f->type == AGENT_REFUSED || (s->greeted && f->type == AGENT_TEXT)) {
		if (f->type == AGENT_REFUSED || agent_lines_take(&s->lines))
			say(body, f->size);
		s->done = f->type == AGENT_REFUSED;
		s->code = EXIT_FAILED; /* unless it says how it ended */
	} else if (!s->greeted && f->type == AGENT_WELCOME) {
		welcome(s, body);
	} else if (s->greeted && f->type == AGENT_OUTPUT) {
		print(s, body, f->size);
	} else if (s->greeted && f->type == AGENT_ENDED) {
		memcpy(&e, body, sizeof(e));
		s->done = true;
		s->code = (int)(e.code & 0xff);
	} else if (f->type != AGENT_LOST) {
		fail(s, "its agent sent a message out of turn");
	}
}

static void hear(struct script *s)
{
	struct agent_frame f;
	const u8 *body;
	int rc = agent_in_read(&s->in, s->fd), next = 0;

	while (!s->done && (next = agent_in_next(&s->in, &f, &body)) > 0)
		take(s, &f, body);
	if (s->done)
		return;
	if (next < 0)
		fail(s, "its agent sent %s", s->in.why);
	else if (rc < 0)
		fail(s, "the connection has ended");
}

/* Until it has ended. A signal ends it there: what it then still prints is waited for. */
static void converse(struct script *s, int signals)
{
	while (!s->done) {
		struct pollfd fds[] = {{s->fd, POLLIN, 0}, {signals, POLLIN, 0}};
		const int rc = agent_out_push(&s->out, s->fd);

		if (agent_out_waiting(&s->out))
			fds[0].events |= POLLOUT;
		poll(fds, ARRAY_SIZE(fds), s->until_ms ? 100 : -1);
		if (fds[1].revents && !s->until_ms) {
			agent_out_put(&s->out, AGENT_STOP, NULL, 0, NULL, 0);
			s->until_ms = clock_now_ms(CLOCK_MONOTONIC) + END_MS;
			stall_end();
		}
		if (fds[0].revents & ~POLLOUT)
			hear(s);
		if (!s->done && rc)
			fail(s, "the connection broke: %s", strerror(-rc));
		if (!s->done && s->until_ms && clock_now_ms(CLOCK_MONOTONIC) > s->until_ms)
			fail(s, "its agent does not answer");
	}
}

int run_in_guest(const char *where, const char *format, const char *text, char *const *arguments,
		 int count)
{
	const struct agent_hello hello = {.protocol = AGENT_PROTOCOL, .version = PANTRACE_VERSION};
	struct strbuf words = STRBUF_INIT;
	struct script s = {.where = where, .words = &words};
	struct diag d = DIAG_INIT;
	const char *way;
	sigset_t ends;
	int signals;

	strbuf_add(&words, format, strlen(format) + 1);
	strbuf_add(&words, text, strlen(text) + 1);
	for (int i = 0; i < count; i++)
		strbuf_add(&words, arguments[i], strlen(arguments[i]) + 1);
	if (words.len > AGENT_FRAME_MOST) {
		fprintf(stderr,
			"ERROR: %s: the script is too large for a guest: %u bytes at most\n", where,
			AGENT_FRAME_MOST);
		strbuf_release(&words);
		return EXIT_FAILED;
	}
	free(agent_way_name(where, &way));
	s.fd = agent_reach(way, NULL, 0, &d, &s.ssh);
	if (s.fd < 0) {
		strbuf_release(&words);
		return diag_close(&d, EXIT_FAILED);
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (getrandom(&s.nonce, sizeof(s.nonce), 0) < 0)
		s.nonce = clock_now_ns(CLOCK_MONOTONIC);
	agent_in_init(&s.in, AGENT_MARK_AGENT, &s.nonce);
	agent_out_init(&s.out);
	agent_out_mark(&s.out, AGENT_MARK_HOST, s.nonce);
	agent_out_put(&s.out, AGENT_HELLO, &hello, sizeof(hello), NULL, 0);
	s.until_ms = clock_now_ms(CLOCK_MONOTONIC) + (s.ssh ? SSH_MS : GREETING_MS);
	converse(&s, signals);
	agent_lines_tell(&s.lines, where);
	close(signals);
	close(s.fd);
	relay_carrier_end(&s.ssh, false);
	agent_in_release(&s.in);
	agent_out_release(&s.out);
	strbuf_release(&words);
	return diag_close(&d, s.code);
}
