// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/usage.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "user/proxy.h"
#include "user/recorder.h"
#include "user/runtime.h"

#define READ_NS 200000000ull /* the description, and what the recorder says */
#define ASK_NS	5000000000ull /* programs, for rings that have no name */

struct usage {
	enum usage_of of;
	struct user_session session;
	struct recorder recorder; /* looks on */
	u64 read_ns, asked_ns; /* CLOCK_MONOTONIC */
	u64 lost;
	bool is_known;
	u64 bytes, size;
	int fd; /* to the session's recorder, or -1 */
};

static int check(const struct usage *u, struct diag *d)
{
	const struct user_session *const s = &u->session;

	if (s->trigger) {
		diag_error(d, NO_SPAN, "'%s' is a trigger, no session", s->name);
		return -EINVAL;
	}
	if (u->of == USAGE_WRITTEN && s->mode == PANTRACE_OVERWRITE) {
		diag_error(d, NO_SPAN,
			   "session '%s' overwrites: nothing of it is written as it runs", s->name);
		return -EINVAL;
	}
	if (u->of == USAGE_WRITTEN && !s->recorder_alive)
		diag_warning(d, NO_SPAN,
			     "session '%s' has no recorder: nothing is written until `pantrace "
			     "record --session %s -o DIRECTORY` begins",
			     s->name, s->name);
	return 0;
}

int usage_open(const char *session, enum usage_of of, struct diag *d, struct usage **ret)
{
	struct usage *u = xzalloc(sizeof(*u));
	int rc;

	*u = (struct usage){.of = of, .fd = -1};
	rc = user_session_open(session, d, &u->session);
	if (!rc)
		rc = check(u, d);
	if (rc) {
		user_session_release(&u->session);
		free(u);
		return rc;
	}
	u->asked_ns = u->read_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (of == USAGE_RINGS) {
		recorder_open(&u->recorder, &u->session, NULL, false);
		u->recorder.looks_on = true;
		recorder_find(&u->recorder, true);
		u->lost = recorder_lost(&u->recorder);
	}
	*ret = u;
	return 0;
}

/* ---- rings ---- */

static void rings_look(struct usage *u, u64 now)
{
	const bool ask = now - u->asked_ns >= ASK_NS;
	const u64 before = u->lost;

	recorder_fd_clear(&u->recorder);
	recorder_look(&u->recorder, ask);
	if (ask)
		u->asked_ns = now;
	u->lost = recorder_lost(&u->recorder);
	recorder_reap(&u->recorder);
	u->is_known = false;
	u->bytes = 0;
	for (size_t i = 0; i < u->recorder.sources.len; i++) {
		struct pantrace_reader *const reader = u->recorder.sources.items[i].reader;
		const struct pantrace_shm *const h = pantrace_reader_header(reader);

		u->is_known = true;
		u->size = (u64)h->sub_size * h->nr_subs;
		for (u32 ring = 0; ring < h->nr_rings; ring++)
			u->bytes = MAX(u->bytes, pantrace_reader_unread(reader, ring));
	}
	if (u->lost != before && u->session.mode != PANTRACE_OVERWRITE)
		u->bytes = u->size;
}

/* ---- what the recorder says ---- */

/* Of its socket; nobody else's answer counts. */
static int recorder_connect(const struct user_session *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(struct ucred);
	struct ucred user;
	char path[512];
	int fd;

	if (!s->recorder_alive || user_runtime(path, sizeof(path) - 32))
		return -1;
	snprintf(path + strlen(path), 32, "/ask-%d", (int)s->recorder);
	if (s->keeper)
		snprintf(path, sizeof(path), "%s", s->keeper);
	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) && user.uid == geteuid())
		return fd;
	/* somebody else has the name now, and may have sent what is not to be closed */
	proxy_close(fd);
	return -1;
}

static void recorder_hang_up(struct usage *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
}

/* What it answered to the last question, and the next one. */
static void written_look(struct usage *u)
{
	char text[64], *request, *question;
	ssize_t n = u->fd < 0 ? 0 : recv(u->fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (u->fd >= 0 && n < 0 && errno == EAGAIN)
		return;
	text[MAX(n, (ssize_t)0)] = '\0';
	if (sscanf(text, "ok %" SCNu64, &u->bytes) == 1)
		u->is_known = true;
	if (n <= 0) {
		recorder_hang_up(u);
		u->fd = recorder_connect(&u->session);
		u->is_known = false;
	}
	if (u->fd < 0)
		return;
	request = user_request("written", u->session.name);
	question = xasprintf("%s-\n", request);
	if (send(u->fd, question, strlen(question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		recorder_hang_up(u);
	free(question);
	free(request);
}

/* ---- both ---- */

/* Its recorder may be another one; false: the session is gone. */
static bool session_read(struct usage *u)
{
	struct diag none = DIAG_INIT;
	struct user_session now;
	const bool is_there = !user_session_open(u->session.name, &none, &now);

	diag_release(&none);
	if (!is_there)
		return false;
	u->session.recorder = now.recorder;
	u->session.recorder_alive = now.recorder_alive;
	user_session_release(&now);
	return true;
}

bool usage_look(struct usage *u)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (now - u->read_ns >= READ_NS) {
		if (!session_read(u))
			return false;
		u->read_ns = now;
		if (u->of == USAGE_WRITTEN)
			written_look(u);
	}
	if (u->of == USAGE_RINGS)
		rings_look(u, now);
	return true;
}

bool usage_get(const struct usage *u, u64 *ret, u64 *ret_size)
{
	*ret = u->bytes;
	*ret_size = u->size;
	return u->is_known;
}

void usage_close(struct usage *u)
{
	if (!u)
		return;
	if (u->of == USAGE_RINGS)
		recorder_close(&u->recorder);
	recorder_hang_up(u);
	user_session_release(&u->session);
	free(u);
}
