/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/guests/guest.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "trace/agent/reach.h"
#include "trace/ctf/output.h"
#include "trace/ctf/sink.h"
#include "trace/relay/ctf_relay_connect.h"

#define READS_MOST 64 /* per round, of 64 KiB each: other guests wait */
#define NAMES_MOST 1000 /* of machines with the same name */

/* ---- what a person reads ---- */

static const char *name_of(const struct guest *g)
{
	return g->name ?: g->asked->where;
}

static void say(const struct guest *g, const char *level, const char *text, size_t n)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%s%s: ", level, name_of(g));
	escape_line(&line, text, n);
	strbuf_addch(&line, '\n');
	fputs(line.data, stderr);
	strbuf_release(&line);
}

static void disconnect(struct guest *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	relay_carrier_end(&g->ssh, false);
}

void guest_gone(struct guest *g, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	disconnect(g);
	if (g->state == GUEST_ENDED) /* everything is here */
		return;
	if (g->state < GUEST_ON) {
		diag_error(g->run->diag, NO_SPAN, "%s: %s", name_of(g), text);
	} else if (g->state == GUEST_ON) {
		say(g, "WARNING: ", text, strlen(text));
		fprintf(stderr,
			"WARNING: %s: what came before is there (%" PRIu64
			" bytes); what was on its way is lost, and nobody counted it\n",
			name_of(g), g->files.bytes);
		g->run->damaged++;
	}
	g->state = GUEST_GONE;
}

/* ---- what it says ---- */

static void welcome(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	struct agent_welcome w;

	memcpy(&w, body, sizeof(w));
	if (w.protocol != AGENT_PROTOCOL) {
		guest_gone(g,
			   "its agent speaks protocol %u, this is pantrace %s, which speaks %u: "
			   "take the same pantrace on both sides",
			   w.protocol, PANTRACE_VERSION, AGENT_PROTOCOL);
		return;
	}
	if (!g->name && agent_text(w.machine, sizeof(w.machine)) && ctf_name_is_plain(w.machine))
		g->name = xstrdup(w.machine);
	if (!g->name)
		g->name = xstrdup("guest");
	g->realtime_ns = w.realtime_ns;
	g->state = GUEST_WELCOME;
}

static void refused(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	struct strbuf text = STRBUF_INIT;

	escape_line(&text, (const char *)body, f->size);
	guest_gone(g, "%s", text.data);
	strbuf_release(&text);
}

static void text(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	if (agent_lines_take(&g->lines))
		say(g, "", (const char *)body, f->size);
}

static void file(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	const int err = g->is_full ? 0 : agent_receive(&g->files, f, body);

	if (err == -EPROTO) {
		guest_gone(g, "its agent sent %s", g->files.why);
	} else if (err) {
		fprintf(stderr,
			"ERROR: %s: its recording cannot be written: %s; what came before is "
			"there\n",
			name_of(g), strerror(-err));
		g->is_full = g->run->failed = true;
		g->run->damaged++;
		guest_stop(g);
	}
}

static void begun(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	g->state = GUEST_ON;
}

static void lost(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	memcpy(&g->lost, body, sizeof(g->lost));
}

static void ended(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	struct agent_ended e;

	memcpy(&e, body, sizeof(e));
	g->code = e.code;
	if (g->state < GUEST_ON)
		guest_gone(g, "nothing was recorded there");
	else
		g->state = GUEST_ENDED;
}

/* Which messages may come in which states; any others are refused. */
static const struct {
	enum guest_state from, to;
	void (*take)(struct guest *g, const struct agent_frame *f, const u8 *body);
} messages[AGENT_TYPES] = {
	[AGENT_WELCOME] = {GUEST_CONNECTED, GUEST_CONNECTED, welcome},
	[AGENT_REFUSED] = {GUEST_CONNECTED, GUEST_ON, refused},
	[AGENT_CLOCK] = {GUEST_WELCOME, GUEST_ENDED, guest_clock_answer},
	[AGENT_FILE] = {GUEST_ASKED, GUEST_ON, file},
	[AGENT_WRITE] = {GUEST_ASKED, GUEST_ON, file},
	[AGENT_PACK] = {GUEST_ASKED, GUEST_ON, file},
	[AGENT_TEXT] = {GUEST_ASKED, GUEST_ON, text},
	[AGENT_BEGUN] = {GUEST_ASKED, GUEST_ASKED, begun},
	[AGENT_LOST] = {GUEST_ON, GUEST_ON, lost},
	[AGENT_STEAL] = {GUEST_ON, GUEST_ON, guest_steal},
	[AGENT_ENDED] = {GUEST_ASKED, GUEST_ON, ended},
};

static void take_all(struct guest *g)
{
	struct agent_frame f;
	const u8 *body;
	int rc = 0;

	while (g->state < GUEST_GONE && (rc = agent_in_next(&g->in, &f, &body)) > 0) {
		if (messages[f.type].take && g->state >= messages[f.type].from &&
		    g->state <= messages[f.type].to)
			messages[f.type].take(g, &f, body);
		else
			guest_gone(g, "its agent sent a message out of turn");
	}
	if (rc < 0 && g->state < GUEST_GONE)
		guest_gone(g, "its agent sent %s", g->in.why);
}

/* ---- the connection ---- */

static void heard(struct guest *g)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (g->is_silent)
		fprintf(stderr, "%s answers again, after %.1f s\n", g->name,
			(double)(now - g->heard_ns) / 1e9);
	g->is_silent = false;
	g->heard_ns = now;
}

static void read_some(struct guest *g)
{
	int rc = 1;

	for (u32 i = 0; i < READS_MOST && rc > 0 && g->fd >= 0; i++) {
		rc = agent_in_read(&g->in, g->fd);
		if (rc <= 0)
			break;
		heard(g);
		take_all(g);
	}
	if (rc == -EPIPE || rc == -ECONNRESET)
		guest_gone(g, "the connection has ended");
	else if (rc < 0)
		guest_gone(g, "the connection broke: %s", strerror(-rc));
}

int guest_pump(struct guest *g, int wait_ms)
{
	struct pollfd p = {.fd = g->fd, .events = POLLIN};
	int ready, rc;

	if (g->fd < 0)
		return 0;
	if (agent_out_waiting(&g->out))
		p.events |= POLLOUT;
	ready = poll(&p, 1, wait_ms);
	if (ready < 0)
		return -errno;
	rc = agent_out_push(&g->out, g->fd);
	if (ready &&
	    (p.revents & ~POLLOUT)) /* before the broken pipe is reported: it may have said why */
		read_some(g);
	if (rc && g->state < GUEST_GONE)
		guest_gone(g, "the connection broke: %s", strerror(-rc));
	return ready > 0;
}

/*
 * As long as something comes, but for the greeting: who is no agent may send anything, slowly. 0;
 * -EINTR: more than `signals` have asked for the end.
 */
static int wait_for(struct guest *g, enum guest_state state, u32 most_ms, u32 signals)
{
	u64 since = clock_now_ms(CLOCK_MONOTONIC);

	while (g->state < state) {
		const u64 before = g->heard_ns;

		guest_pump(g, 100);
		if (state == GUEST_ON) /* whoever answers is alive, but may begin late */
			guest_clock_round(g);
		if (record_end_asked() > signals)
			return -EINTR;
		if (g->heard_ns != before && g->state > GUEST_CONNECTED)
			since = clock_now_ms(CLOCK_MONOTONIC);
		if (clock_now_ms(CLOCK_MONOTONIC) - since > most_ms)
			guest_gone(g, "its agent does not answer");
	}
	return 0;
}

int guest_wait(struct guest *g, enum guest_state state, u32 most_ms)
{
	const int rc = wait_for(g, state, most_ms, 0);

	if (rc)
		diag_error(g->run->diag, NO_SPAN, "%s: interrupted before it had begun",
			   name_of(g));
	return rc ?: g->state == GUEST_GONE ? -EIO : 0;
}

void guest_wait_end(struct guest *g, u32 most_ms)
{
	if (wait_for(g, GUEST_ENDED, most_ms, record_end_asked()))
		guest_gone(g, "it had not sent everything when a second signal came");
}

int guest_open(struct guest *g, struct record_run *run, const struct record_guest *asked)
{
	const struct agent_hello hello = {.protocol = AGENT_PROTOCOL, .version = PANTRACE_VERSION};
	const char *way;

	*g = (struct guest){.asked = asked,
			    .run = run,
			    .fd = -1,
			    .parent = -1,
			    .directory = -1,
			    .clock.file = -1};
	g->name = agent_way_name(asked->where, &way);
	g->is_tracecmd = agent_is_tracecmd(way);
	if (getrandom(&g->nonce, sizeof(g->nonce), 0) < 0)
		g->nonce = clock_now_ns(CLOCK_MONOTONIC);
	agent_in_init(&g->in, AGENT_MARK_AGENT, &g->nonce);
	agent_out_init(&g->out);
	g->fd = agent_reach(way, asked->words, asked->count, run->diag, &g->ssh);
	if (g->fd < 0)
		return g->fd;
	g->process = agent_process(g->fd);
	agent_out_mark(&g->out, AGENT_MARK_HOST, g->nonce);
	agent_out_put(&g->out, AGENT_HELLO, &hello, sizeof(hello), NULL, 0);
	return 0;
}

/* ---- its directory ---- */

/* What other sources may yet make beside it: a machine can call itself anything. */
static bool is_reserved(const char *name)
{
	static const char *const files[] = {"trace.dat", "perf.data", "state.ndjson"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (str_eq(name, files[i]))
			return true;
	return str_starts(name, "chunk-");
}

static int make_named(struct guest *g)
{
	char *const name = g->name;

	if (is_reserved(name))
		g->name = xasprintf("machine-%s", name);
	for (u32 i = 2; mkdirat(g->parent, g->name, 0700); i++) {
		if (errno != EEXIST || i > NAMES_MOST)
			return -errno;
		if (g->name != name)
			free(g->name);
		g->name = xasprintf("%s-%u", name, i);
	}
	if (g->name != name)
		free(name);
	g->directory = directory_make(g->parent, g->name);
	return MIN(g->directory, 0);
}

int guest_make_directory(struct guest *g)
{
	int err;

	g->parent = ctf_directory_open(g->run->directory, g->run->diag);
	if (g->parent < 0)
		return g->parent;
	err = make_named(g) ?: guest_clock_begin(g);
	if (err)
		diag_error(g->run->diag, NO_SPAN, "cannot write into %s/%s: %s", g->run->directory,
			   g->name, strerror(-err));
	agent_receiver_init(&g->files, g->directory);
	return err;
}

void guest_record(struct guest *g)
{
	struct strbuf words = STRBUF_INIT;

	for (u32 i = 0; i < g->asked->count; i++)
		strbuf_add(&words, g->asked->words[i], strlen(g->asked->words[i]) + 1);
	if (g->run->request->quiet)
		strbuf_add(&words, "-q", sizeof("-q"));
	agent_out_put(&g->out, AGENT_RECORD, NULL, 0, words.data, words.len);
	strbuf_release(&words);
	g->state = GUEST_ASKED;
}

void guest_stop(struct guest *g)
{
	if (g->is_stopped || g->state < GUEST_ASKED || g->state >= GUEST_ENDED)
		return;
	g->is_stopped = true;
	agent_out_put(&g->out, AGENT_STOP, NULL, 0, NULL, 0);
}

void guest_undo(struct guest *g)
{
	if (g->directory < 0)
		return;
	agent_receiver_undo(&g->files);
	unlinkat(g->directory, CLOCK_FILE, 0);
	unlinkat(g->parent, g->name, AT_REMOVEDIR);
	close(g->directory);
	g->directory = -1;
}

void guest_release(struct guest *g)
{
	const int fds[] = {g->clock.file, g->directory, g->parent};

	disconnect(g);
	agent_receiver_release(&g->files);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	agent_in_release(&g->in);
	agent_out_release(&g->out);
	free(g->steal);
	free(g->name);
}
