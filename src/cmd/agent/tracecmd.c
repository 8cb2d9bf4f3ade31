/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One host that is `trace-cmd record -A`. Our recorder is told to write a trace.dat of version 6,
 * without compression: its head is what trace-cmd wants first, and what is then added to the range
 * of a CPU are that CPU's pages. While the host does not take them, the recorder waits, and the
 * rings that it empties count what they cannot hold.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/clock.h"
#include "cmd/agent/agent.h"
#include "trace/agent/frames.h"
#include "trace/dat/writer.h"
#include "trace/tracecmd/sync.h"

#define ANSWER_MS    10000
#define BEGIN_MS     120000 /* an emulated machine that reads all its formats */
#define END_MS	     120000 /* one that compares clocks for the last time */
#define WAITING_MOST (1u << 20) /* bytes for the host before the recorder is let wait */
#define TAG	     "flyrecord" /* behind it stand {u64 begin, size} of each CPU */

struct cpu {
	u64 next; /* where in the file its next page goes; 0 = it has none */
	int fd; /* listens, then takes its pages; -1 = the host has closed it */
	struct strbuf waiting;
};

struct host {
	u32 peer; /* its CID */
	struct tracecmd_stream control, clock;
	struct agent_recorder recorder;
	struct agent_in frames;
	u32 file; /* number of the trace.dat */
	struct strbuf head;
	size_t table; /* in the head: where the CPUs' places stand; 0 = it is not whole */
	struct cpu *cpus;
	u32 count;
	bool has_begun;
	bool compares; /* clocks, by the way that we know */
	pthread_t compared;
};

static void gone_wrong(const char *what, int err)
{
	if (err == -ECANCELED)
		return;
	complain("agent", "the host of trace-cmd: %s: %s", what,
		 err == -EPROTO ? "this is none of its messages" : strerror(-err));
}

/* ---- what it asks for ---- */

/* Its clock is another than ours, which is compared with it; but it has to count nanoseconds. */
static bool is_clock_of_ns(const char *name)
{
	return !str_eq(name, "x86-tsc") && !str_eq(name, "counter") && !str_eq(name, "uptime");
}

/* The words of our recorder. False: it cannot have that. */
static bool take_words(const struct tracecmd_request *r, struct strbuf *words)
{
	static const char first[] = "--v6\0--no-state";

	strbuf_add(words, first, sizeof(first));
	for (size_t i = 0; i < r->words.len; i++) {
		const char *const word = r->words.items[i];

		if (str_eq(word, "-C") && i + 1 < r->words.len) {
			if (!is_clock_of_ns(r->words.items[++i])) {
				complain("agent",
					 "a host of trace-cmd wants the clock %s: -C mono there",
					 r->words.items[i]);
				return false;
			}
			continue;
		}
		strbuf_add(words, word, strlen(word) + 1);
	}
	return true;
}

static int begin(struct host *h)
{
	struct strbuf words = STRBUF_INIT;
	struct tracecmd_request r = {0};
	struct tracecmd_message m;
	int err = tracecmd_read(&h->control, ANSWER_MS, &m) ?: tracecmd_request_parse(&m, &r);

	if (err)
		gone_wrong("what it asks for", err);
	else if (!take_words(&r, &words))
		err = -ENOTSUP;
	else
		err = agent_recorder_start(&h->recorder, false, words.data, words.len);
	for (size_t i = 0; i < r.ways.len; i++)
		h->compares |= str_eq(r.ways.items[i], TRACECMD_PTP);
	tracecmd_request_release(&r);
	strbuf_release(&words);
	return err;
}

/* ---- what the recorder writes ---- */

static bool find_table(struct host *h)
{
	const size_t n = sizeof(TAG);
	const char *const text = h->head.data;

	for (size_t at = h->head.len; at >= n && !h->table; at--)
		if (!memcmp(text + at - n, TAG, n))
			h->table = at;
	return h->table && h->table < h->head.len;
}

static void take_place(struct host *h, u64 at, const u8 *slot, size_t n)
{
	u64 place[2];
	const u64 cpu = (at - h->table) / sizeof(place);

	if (n != sizeof(place) || at < h->table || cpu >= h->count)
		return;
	memcpy(place, slot, sizeof(place));
	if (!place[1])
		h->cpus[cpu].next = place[0];
}

static void take_bytes(struct host *h, u64 at, const u8 *bytes, size_t n)
{
	if (!h->table && at == h->head.len) {
		strbuf_add(&h->head, bytes, n);
		return;
	}
	if (!h->table && find_table(h)) {
		h->count = (u32)MIN((h->head.len - h->table) / 16, (size_t)TRACECMD_CPUS_MOST);
		h->cpus = xzalloc(h->count * sizeof(*h->cpus));
		for (u32 i = 0; i < h->count; i++)
			h->cpus[i] = (struct cpu){.fd = -1, .waiting = STRBUF_INIT};
	}
	if (at < h->head.len)
		take_place(h, at, bytes, n);
	for (u32 i = 0; at >= h->head.len && i < h->count; i++) {
		struct cpu *const c = &h->cpus[i];

		if (c->next != at)
			continue;
		c->next += n;
		strbuf_add(&c->waiting, bytes, n);
		return;
	}
}

static void take_frame(struct host *h, const struct agent_frame *f, const u8 *body)
{
	static const char name[] = "trace.dat";
	struct agent_file file;
	struct agent_write w;

	if (f->type == AGENT_BEGUN) {
		h->has_begun = true;
	} else if (f->type == AGENT_FILE) {
		memcpy(&file, body, sizeof(file));
		if (f->size == sizeof(file) + strlen(name) &&
		    !memcmp(body + sizeof(file), name, strlen(name)))
			h->file = file.number;
	} else if (f->type == AGENT_WRITE) {
		memcpy(&w, body, sizeof(w));
		if (w.number == h->file)
			take_bytes(h, w.at, body + sizeof(w), f->size - sizeof(w));
	}
}

static void hear_recorder(struct host *h)
{
	struct agent_frame f;
	const u8 *body;
	const int rc = agent_in_read(&h->frames, h->recorder.frames);

	while (agent_in_next(&h->frames, &f, &body) > 0)
		take_frame(h, &f, body);
	if (rc >= 0)
		return;
	close(h->recorder.frames);
	h->recorder.frames = -1;
}

/* ---- what the host gets ---- */

/* A port of vsock that is free: a socket that listens, or -errno. */
static int listen_anywhere(u32 *ret_port)
{
	struct sockaddr_vm a = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = VMADDR_PORT_ANY};
	socklen_t size = sizeof(a);
	const int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&a, size) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&a, &size)) {
		const int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	*ret_port = a.svm_port;
	return fd;
}

/* The host's connection takes the place of what listened. 0 or -errno. */
static int take_connection(const struct host *h, int *fd)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	struct pollfd fds[] = {{*fd, POLLIN, 0}, {h->control.stop, POLLIN, 0}};
	struct sockaddr_vm peer = {0};
	socklen_t size = sizeof(peer);
	int found = -1;

	while (found < 0 && clock_now_ms(CLOCK_MONOTONIC) < until) {
		if (clock_poll(fds, ARRAY_SIZE(fds), 100) > 0 && fds[1].revents)
			return -ECANCELED;
		if (fds[0].revents)
			found = accept4(*fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
		if (found >= 0 && peer.svm_cid != h->peer) {
			close(found);
			found = -1;
		}
	}
	if (found < 0)
		return -ETIMEDOUT;
	close(*fd);
	*fd = found;
	return 0;
}

static int wait_until_begun(struct host *h)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + BEGIN_MS;
	char text[4096];
	ssize_t n;

	while (!h->has_begun && h->recorder.frames >= 0) {
		struct pollfd fds[] = {{h->recorder.frames, POLLIN, 0},
				       {h->recorder.messages, POLLIN, 0},
				       {h->control.stop, POLLIN, 0}};

		if (clock_now_ms(CLOCK_MONOTONIC) > until)
			return -ETIMEDOUT;
		if (clock_poll(fds, ARRAY_SIZE(fds), 1000) > 0 && fds[2].revents)
			break;
		if (fds[1].revents && (n = read(h->recorder.messages, text, sizeof(text))) > 0)
			fwrite(text, 1, (size_t)n, stderr);
		if (fds[0].revents)
			hear_recorder(h);
	}
	return h->has_begun && h->count ? 0 : -ECANCELED;
}

static void *be_compared(void *arg)
{
	tracecmd_be_compared(arg);
	return NULL;
}

/* Where it is to connect to. */
static int answer(struct host *h)
{
	struct tracecmd_response r = {.page_size = (u32)sysconf(_SC_PAGESIZE),
				      .cpu_count = h->count};

	if (h->compares) {
		strcpy(r.way, TRACECMD_PTP);
		h->clock.fd = listen_anywhere(&r.way_port);
		if (h->clock.fd < 0)
			return h->clock.fd;
	}
	for (u32 i = 0; i < h->count; i++) {
		h->cpus[i].fd = listen_anywhere(&r.ports[i]);
		if (h->cpus[i].fd < 0)
			return h->cpus[i].fd;
	}
	return tracecmd_response_write(&h->control, &r);
}

/* The head without the places of the CPUs: they are the host's own. */
static int send_head(struct host *h)
{
	const size_t n = h->table - sizeof(TAG);
	int err = 0;

	for (size_t at = 0; at < n && !err; at += TRACECMD_DATA_MOST)
		err = tracecmd_write(&h->control, TRACECMD_SEND_DATA, NULL, h->head.data + at,
				     MIN(n - at, (size_t)TRACECMD_DATA_MOST));
	return err ?: tracecmd_write(&h->control, TRACECMD_FIN_DATA, NULL, NULL, 0);
}

static int take_connections(struct host *h)
{
	int err = 0;

	for (u32 i = 0; i < h->count && !err; i++) {
		err = take_connection(h, &h->cpus[i].fd);
		if (!err)
			fcntl(h->cpus[i].fd, F_SETFL, O_NONBLOCK);
	}
	return err;
}

/* ---- the run ---- */

static void push(struct cpu *c)
{
	const ssize_t n = send(c->fd, c->waiting.data, c->waiting.len, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close(c->fd);
		c->fd = -1;
	}
	if (n > 0) {
		c->waiting.len -= (size_t)n;
		memmove(c->waiting.data, c->waiting.data + n, c->waiting.len);
	}
	if (c->fd < 0)
		c->waiting.len = 0;
}

static size_t waiting(const struct host *h)
{
	size_t sum = 0;

	for (u32 i = 0; i < h->count; i++)
		sum += h->cpus[i].waiting.len;
	return sum;
}

static void hear_messages(struct host *h)
{
	char text[4096];
	const ssize_t n = read(h->recorder.messages, text, sizeof(text));

	if (n > 0) {
		fwrite(text, 1, (size_t)n, stderr);
	} else if (!n || (errno != EAGAIN && errno != EINTR)) {
		close(h->recorder.messages);
		h->recorder.messages = -1;
	}
}

static int hear_host(struct host *h)
{
	struct tracecmd_message m;
	const int err = tracecmd_read(&h->control, ANSWER_MS, &m);

	if (!err && m.type == TRACECMD_CLOSE)
		agent_recorder_stop(&h->recorder);
	return err ? -EPIPE : 0;
}

/* Until everything that was recorded is sent. 0; -EPIPE: the host has gone; -ECANCELED. */
static int pump(struct host *h)
{
	struct pollfd *const fds = xreallocarray(NULL, h->count + 4, sizeof(*fds));
	int err = 0;

	while (!err && (h->recorder.frames >= 0 || h->recorder.messages >= 0 || waiting(h))) {
		const bool full = waiting(h) >= WAITING_MOST;

		fds[0] = (struct pollfd){h->control.fd, POLLIN, 0};
		fds[1] = (struct pollfd){h->control.stop, POLLIN, 0};
		fds[2] = (struct pollfd){full ? -1 : h->recorder.frames, POLLIN, 0};
		fds[3] = (struct pollfd){h->recorder.messages, POLLIN, 0};
		for (u32 i = 0; i < h->count; i++)
			fds[4 + i] = (struct pollfd){h->cpus[i].waiting.len ? h->cpus[i].fd : -1,
						     POLLOUT, 0};
		clock_poll(fds, h->count + 4, -1);
		if (fds[0].revents)
			err = hear_host(h);
		if (fds[1].revents)
			err = -ECANCELED;
		if (fds[2].revents)
			hear_recorder(h);
		if (fds[3].revents)
			hear_messages(h);
		for (u32 i = 0; i < h->count; i++)
			if (h->cpus[i].waiting.len)
				push(&h->cpus[i]);
	}
	free(fds);
	return err;
}

/* ---- the conversation ---- */

static int open_all(struct host *h, bool *ret_is_compared)
{
	int err = wait_until_begun(h) ?: answer(h);

	if (!err && h->compares)
		err = take_connection(h, &h->clock.fd);
	if (!err && h->compares)
		*ret_is_compared = !pthread_create(&h->compared, NULL, be_compared, &h->clock);
	return err ?: send_head(h) ?: take_connections(h);
}

/*
 * It is the host that goes: trace-cmd compares clocks once more after CLOSE, and dies of SIGPIPE if
 * it cannot.
 */
static void finish(struct host *h)
{
	struct tracecmd_message m;

	agent_recorder_end(&h->recorder);
	for (u32 i = 0; i < h->count; i++)
		if (h->cpus[i].fd >= 0)
			shutdown(h->cpus[i].fd, SHUT_WR);
	tracecmd_write(&h->control, TRACECMD_CLOSE_RESP, NULL, NULL, 0);
	while (!tracecmd_read(&h->control, END_MS, &m))
		;
}

static void release(struct host *h)
{
	for (u32 i = 0; i < h->count; i++) {
		if (h->cpus[i].fd >= 0)
			close(h->cpus[i].fd);
		strbuf_release(&h->cpus[i].waiting);
	}
	if (h->clock.fd >= 0)
		close(h->clock.fd);
	free(h->cpus);
	agent_in_release(&h->frames);
	strbuf_release(&h->head);
}

void agent_converse_tracecmd(int fd, u32 peer, int stop, bool quiet)
{
	struct host *const h = xzalloc(sizeof(*h)); /* as large as its messages */
	bool is_compared = false;
	int err;

	*h = (struct host){.peer = peer,
			   .control = {.fd = fd, .stop = stop},
			   .clock = {.fd = -1, .stop = stop},
			   .recorder = {.frames = -1, .messages = -1},
			   .head = STRBUF_INIT};
	agent_in_init(&h->frames, NULL, NULL);
	err = begin(h);
	if (!err) {
		err = open_all(h, &is_compared);
		if (err)
			gone_wrong("it is not recorded for it", err);
		err = err ?: pump(h);
	}
	if (!err) {
		finish(h);
	} else if (h->recorder.pid) {
		if (!quiet && h->has_begun && err == -EPIPE)
			complain("agent", "the host has gone: its recording ends");
		agent_recorder_abandon(&h->recorder);
	}
	if (is_compared) {
		shutdown(h->clock.fd, SHUT_RDWR); /* if it has not been stopped */
		pthread_join(h->compared, NULL);
	}
	release(h);
	free(h);
}
