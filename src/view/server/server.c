/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/server/server.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"

enum {
	CONNECTIONS = 32, /* at once */
	TOKEN = 16, /* random bytes */
};
#define REQUEST_NS 10000000000u /* for a request to arrive, and for an answer to make progress */

struct connection {
	int fd; /* -1 = free */
	u64 since_ns; /* when it was accepted, or more of the answer was taken */
	char request[HTTP_REQUEST_MAX];
	size_t len;
	struct strbuf answer;
	size_t sent;
};

struct server {
	server_answer_fn *answer;
	void *arg;
	int listener, epoll;
	int timer; /* each second: drops silent connections */
	bool is_full;
	char host[32]; /* "127.0.0.1:4711" */
	char prefix[2 * TOKEN + 3]; /* "/TOKEN/" */
	char address[96];
	u64 asked_ns; /* the last time that a piece was */
	struct connection connections[CONNECTIONS];
};

/* ---- answers ---- */

static const struct {
	enum http_status status;
	const char *text;
} statuses[] = {
	{HTTP_OK, "OK"},
	{HTTP_BAD, "Bad Request"},
	{HTTP_FORBIDDEN, "Forbidden"},
	{HTTP_NOT_FOUND, "Not Found"},
	{HTTP_METHOD, "Method Not Allowed"},
	{HTTP_TOO_LARGE, "Request Header Fields Too Large"},
	{HTTP_VERSION, "HTTP Version Not Supported"},
};

static const char *status_text(enum http_status status)
{
	size_t i = 0;

	while (statuses[i].status != status)
		i++;
	return statuses[i].text;
}

static void write_answer(struct connection *c, enum http_status status, const char *type,
			 const struct strbuf *body)
{
	strbuf_addf(&c->answer,
		    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "Connection: close\r\nCache-Control: no-store\r\n"
		    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
		    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
		    "Cross-Origin-Opener-Policy: same-origin\r\n\r\n",
		    status, status_text(status), type, body->len);
	strbuf_add(&c->answer, body->data, body->len);
}

static void refuse(struct connection *c, enum http_status status)
{
	struct strbuf body = STRBUF_INIT;

	strbuf_addf(&body, "%s\n", status_text(status));
	write_answer(c, status, "text/plain", &body);
	strbuf_release(&body);
}

/* Takes the same time wherever the texts differ, so that the token cannot be guessed bytewise. */
static bool has_prefix(const char *path, const char *prefix)
{
	const size_t n = strlen(prefix);
	u8 differs = 0;

	if (strlen(path) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (u8)(path[i] ^ prefix[i]);
	return !differs;
}

static enum http_status check(const struct server *s, const struct http_request *r)
{
	if (!str_eq(r->host, s->host) || r->is_foreign)
		return HTTP_FORBIDDEN;
	return has_prefix(r->path, s->prefix) ? HTTP_OK : HTTP_NOT_FOUND;
}

static void answer(struct server *s, struct connection *c, const struct http_request *r)
{
	struct server_answer a = {.type = "application/octet-stream", .body = STRBUF_INIT};
	enum http_status status = check(s, r);

	if (status == HTTP_OK)
		s->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (status == HTTP_OK && !s->answer(s->arg, r->path + strlen(s->prefix), r, &a))
		status = HTTP_NOT_FOUND;
	if (status == HTTP_OK)
		write_answer(c, status, a.type, &a.body);
	else
		refuse(c, status);
	strbuf_release(&a.body);
}

/* ---- connections ---- */

/* If there is no room for more connections they wait, without waking us for a second. */
static void watch_listener(struct server *s, bool is_wanted)
{
	struct epoll_event e = {.events = is_wanted ? EPOLLIN : 0};

	if (s->is_full == is_wanted)
		epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &e);
	s->is_full = !is_wanted;
}

static void drop(struct connection *c)
{
	close(c->fd);
	strbuf_release(&c->answer);
	c->fd = -1;
}

static void watch(struct server *s, struct connection *c, u32 events, int how)
{
	struct epoll_event e = {.events = events, .data.ptr = c};

	if (epoll_ctl(s->epoll, how, c->fd, &e))
		drop(c);
}

/* Silent connections make room. */
static void drop_idle(struct server *s, u64 now)
{
	for (u32 i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0 && now - s->connections[i].since_ns > REQUEST_NS)
			drop(&s->connections[i]);
}

static void send_more(struct server *s, struct connection *c)
{
	while (c->sent < c->answer.len) {
		const ssize_t n = write(c->fd, c->answer.data + c->sent, c->answer.len - c->sent);

		if (n < 0 && errno == EAGAIN) {
			watch(s, c, EPOLLOUT, EPOLL_CTL_MOD);
			return;
		}
		if (n <= 0)
			break;
		c->sent += (size_t)n;
	}
	drop(c);
}

static void receive(struct server *s, struct connection *c, u64 now)
{
	const ssize_t n = read(c->fd, c->request + c->len, sizeof(c->request) - c->len);
	struct http_request r;
	enum http_status status;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->len += (size_t)n;
	status = http_parse(c->request, c->len, &r);
	if (status == HTTP_MORE)
		return;
	c->since_ns = now;
	if (status == HTTP_OK)
		answer(s, c, &r);
	else
		refuse(c, status);
	send_more(s, c);
}

/*
 * A place for one more connection: if none is free, that of the oldest unfinished request. A
 * browser sends its request at once, so other users' silent or slow connections keep nobody out.
 * NULL: all of them are receiving answers.
 */
static struct connection *free_connection(struct server *s)
{
	struct connection *oldest = NULL;

	for (u32 i = 0; i < CONNECTIONS; i++) {
		struct connection *const c = &s->connections[i];

		if (c->fd < 0)
			return c;
		if (!c->answer.len && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	}
	if (oldest)
		drop(oldest);
	return oldest;
}

static void take(struct server *s, struct connection *c, int fd, u64 now)
{
	c->fd = fd;
	c->since_ns = now;
	c->len = c->sent = 0;
	c->answer = (struct strbuf)STRBUF_INIT;
	watch(s, c, EPOLLIN, EPOLL_CTL_ADD);
	if (c->fd >= 0)
		receive(s, c, now); /* before the next one needs room */
}

/* False: no room or descriptors for those that still wait. */
static bool accept_some(struct server *s, u64 now)
{
	for (u32 i = 0; i < CONNECTIONS; i++) {
		const int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *c;

		if (fd < 0)
			return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
		c = free_connection(s);
		if (!c) {
			close(fd);
			return false;
		}
		take(s, c, fd, now);
	}
	return true;
}

void server_step(struct server *s)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	struct epoll_event events[CONNECTIONS];
	u64 seconds;
	const int n = epoll_wait(s->epoll, events, CONNECTIONS, 0);

	for (int i = 0; i < n; i++) {
		struct connection *const c = events[i].data.ptr;

		if (!c || c->fd < 0)
			continue;
		if (c->answer.len) {
			c->since_ns = now;
			send_more(s, c);
		} else {
			receive(s, c, now);
		}
	}
	if (read(s->timer, &seconds, sizeof(seconds)) == sizeof(seconds))
		drop_idle(s, now);
	watch_listener(s, accept_some(s, now));
}

/* ---- the server ---- */

static int listen_here(struct server *s)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct itimerspec second = {{1, 0}, {1, 0}};
	struct epoll_event e = {.events = EPOLLIN};
	socklen_t size = sizeof(at);

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll < 0 || s->listener < 0 || s->timer < 0 ||
	    timerfd_settime(s->timer, 0, &second, NULL) ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->timer, &e) ||
	    bind(s->listener, (const struct sockaddr *)&at, size) ||
	    listen(s->listener, CONNECTIONS) ||
	    getsockname(s->listener, (struct sockaddr *)&at, &size) ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &e))
		return -errno;
	snprintf(s->host, sizeof(s->host), "127.0.0.1:%u", ntohs(at.sin_port));
	return 0;
}

int server_open(server_answer_fn *fn, void *arg, struct server **ret)
{
	struct server *const s = xzalloc(sizeof(*s));
	struct strbuf token = STRBUF_INIT;
	u8 random[TOKEN];
	int rc;

	s->answer = fn;
	s->arg = arg;
	for (u32 i = 0; i < CONNECTIONS; i++)
		s->connections[i].fd = -1;
	rc = listen_here(s);
	if (!rc && getrandom(random, sizeof(random), 0) != sizeof(random))
		rc = -EIO;
	if (rc) {
		server_close(s);
		return rc;
	}
	strbuf_add_hex(&token, random, sizeof(random));
	snprintf(s->prefix, sizeof(s->prefix), "/%s/", token.data);
	snprintf(s->address, sizeof(s->address), "http://%s%s", s->host, s->prefix);
	strbuf_release(&token);
	s->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	*ret = s;
	return 0;
}

void server_close(struct server *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0)
			drop(&s->connections[i]);
	if (s->timer >= 0)
		close(s->timer);
	if (s->listener >= 0)
		close(s->listener);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

void server_announce(const struct server *s, const char *command, u64 idle_ns)
{
	printf("%s\n", s->address);
	fflush(stdout);
	complain(command,
		 "open this address in a browser on this machine; Ctrl-C ends, and so do %.3g s "
		 "without a page",
		 (double)idle_ns / 1e9);
}

int server_fd(const struct server *s)
{
	return s->epoll;
}

u64 server_idle_ns(const struct server *s)
{
	return clock_now_ns(CLOCK_MONOTONIC) - s->asked_ns;
}

int server_run(struct server *s, u64 idle_ns, const bool *done)
{
	struct signalfd_siginfo ended;
	sigset_t ends, before;
	int fd, rc = 0;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	fd = signalfd(-1, &ends, SFD_CLOEXEC);
	if (fd < 0)
		rc = -errno;
	while (!rc && server_idle_ns(s) < idle_ns && !(done && *done)) {
		struct pollfd polled[] = {{.fd = s->epoll, .events = POLLIN},
					  {.fd = fd, .events = POLLIN}};

		if (poll(polled, ARRAY_SIZE(polled), 1000) < 0 && errno != EINTR)
			rc = -errno;
		if (polled[1].revents && read(fd, &ended, sizeof(ended)) == sizeof(ended))
			break;
		server_step(s);
	}
	if (fd >= 0)
		close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
