// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/announce_internal.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <pantrace/protocol.h>

#include "base/file.h"
#include "user/proxy.h"
#include "user/runtime.h"

#define PEERS_MAX   256 /* that ask at the same time */
#define GUESTS_MAX  32 /* of these of one other user: a program asks, and is gone */
#define ROUNDS_MAX  32 /* then the recorder has other things to do */
#define REQUEST_MAX 8192

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

int announce_watch(struct announce *a, int fd)
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
	rc = a->listener < 0 ? a->listener : a->epoll < 0 ? -errno : announce_watch(a, a->listener);
	if (rc) {
		diag_error(d, NO_SPAN, "%s: %s", path, strerror(-rc));
		announce_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

int announce_begin(const struct user_filter_compiler *compiler, struct diag *d,
		   char path[ANNOUNCE_PATH], struct announce **ret)
{
	const int rc = user_runtime_make(path, ANNOUNCE_PATH - 32, d);

	if (rc)
		return rc;
	snprintf(path + strlen(path), 32, "/ask-%d", (int)getpid());
	return announce_open(path, compiler, d, ret);
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

bool announce_peer_add(struct announce *a, const struct peer *p)
{
	if (!make_room(a, p) || announce_watch(a, p->fd))
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

int announce_peer_serve(struct announce *a, int fd, struct diag *d)
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
			announce_guests_take(a, &p);
		else if (!p.trusted || !announce_peer_add(a, &p))
			close(fd);
	}
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
			else if (announce_is_guests(a, fd))
				announce_guests_read(a, fd);
			else
				one = announce_peer_serve(a, fd, d);
			rc = one ? one : rc;
		}
	}
	return rc;
}

void announce_end(struct announce *a)
{
	peers_accept(a);
	announce_guests_end(a);
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
