/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's frames go on to the host as fast as that takes them: while it does not, the
 * recorder waits, and the rings that it empties count what they cannot hold.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/agent/agent.h"
#include "trace/agent/frames.h"
#include "trace/agent/steal.h"

#define WAITING_MOST (128u << 10) /* bytes queued for the host before the recorder has to wait */
#define ANSWERS_MOST (1u << 20) /* bytes queued before a host that only asks is no longer heard */

struct conversation {
	int in, out; /* -1: the host has gone */
	bool greeted, has_recorded, quiet;
	enum steal_told { STEAL_NONE, STEAL_BEGUN, STEAL_ENDED } steal; /* what was told of it */
	u64 heard_ns; /* when its last bytes came */
	int ptp; /* the hypervisor's clock; -1 = none */
	struct agent_in from_host, from_recorder;
	struct agent_out to_host;
	struct agent_recorder recorder;
	struct strbuf line; /* of the recorder's messages */
};

static void leave(struct conversation *c)
{
	c->in = c->out = -1;
}

static void refuse(struct conversation *c, const char *why)
{
	agent_out_put(&c->to_host, AGENT_REFUSED, why, strlen(why), NULL, 0);
	agent_out_push(&c->to_host, c->out);
	complain("agent", "a host is refused: %s", why);
	leave(c);
}

static void abandon(struct conversation *c)
{
	if (!c->recorder.pid)
		return;
	if (!c->quiet)
		complain("agent", "the host has gone: its recording ends");
	agent_recorder_abandon(&c->recorder);
}

static void init(struct conversation *c)
{
	c->recorder = (struct agent_recorder){.frames = -1, .messages = -1};
	c->line = (struct strbuf)STRBUF_INIT;
	c->steal = STEAL_NONE;
	agent_in_init(&c->from_recorder, NULL, NULL);
	agent_out_init(&c->to_host);
}

static void release(struct conversation *c)
{
	abandon(c);
	agent_in_release(&c->from_recorder);
	agent_out_release(&c->to_host);
	strbuf_release(&c->line);
}

/* Another host has taken the place of this one. */
static void begin_anew(struct conversation *c)
{
	release(c);
	init(c);
	c->greeted = c->has_recorded = false;
}

/* ---- what the host says ---- */

static void hello(struct conversation *c, const struct agent_frame *f, const u8 *body)
{
	struct agent_welcome w = {
		.protocol = AGENT_PROTOCOL,
		.version = PANTRACE_VERSION,
		.realtime_ns = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME),
	};
	struct agent_hello h;
	struct utsname u = {0};
	char why[160];

	memcpy(&h, body, sizeof(h));
	uname(&u);
	snprintf(w.machine, sizeof(w.machine), "%.63s", u.nodename);
	agent_out_mark(&c->to_host, AGENT_MARK_AGENT, c->from_host.nonce);
	if (h.protocol != AGENT_PROTOCOL) {
		snprintf(why, sizeof(why),
			 "the agent is pantrace %s, protocol %u, the host speaks protocol %u: take "
			 "the same pantrace on both sides",
			 PANTRACE_VERSION, AGENT_PROTOCOL, h.protocol);
		refuse(c, why);
		return;
	}
	agent_out_put(&c->to_host, AGENT_WELCOME, &w, sizeof(w), NULL, 0);
	c->greeted = true;
}

static void tell_time(struct conversation *c, const struct agent_frame *f, const u8 *body)
{
	struct agent_clock t;

	memcpy(&t, body, sizeof(t));
	t.received_ns = c->heard_ns;
	t.tsc = clock_count();
	t.ptp = c->ptp >= 0 ? clock_ptp_read(c->ptp) : (struct clock_ptp){0};
	t.answered_ns = clock_now_ns(CLOCK_MONOTONIC);
	agent_out_put(&c->to_host, AGENT_CLOCK, &t, sizeof(t), NULL, 0);
	agent_out_push(&c->to_host, c->out);
}

static void begin(struct conversation *c, const struct agent_frame *f, const u8 *body)
{
	int rc;

	if (c->has_recorded) {
		refuse(c, "it asks for a second recording");
		return;
	}
	if (f->size && body[f->size - 1]) {
		refuse(c, "words without an end");
		return;
	}
	c->has_recorded = true;
	rc = agent_recorder_start(&c->recorder, f->type == AGENT_RUN, (const char *)body, f->size);
	if (rc)
		refuse(c, strerror(-rc));
}

/* When all is on, and when the recording is asked to end, or has ended by itself. */
static void tell_steal(struct conversation *c, enum steal_told next)
{
	struct steal s;

	if (c->steal + 1 != next)
		return;
	c->steal = next;
	steal_read(&s);
	agent_out_put(&c->to_host, AGENT_STEAL, s.ns, s.count * sizeof(*s.ns), NULL, 0);
}

static void stop(struct conversation *c, const struct agent_frame *f, const u8 *body)
{
	tell_steal(c, STEAL_ENDED);
	agent_recorder_stop(&c->recorder);
}

static const struct {
	bool before_greeting;
	void (*take)(struct conversation *c, const struct agent_frame *f, const u8 *body);
} messages[AGENT_TYPES] = {
	[AGENT_HELLO] = {true, hello},	 [AGENT_CLOCK] = {false, tell_time},
	[AGENT_RECORD] = {false, begin}, [AGENT_RUN] = {false, begin},
	[AGENT_STOP] = {false, stop},
};

static void hear_host(struct conversation *c)
{
	struct agent_frame f;
	const u8 *body;
	int rc = agent_in_read(&c->from_host, c->in);

	if (rc < 0)
		leave(c);
	if (rc <= 0)
		return;
	c->heard_ns = clock_now_ns(CLOCK_MONOTONIC);
	while (c->in >= 0 && (rc = agent_in_next(&c->from_host, &f, &body)) && rc != -EPROTO) {
		if (rc < 0)
			begin_anew(c);
		else if (!messages[f.type].take || messages[f.type].before_greeting == c->greeted)
			refuse(c, "a message out of turn");
		else
			messages[f.type].take(c, &f, body);
	}
	if (rc < 0 && c->in >= 0)
		refuse(c, c->from_host.why);
}

/* ---- what the recorder says ---- */

static int hear_output(struct conversation *c)
{
	char text[4096];
	const ssize_t n = read(c->recorder.frames, text, sizeof(text));

	if (n > 0)
		agent_out_put(&c->to_host, AGENT_OUTPUT, text, (size_t)n, NULL, 0);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -EPIPE;
}

static void hear_frames(struct conversation *c)
{
	struct agent_frame f;
	const u8 *body;
	const int rc = c->recorder.is_script ? hear_output(c)
					     : agent_in_read(&c->from_recorder, c->recorder.frames);

	while (agent_in_next(&c->from_recorder, &f, &body) > 0) {
		agent_out_put(&c->to_host, (enum agent_type)f.type, body, f.size, NULL, 0);
		if (f.type == AGENT_BEGUN)
			tell_steal(c, STEAL_BEGUN);
	}
	if (rc >= 0)
		return;
	close(c->recorder.frames);
	c->recorder.frames = -1;
}

/* Complete lines; the last one may lack its newline. */
static void tell_lines(struct conversation *c, bool last)
{
	size_t at = 0;

	while (at < c->line.len) {
		const char *const from = c->line.data + at;
		const char *const end = memchr(from, '\n', c->line.len - at);
		const size_t n =
			MIN(end ? (size_t)(end - from) : c->line.len - at, (size_t)AGENT_TEXT_MOST);

		if (!end && !last && n < AGENT_TEXT_MOST)
			break;
		agent_out_put(&c->to_host, AGENT_TEXT, from, n, NULL, 0);
		at += n + (end == from + n);
	}
	memmove(c->line.data, c->line.data + at, c->line.len - at);
	c->line.len -= at;
}

static void hear_messages(struct conversation *c)
{
	ssize_t n = read(c->recorder.messages, strbuf_reserve(&c->line, 4096), 4096);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->line.len += n > 0 ? (size_t)n : 0;
	tell_lines(c, n <= 0);
	if (n > 0)
		return;
	close(c->recorder.messages);
	c->recorder.messages = -1;
}

static void tell_end(struct conversation *c)
{
	static const char killed[] =
		"WARNING: the recorder was killed: what it had not sent is lost";
	const int code = agent_recorder_end(&c->recorder);
	struct agent_ended ended = {.code = (u32)code};

	if (code >= EXIT_SIGNAL) {
		const struct agent_lost lost = {.uncounted = 1};

		agent_out_put(&c->to_host, AGENT_TEXT, killed, sizeof(killed) - 1, NULL, 0);
		agent_out_put(&c->to_host, AGENT_LOST, &lost, sizeof(lost), NULL, 0);
		ended.code = EXIT_LOST;
	}
	tell_steal(c, STEAL_ENDED);
	agent_out_put(&c->to_host, AGENT_ENDED, &ended, sizeof(ended), NULL, 0);
}

/* ---- the conversation ---- */

static void turn(struct conversation *c, int stop)
{
	const bool full = agent_out_waiting(&c->to_host) >= WAITING_MOST;
	const struct agent_recorder *const r = &c->recorder;
	struct pollfd fds[] = {
		{agent_out_waiting(&c->to_host) < ANSWERS_MOST ? c->in : -1, POLLIN, 0},
		{agent_out_waiting(&c->to_host) ? c->out : -1, POLLOUT, 0},
		{full ? -1 : r->frames, POLLIN, 0},
		{full ? -1 : r->messages, POLLIN, 0},
		{stop, POLLIN, 0},
	};

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return;
	if (fds[0].revents)
		hear_host(c);
	if (fds[2].revents)
		hear_frames(c);
	if (fds[3].revents)
		hear_messages(c);
	if (r->pid && r->frames < 0 && r->messages < 0)
		tell_end(c);
	if (c->out >= 0 && agent_out_push(&c->to_host, c->out))
		leave(c);
	if (fds[4].revents ||
	    fds[1].revents & (POLLHUP | POLLERR)) /* writing to a port never gives EPIPE */
		leave(c);
}

void agent_converse(int in, int out, int stop, bool quiet)
{
	struct conversation c = {
		.in = in, .out = out, .ptp = MAX(clock_ptp_open(), -1), .quiet = quiet};

	agent_in_init(&c.from_host, AGENT_MARK_HOST, NULL);
	init(&c);
	while (c.in >= 0)
		turn(&c, stop);
	release(&c);
	if (c.ptp >= 0)
		close(c.ptp);
	agent_in_release(&c.from_host);
}
