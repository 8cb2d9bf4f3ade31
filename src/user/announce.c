// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/announce.h"

#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <pantrace/protocol.h>

#include "base/file.h"
#include "user/announce_answers.h"
#include "user/proxy.h"

#define PEERS_MAX    256 /* that ask at the same time */
#define GUESTS_MAX   32 /* of these of one other user: a program asks, and is gone */
#define ROUNDS_MAX   32 /* then the recorder has other things to do */
#define RINGS_MAX    64 /* handed over at a time; the others wait */
#define REFUSALS_MAX 4096
#define USERS_MAX    256 /* with a proxy of their own; those beyond have one in common */
#define FRESH_MAX    16 /* proxies in place of others that stand still; then nobody new is heard */
#define ROOM_MS	     200 /* a proxy that takes nothing for so long stands still */
#define REQUEST_MAX  8192

struct peer {
	int fd;
	pid_t pid;
	uid_t uid;
	bool trusted; /* our user or root: what it says may end the recording */
};

/* The proxy that serves other users' programs (user/proxy.h): one for each user. */
struct guests {
	uid_t uid; /* of all beyond USERS_MAX: the first one's */
	int channel;
	bool is_finished;
};

/* Between us and a proxy. To it: a connection, then that it is the proxy's alone, and the end. */
struct guest_message {
	enum {
		GUEST_CONNECTION,
		GUEST_ITS_OWN,
		GUEST_END,
		GUEST_RINGS,
		GUEST_REFUSAL,
		GUEST_STAYED_OFF
	} kind;
	pid_t pid;
	uid_t uid;
	u32 count;
	struct announced_refusal refusal;
};

struct announce {
	int listener, epoll;
	char *path;
	struct answers answers;
	bool writes;
	u64 written;
	char written_text[32]; /* the answer to who asks for it */
	VECTOR(struct peer) peers;
	VECTOR(struct guests) guests;
	u32 nr_fresh, unheard;
	uid_t unheard_user; /* of one of these */
	bool is_ending; /* in a proxy */
	VECTOR(struct announced_rings) rings; /* not taken yet */
	VECTOR(struct announced_refusal) refusals;
};

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = strlen(path) < sizeof(address.sun_path) ? 0 : -ENAMETOOLONG;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (!rc)
		unlink(path);
	/* root's sessions have programs of other users */
	if (!rc && (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
		    chmod(path, geteuid() ? 0600 : 0666) || listen(fd, 128)))
		rc = -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static int watch(struct announce *a, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int announce_open(const char *path, const struct user_filter_compiler *compiler, struct diag *d,
		  struct announce **ret)
{
	struct announce *a = xzalloc(sizeof(*a));
	int rc;

	*a = (struct announce){.path = xstrdup(path), .answers = ANSWERS_INIT(compiler)};
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->listener = listen_at(path);
	rc = a->listener < 0 ? a->listener : a->epoll < 0 ? -errno : watch(a, a->listener);
	if (rc) {
		diag_error(d, NO_SPAN, "%s: %s", path, strerror(-rc));
		announce_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void announce_add(struct announce *a, const char *session, const char *glob, const char *predicate)
{
	answers_add(&a->answers, session, glob, predicate);
}

void announce_written(struct announce *a, u64 bytes)
{
	a->writes = true;
	a->written = bytes;
}

int announce_fd(const struct announce *a)
{
	return a->epoll;
}

/* "pantrace 1 VERSION VERB SESSION\nLINE\n": cuts it up. false: it is none. */
static bool request_parse(char *text, const char **ret_verb, const char **ret_session,
			  const char **ret_line)
{
	char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
	char *word[5];
	size_t n = 0;

	if (!line || !end || end[1])
		return false;
	*line++ = *end = '\0';
	while (n < ARRAY_SIZE(word) && (word[n] = strsep(&text, " ")))
		n++;
	if (n != ARRAY_SIZE(word) || text || !str_eq(word[0], "pantrace") ||
	    strtoul(word[1], NULL, 10) != PANTRACE_PROTOCOL)
		return false;
	*ret_verb = word[3];
	*ret_session = word[4];
	*ret_line = line;
	return true;
}

static const char *written_answer(struct announce *a)
{
	if (!a->writes)
		return "error 61 nothing is written\n";
	snprintf(a->written_text, sizeof(a->written_text), "ok %" PRIu64 "\n", a->written);
	return a->written_text;
}

/* The text to send; NULL: none is waited for. */
static const char *answer_to(struct announce *a, const struct peer *from, char *request,
			     struct diag *d, int *ret_rc)
{
	const char *verb, *session, *line;

	if (!request_parse(request, &verb, &session, &line))
		return "error 74 not a request\n";
	if (str_eq(verb, "announce"))
		return answer_for(&a->answers, session, line, from->trusted, d, ret_rc);
	if (str_eq(verb, "written") && from->trusted)
		return written_answer(a);
	if (str_eq(verb, "refused") && a->refusals.len < REFUSALS_MAX) {
		struct announced_refusal r = {.pid = from->pid, .error = atoi(line)};

		snprintf(r.session, sizeof(r.session), "%s", session);
		vector_push(&a->refusals, r);
	}
	return NULL;
}

bool announce_refusal(struct announce *a, struct announced_refusal *ret)
{
	if (!a->refusals.len)
		return false;
	*ret = a->refusals.items[--a->refusals.len];
	return true;
}

int announce_filters(struct announce *a, const char *session, const char *line, bool trusted,
		     struct diag *d, struct strbuf *ret)
{
	int rc = 0;
	/* it could not ask with a longer one either */
	const bool fits = strlen(line) < REQUEST_MAX - 128;
	const char *const answer =
		fits ? answer_for(&a->answers, session, line, trusted, d, &rc) : "";

	a->answers.refused += !fits;
	if (!str_starts(answer, "ok\n"))
		return rc ? rc : -ENOENT;
	strbuf_addstr(ret, answer + strlen("ok\n"));
	return 0;
}

static void peer_end(struct announce *a, size_t i)
{
	close(a->peers.items[i].fd);
	memmove(&a->peers.items[i], &a->peers.items[i + 1],
		(a->peers.len - i - 1) * sizeof(a->peers.items[i]));
	a->peers.len--;
}

/*
 * Whoever connects and does not ask keeps nobody from it: the stranger who is here longest goes;
 * first of the same user.
 */
static bool make_room(struct announce *a, const struct peer *p)
{
	size_t guests = 0, own = a->peers.len, any = a->peers.len;

	for (size_t i = a->peers.len; i--;) {
		const struct peer *const other = &a->peers.items[i];

		if (other->trusted)
			continue;
		any = i;
		if (other->uid != p->uid)
			continue;
		own = i;
		guests++;
	}
	if (guests >= GUESTS_MAX)
		peer_end(a, own);
	else if (a->peers.len == PEERS_MAX && any < a->peers.len)
		peer_end(a, any);
	return a->peers.len < PEERS_MAX;
}

/* False: it cannot be served. */
static bool peer_add(struct announce *a, const struct peer *p)
{
	if (!make_room(a, p) || watch(a, p->fd))
		return false;
	vector_push(&a->peers, *p);
	return true;
}

/*
 * Its length, as of recv(); 0 for one that is too long. *RET_FD: a descriptor that came with it,
 * the last one, or -1.
 */
static ssize_t message_take(int from, char *text, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} ancillary;
	struct iovec iov = {text, size - 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	const ssize_t n = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&message); c;
	     c = CMSG_NXTHDR(&message, c)) {
		for (size_t i = 0;
		     c->cmsg_type == SCM_RIGHTS && CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len;
		     i++) {
			if (*ret_fd >= 0)
				close(*ret_fd);
			memcpy(ret_fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		}
	}
	return n > 0 && message.msg_flags & MSG_TRUNC ? 0 : n;
}

/* Whatever it is: who takes it looks (user/recorder.c). */
static void rings_keep(struct announce *a, const struct peer *from, int fd)
{
	const struct announced_rings rings = {fd, from->pid, from->uid};

	vector_push(&a->rings, rings);
}

bool announce_rings(struct announce *a, struct announced_rings *ret)
{
	if (!a->rings.len)
		return false;
	*ret = a->rings.items[--a->rings.len];
	return true;
}

/* All that one asks now, up to a number after which it is another's turn. */
static int peer_serve(struct announce *a, int fd, struct diag *d)
{
	char text[REQUEST_MAX];
	size_t peer = 0;
	bool trusted, is_over = false;
	int rc = 0, handed;

	while (peer < a->peers.len && a->peers.items[peer].fd != fd)
		peer++;
	if (peer == a->peers.len) /* it had to make room */
		return 0;
	trusted = a->peers.items[peer].trusted;
	/* after so many the others have their turn */
	for (int i = 0; i < 64 && !is_over && a->rings.len < RINGS_MAX; i++) {
		const ssize_t n = message_take(fd, text, sizeof(text), &handed);
		const char *answer;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (handed >= 0)
			rings_keep(a, &a->peers.items[peer], handed);
		is_over = n <= 0;
		if (is_over || handed >= 0)
			continue;
		text[n] = '\0';
		answer = answer_to(a, &a->peers.items[peer], text, d, &rc);
		is_over =
			answer && send(fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
	}
	if (is_over)
		peer_end(a, peer);
	/* another user's program may be wrong about its own events only */
	return trusted ? rc : 0;
}

/* ---- other users' programs ---- */

/* What a connection of theirs brought goes on to the recorder. */
static void guests_report(struct announce *a, int channel)
{
	const struct guest_message off = {.kind = GUEST_STAYED_OFF, .count = a->answers.refused};
	struct guest_message refusal = {.kind = GUEST_REFUSAL};
	struct announced_rings rings;

	while (announce_rings(a, &rings)) {
		const struct guest_message m = {
			.kind = GUEST_RINGS, .pid = rings.pid, .uid = rings.uid};

		if (proxy_is_memory(rings.fd))
			proxy_send(channel, &m, sizeof(m), rings.fd, true);
		close(rings.fd);
	}
	while (announce_refusal(a, &refusal.refusal))
		proxy_send(channel, &refusal, sizeof(refusal), -1, true);
	if (a->answers.refused)
		proxy_send(channel, &off, sizeof(off), -1, true);
	a->answers.refused = 0;
}

/* The recorder's word. */
static void guests_hear(struct announce *a, int channel, struct peer *coming)
{
	struct guest_message m;
	int fd;

	if (proxy_receive(channel, &m, sizeof(m), &fd, false) != sizeof(m))
		_exit(0);
	if (m.kind == GUEST_CONNECTION)
		*coming = (struct peer){.fd = fd, .pid = m.pid, .uid = m.uid};
	else if (m.kind == GUEST_END)
		a->is_ending = true;
	else if (!peer_add(a, coming))
		close(coming->fd);
}

/* In the proxy. The tables are its own from here on. */
static void __attribute__((noreturn)) guests_serve(struct announce *a, int channel)
{
	static const struct guest_message end = {.kind = GUEST_END};
	struct epoll_event events[32];
	struct peer coming = {.fd = -1};
	struct diag d = DIAG_INIT;

	a->peers.len = a->rings.len = a->refusals.len = 0;
	a->answers.refused = 0;
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (a->epoll < 0 || watch(a, channel))
		_exit(1);
	for (;;) {
		const int n =
			epoll_wait(a->epoll, events, ARRAY_SIZE(events), a->is_ending ? 0 : -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == channel)
				guests_hear(a, channel, &coming);
			else
				peer_serve(a, events[i].data.fd, &d);
			guests_report(a, channel);
		}
		diag_release(&d);
		if (n || !a->is_ending)
			continue;
		proxy_send(channel, &end, sizeof(end), -1, true);
		a->is_ending = false;
	}
}

static void guests_forget(struct announce *a, struct guests *g)
{
	close(g->channel);
	*g = vector_last(&a->guests);
	a->guests.len--;
}

/* NULL: there can be none. */
static struct guests *guests_of(struct announce *a, uid_t uid)
{
	struct guests g = {.uid = uid};

	for (size_t i = 0; i < a->guests.len; i++)
		if (a->guests.items[i].uid == uid)
			return &a->guests.items[i];
	if (a->guests.len == USERS_MAX)
		return &a->guests.items[0];
	if (!proxy_fork(NULL, 0, &g.channel))
		guests_serve(a, g.channel);
	if (g.channel < 0)
		return NULL;
	if (watch(a, g.channel)) {
		close(g.channel);
		return NULL;
	}
	vector_push(&a->guests, g);
	return &vector_last(&a->guests);
}

static bool guests_tell(const struct guests *g, const struct guest_message *m, int fd)
{
	struct pollfd room = {g->channel, POLLOUT, 0};
	int rc = proxy_send(g->channel, m, sizeof(*m), fd, false);

	/* many come at once, and a busy machine has not let it run yet */
	if (rc == -EAGAIN && poll(&room, 1, ROOM_MS) > 0)
		rc = proxy_send(g->channel, m, sizeof(*m), fd, false);
	return !rc;
}

static bool guests_send(struct announce *a, const struct guests *g, const struct peer *p)
{
	struct guest_message m = {.kind = GUEST_CONNECTION, .pid = p->pid, .uid = p->uid};

	if (!guests_tell(g, &m, p->fd))
		return false;
	/* only now: who closes it last waits */
	close(p->fd);
	m.kind = GUEST_ITS_OWN;
	if (!guests_tell(g, &m, -1)) {
		a->unheard_user = p->uid;
		a->unheard++;
	}
	return true;
}

/* Hands a connection to the proxy; to a new one if that has ended, or stands still. */
static void guests_take(struct announce *a, const struct peer *p)
{
	struct guests *g = guests_of(a, p->uid);

	if (g && guests_send(a, g, p))
		return;
	if (g) {
		guests_forget(a, g);
		a->unheard_user = p->uid;
		a->unheard++;
		if (++a->nr_fresh == FRESH_MAX)
			epoll_ctl(a->epoll, EPOLL_CTL_DEL, a->listener, NULL);
		g = guests_of(a, p->uid);
	}
	if (g && guests_send(a, g, p))
		return;
	a->unheard_user = p->uid;
	a->unheard++;
	proxy_close(p->fd);
}

/* What a proxy reports. */
static void guests_read(struct announce *a, int channel)
{
	struct guests *g = a->guests.items;
	struct guest_message m;
	ssize_t n = 0;
	int fd;

	while (g < a->guests.items + a->guests.len && g->channel != channel)
		g++;
	if (g == a->guests.items + a->guests.len)
		return;
	while (a->rings.len < RINGS_MAX) {
		n = proxy_receive(channel, &m, sizeof(m), &fd, false);
		if (n != sizeof(m))
			break;
		if (m.kind == GUEST_RINGS && fd >= 0)
			vector_push(&a->rings, (struct announced_rings){fd, m.pid, m.uid});
		if (m.kind == GUEST_REFUSAL && a->refusals.len < REFUSALS_MAX)
			vector_push(&a->refusals, m.refusal);
		a->answers.refused += m.kind == GUEST_RINGS ? fd < 0 : m.count;
		g->is_finished |= m.kind == GUEST_END;
	}
	if (n)
		return;
	if (!g->is_finished) {
		a->unheard++;
		a->unheard_user = g->uid;
	}
	guests_forget(a, g);
}

/* ---- all of them ---- */

static void peers_accept(struct announce *a)
{
	for (;;) {
		const int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred user;
		socklen_t size = sizeof(user);
		struct peer p = {.fd = fd};

		if (fd < 0 && (errno != EMFILE || !file_raise_limit()))
			return;
		if (fd < 0)
			continue;
		/* what comes with its messages needs room, too */
		if (fd > getdtablesize() - 2 * RINGS_MAX)
			file_raise_limit();
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size)) {
			close(fd);
			continue;
		}
		p.pid = user.pid;
		p.uid = user.uid;
		p.trusted = !p.uid || p.uid == geteuid();
		if (!p.trusted && !geteuid())
			guests_take(a, &p);
		else if (!p.trusted || !peer_add(a, &p))
			close(fd);
	}
}

static bool is_guests_channel(const struct announce *a, int fd)
{
	for (size_t i = 0; i < a->guests.len; i++)
		if (a->guests.items[i].channel == fd)
			return true;
	return false;
}

int announce_serve(struct announce *a, struct diag *d)
{
	struct epoll_event events[32];
	int rc = 0;

	/* a program asks again as soon as it has its answer: what follows at once is part of this
	 * call, but the rings are to be read, too */
	for (int round = 0; round < ROUNDS_MAX && !rc && a->rings.len < RINGS_MAX; round++) {
		const int n = epoll_wait(a->epoll, events, ARRAY_SIZE(events), round > 0);

		if (n <= 0)
			break;
		for (int i = 0; i < n; i++) {
			const int fd = events[i].data.fd;
			int one = 0;

			if (fd == a->listener)
				peers_accept(a);
			else if (is_guests_channel(a, fd))
				guests_read(a, fd);
			else
				one = peer_serve(a, fd, d);
			rc = one ? one : rc;
		}
	}
	return rc;
}

void announce_end(struct announce *a)
{
	static const struct guest_message end = {.kind = GUEST_END};

	peers_accept(a);
	for (size_t i = 0; i < a->guests.len; i++)
		proxy_send(a->guests.items[i].channel, &end, sizeof(end), -1, false);
}

u32 announce_unheard(const struct announce *a, uid_t *ret_user)
{
	u32 unheard = a->unheard;

	*ret_user = a->unheard_user;
	for (size_t i = 0; i < a->guests.len; i++) {
		if (a->guests.items[i].is_finished)
			continue;
		*ret_user = a->guests.items[i].uid;
		unheard++;
	}
	return unheard;
}

u32 announce_refused(const struct announce *a)
{
	return a ? a->answers.refused : 0;
}

void announce_close(struct announce *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->peers.len; i++)
		close(a->peers.items[i].fd);
	for (size_t i = 0; i < a->guests.len; i++)
		close(a->guests.items[i].channel);
	vector_free(&a->guests);
	if (a->listener >= 0)
		unlink(a->path);
	/* with whoever has come since */
	if (a->listener >= 0 && !geteuid())
		proxy_close(a->listener);
	else if (a->listener >= 0)
		close(a->listener);
	if (a->epoll >= 0)
		close(a->epoll);
	for (size_t i = 0; i < a->rings.len; i++)
		close(a->rings.items[i].fd);
	vector_free(&a->rings);
	vector_free(&a->refusals);
	vector_free(&a->peers);
	answers_release(&a->answers);
	free(a->path);
	free(a);
}
