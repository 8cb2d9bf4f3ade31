/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace relay: takes what recorders elsewhere send, and writes one trace for each host. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/foreign.h"
#include "base/listen.h"
#include "base/options.h"
#include "cmd/record/relay.h"
#include "trace/relay/relay.h"

#define PEERS_MAX   512
#define SOURCE_MAX  (PEERS_MAX / 2) /* per machine; per user of this machine */
#define PEERS_MANY  (PEERS_MAX / 4 * 3) /* from here on places are short */
#define GREETING_MS 10000 /* of silence before a recorder has introduced itself */
#define HURRY_MS    1000 /* the same if places are scarce */
#define STALLED_MS  60000 /* in the middle of a message, or if answers are not read */
#define LOOK_MS	    1000
#define CHUNK	    4096 /* what a pipe takes that poll() calls writable */

struct arguments {
	const char *listen;
	bool stdio, insecure, quiet;
	u64 max_bytes, max_traces;
};

static const struct option_spec options[] = {
	{0, "stdio", NULL, "serve one recorder on standard input and output, as ssh runs it",
	 OPTION_FLAG, offsetof(struct arguments, stdio)},
	{'l', "listen", "WHERE", "serve many: unix:SOCKET, or tcp:127.0.0.1:PORT", OPTION_STRING,
	 offsetof(struct arguments, listen)},
	{0, "insecure-listen", NULL,
	 "allow --listen on an address that other machines reach: nothing is encrypted, nobody is "
	 "asked who he is",
	 OPTION_FLAG, offsetof(struct arguments, insecure)},
	{0, "max-bytes", "N", "refuse more than N bytes on disk from one session of a host",
	 OPTION_U64, offsetof(struct arguments, max_bytes)},
	{0, "max-traces", "N", "refuse more than N processes of a session at a time (1024)",
	 OPTION_U64, offsetof(struct arguments, max_traces)},
	{'q', "quiet", NULL, "say nothing of hosts that come and go", OPTION_FLAG,
	 offsetof(struct arguments, quiet)},
	{0},
};

static const struct command_spec spec = {
	.name = "relay",
	.synopsis = "--stdio DIRECTORY | --listen WHERE DIRECTORY",
	.summary = "receive recordings of other machines",
	.examples =
		"pantrace record -u 'app:*' --to ssh://me@store/traces  # runs the relay there by "
		"itself\n"
		"pantrace record -e sched -d 10 --to ssh://me@store/traces  # the kernel's, too\n"
		"pantrace relay --listen unix:/run/relay.sock /srv/traces  # for many hosts, "
		"behind stunnel\n"
		"pantrace relay --listen tcp:127.0.0.1:7070 --max-bytes 10000000000 /srv/traces\n"
		"pantrace report --live /srv/traces                        # what arrives\n",
	.details = "Each session of a host gets a directory named after the host (HOST-2 and so "
		   "on for further ones). It has a CTF trace for each process, and the files of "
		   "kernel events and samples, if these are recorded. Nothing is written outside "
		   "DIRECTORY. If the connection breaks, the recorder reconnects and continues "
		   "where the relay's files end; nothing is lost as long as the rings of the "
		   "programs, or of the kernel, have room. A recorder of kernel events gives up "
		   "after 20 seconds without a relay.\n\n"
		   "A connection is closed if it says nothing for 10 seconds (1 if the relay is "
		   "nearly full), or stops within a message for 60. The relay takes 512 "
		   "connections; one machine, or one user of the relay's own machine, gets at "
		   "most half of them.\n\n"
		   "The relay has no keys and no passwords of its own. Between machines use ssh "
		   "(--to ssh://), or put a TLS terminator that verifies client certificates in "
		   "front: stunnel with accept = 7443, connect = /run/relay.sock, verifyPeer = "
		   "yes and CAfile = the clients' certificates; on each client stunnel with "
		   "client = yes, accept = 127.0.0.1:7070, connect = STORE:7443, its cert, and "
		   "verifyPeer = yes; recorders then use --to tcp:127.0.0.1:7070. Any user of a "
		   "machine can connect to its loopback port; only its owner can connect to a "
		   "Unix socket.",
	.options = options,
};

/* Whose places are counted together. */
struct sender {
	struct in_addr address; /* 0 = none: a socket with a name, or ssh */
	uid_t user; /* of this machine; -1 = of another, or not known */
};

struct connection {
	int in, out;
	struct sender source;
	struct relay_peer *peer;
	bool ending, greeted;
	u64 heard_ms; /* when it last sent or took something */
};

struct server {
	const struct arguments *arguments;
	struct relay relay;
	int listening; /* -1: --stdio */
	const char *path; /* of a Unix socket, to be removed */
	struct connection connections[PEERS_MAX];
	size_t count;
	bool told_many; /* a sender that has too many connections was reported */
	sigset_t mask; /* while waiting, so that no signal is missed */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

/* ---- where to listen ---- */

static int listen_tcp(const char *where, bool insecure)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strrchr(where, ':');
	char *host = xstrndup(where, colon ? (size_t)(colon - where) : 0), *end = NULL;
	const long port = colon ? strtol(colon + 1, &end, 10) : -1;
	const bool good = inet_pton(AF_INET, host, &address.sin_addr) == 1 && end && !*end &&
			  port >= 0 && port < 65536;
	const int on = 1;
	int fd, rc;

	free(host);
	if (!good)
		return -EINVAL;
	if (ntohl(address.sin_addr.s_addr) >> 24 != 127 && !insecure)
		return -EPERM;
	address.sin_port = htons((u16)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 64))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int listen_any(struct server *s)
{
	const char *where = s->arguments->listen;
	int fd = -EINVAL;

	if (str_starts(where, "unix:")) {
		fd = listen_unix(where + 5);
		s->path = fd >= 0 ? where + 5 : NULL;
	} else if (str_starts(where, "tcp:")) {
		fd = listen_tcp(where + 4, s->arguments->insecure);
	}
	if (fd == -EINVAL)
		return options_usage_error(&spec, "'%s': unix:SOCKET or tcp:ADDRESS:PORT is meant",
					   where);
	if (fd == -EPERM && str_starts(where, "tcp:"))
		return options_usage_error(&spec,
					   "'%s' is reached from other machines, and nothing would "
					   "be encrypted; listen on loopback behind "
					   "stunnel, or give --insecure-listen",
					   where);
	if (fd < 0) {
		complain("relay", "cannot listen at %s: %s", where, strerror(-fd));
		return EXIT_FAILED;
	}
	s->listening = fd;
	return 0;
}

/* ---- who it is ---- */

/*
 * Of the other end of a connection within this machine, by sock_diag(7). -1: the kernel does not
 * say.
 */
static uid_t user_of(const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head = {sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
		.body = {.sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX,
			 .id = {.idiag_sport = peer->sin_port,
				.idiag_dport = own->sin_port,
				.idiag_src = {peer->sin_addr.s_addr},
				.idiag_dst = {own->sin_addr.s_addr},
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		char rest[1024];
	} answer;
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uid_t user = (uid_t)-1;

	if (fd < 0)
		return user;
	if (send(fd, &request, sizeof(request), 0) == sizeof(request) &&
	    recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) >=
		    (ssize_t)(sizeof(answer.head) + sizeof(answer.body)) &&
	    answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    /* not the socket that listens at that port */
	    answer.body.id.idiag_dport == own->sin_port)
		user = answer.body.idiag_uid;
	close(fd);
	return user;
}

static struct sender source_of(int fd)
{
	struct sockaddr_in peer, own;
	socklen_t peer_size = sizeof(peer), own_size = sizeof(own);
	struct sender source = {.user = (uid_t)-1};

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) || peer.sin_family != AF_INET ||
	    getsockname(fd, (struct sockaddr *)&own, &own_size))
		return source;
	source.address = peer.sin_addr;
	source.user = user_of(&peer, &own);
	/* this machine, by whichever of its addresses */
	if (source.user != (uid_t)-1 || ntohl(peer.sin_addr.s_addr) >> 24 == 127)
		source.address.s_addr = htonl(INADDR_LOOPBACK);
	return source;
}

static bool has_too_many(struct server *s, const struct sender *source)
{
	char address[INET_ADDRSTRLEN] = "";
	size_t held = 0;

	for (size_t i = 0; i < s->count; i++)
		held += s->connections[i].source.address.s_addr == source->address.s_addr &&
			s->connections[i].source.user == source->user;
	if (!source->address.s_addr || held < SOURCE_MAX)
		return false;
	inet_ntop(AF_INET, &source->address, address, sizeof(address));
	if (!s->told_many && source->user != (uid_t)-1)
		complain("relay", "user %u here holds %u places; more are refused",
			 (unsigned int)source->user, SOURCE_MAX);
	else if (!s->told_many)
		complain("relay", "%s holds %u places; more are refused", address, SOURCE_MAX);
	s->told_many = true;
	return true;
}

/* ---- connections ---- */

static void connection_add(struct server *s, int in, int out, struct sender source)
{
	s->connections[s->count++] = (struct connection){.in = in,
							 .out = out,
							 .source = source,
							 .peer = relay_peer_new(&s->relay),
							 .heard_ms = clock_now_ms(CLOCK_MONOTONIC)};
}

static void connection_drop(struct server *s, size_t i)
{
	struct connection *c = &s->connections[i];
	const char *name = relay_peer_name(c->peer), *complaint = relay_peer_complaint(c->peer);

	if (*complaint)
		complain("relay", "%s%s%s", name, *name ? ": " : "", complaint);
	else if (*name && !s->arguments->quiet && s->listening >= 0)
		complain("relay", "%s: end", name);
	relay_peer_free(c->peer);
	close(c->in);
	if (c->out != c->in)
		close(c->out);
	*c = s->connections[--s->count];
}

static void accept_all(struct server *s)
{
	while (s->count < PEERS_MAX) {
		const int fd = accept4(s->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct sender source;

		if (fd < 0)
			return;
		source = source_of(fd);
		if (has_too_many(s, &source))
			close(fd);
		else
			connection_add(s, fd, fd, source);
	}
}

/* Returns false if the connection is over. */
static bool answers_send(struct connection *c)
{
	struct strbuf *out = relay_peer_out(c->peer);

	/* standard output may be shared and block: writes only what it takes at once */
	while (out->len) {
		struct pollfd p = {.fd = c->out, .events = POLLOUT};
		ssize_t n;

		if (poll(&p, 1, 0) <= 0)
			return true;
		n = write(c->out, out->data, MIN(out->len, (size_t)CHUNK));
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c->heard_ms = clock_now_ms(CLOCK_MONOTONIC);
		memmove(out->data, out->data + n, out->len - (size_t)n);
		out->len -= (size_t)n;
	}
	return !c->ending;
}

/* Returns false if the connection is over. */
static bool connection_serve(struct server *s, struct connection *c)
{
	static char data[65536];
	const ssize_t n = c->ending ? 0 : read(c->in, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return answers_send(c);
	if (n <= 0)
		c->ending = true;
	else
		c->ending = relay_peer_feed(c->peer, data, (size_t)n);
	c->heard_ms = clock_now_ms(CLOCK_MONOTONIC);
	if (!c->greeted && *relay_peer_name(c->peer)) {
		c->greeted = true;
		if (!s->arguments->quiet && s->listening >= 0)
			complain("relay", "%s: connected", relay_peer_name(c->peer));
	}
	return answers_send(c);
}

/*
 * Whether it was silent for too long. A recorder that has introduced itself may have nothing to
 * send for hours; when all places are taken it is disconnected after a while, and reconnects when
 * it has.
 */
static bool is_silent(const struct server *s, const struct connection *c, u64 now)
{
	const u64 silence = now - c->heard_ms;

	if (!relay_peer_greeted(c->peer))
		return silence >= (s->count >= PEERS_MANY ? HURRY_MS : GREETING_MS);
	return silence >= STALLED_MS && (c->ending || relay_peer_amid(c->peer) ||
					 relay_peer_out(c->peer)->len || s->count == PEERS_MAX);
}

static void drop_silent(struct server *s)
{
	const u64 now = clock_now_ms(CLOCK_MONOTONIC);

	/* backwards: dropping one moves the last one into its place */
	for (size_t i = s->count; i-- > 0;)
		if (is_silent(s, &s->connections[i], now)) {
			if (!s->arguments->quiet)
				complain("relay", "%s: silent, closed",
					 *relay_peer_name(s->connections[i].peer)
						 ? relay_peer_name(s->connections[i].peer)
						 : "a connection without a greeting");
			connection_drop(s, i);
		}
}

static void serve(struct server *s)
{
	const struct timespec look = {LOOK_MS / 1000, LOOK_MS % 1000 * 1000000};

	while (!interrupted && (s->listening >= 0 || s->count)) {
		struct pollfd polls[PEERS_MAX * 2 + 1];
		size_t n = 0;
		int ready;

		for (size_t i = 0; i < s->count; i++) {
			const struct connection *c = &s->connections[i];

			polls[n++] = (struct pollfd){.fd = c->in, .events = c->ending ? 0 : POLLIN};
			polls[n++] =
				(struct pollfd){.fd = relay_peer_out(c->peer)->len ? c->out : -1,
						.events = POLLOUT};
		}
		polls[n] = (struct pollfd){.fd = s->count < PEERS_MAX ? s->listening : -1,
					   .events = POLLIN};
		ready = ppoll(polls, n + 1, s->count ? &look : NULL, &s->mask);
		if (ready < 0)
			continue;
		for (size_t i = n / 2;
		     i-- > 0;) { /* backwards: dropping one moves the last one into its place */
			struct connection *c = &s->connections[i];
			bool on = true;

			if (polls[2 * i].revents)
				on = connection_serve(s, c);
			else if (polls[2 * i + 1].revents || relay_peer_out(c->peer)->len)
				on = answers_send(c);
			if (!on)
				connection_drop(s, i);
		}
		drop_silent(s);
		if (polls[n].revents)
			accept_all(s);
	}
}

static int directory_open(const char *path)
{
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!foreign_is_planted(fd))
		return fd;
	close(fd);
	return -EACCES;
}

int cmd_relay(int argc, char **argv)
{
	struct arguments a = {.max_traces = 1024};
	struct server *s;
	sigset_t ends;
	const struct sigaction action = {.sa_handler = on_signal};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		return options_usage_error(&spec, "which directory?");
	if (a.stdio == !!a.listen)
		return options_usage_error(&spec, "either --stdio or --listen WHERE");
	s = xzalloc(sizeof(*s));
	s->arguments = &a;
	s->listening = -1;
	s->relay.limits = (struct relay_limits){.bytes = a.max_bytes,
						.sources = (u32)MIN(a.max_traces, 65536u)};
	s->relay.directory = directory_open(argv[first]);
	rc = 0;
	if (s->relay.directory < 0) {
		complain("relay", "%s: %s", argv[first], strerror(-s->relay.directory));
		rc = EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &s->mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!rc && a.listen)
		rc = listen_any(s);
	if (!rc && a.stdio)
		connection_add(s, fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0),
			       fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), (struct sender){0});
	if (!rc)
		serve(s);
	while (s->count)
		connection_drop(s, s->count - 1);
	if (s->path)
		unlink(s->path);
	vector_free(&s->relay.peers);
	free(s);
	return rc;
}
