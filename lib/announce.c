// SPDX-License-Identifier: MIT
/*
 * Events whose filter the recorder compiles when it hears of them (pantrace/protocol.h, "ask"): a
 * predicate can be compiled only for known fields, and what events a program has is known when it
 * runs. It is asked before main() begins, or before dlopen() returns, so that no event is missed;
 * an event stays off when nobody answers.
 */
#include "announce.h"
#include "hooks.h"
#include <errno.h>
#include <pantrace/protocol.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_S \
	10 /* a recorder that is busy answers yet; one that is stopped must not stop the program \
	    */

#define KEEPER_S 1

/* Both are used under the lock. */
static char reply[PANTRACE_MESSAGE_MAX];
static struct pt_description description;

struct asking {
	struct pt_settings *set;
	const struct pantrace_event *last;
	int fd;
};

bool pt_announce_pending(const struct pt_settings *set, const struct pantrace_event *event,
			 const char *full)
{
	const enum pt_filter_fit fit = pt_filter_of(&set->rules, event, full, NULL);

	return fit == PT_FILTER_OTHER || (fit == PT_FILTER_NONE && *set->spec.ask);
}

static int dial(const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = seconds};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do /* a timeout makes a stop and SIGCONT end it, too: here and in ask() */
		rc = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	while (rc == -EINTR);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* The lines of the answer become the session's. */
static int answer_take(struct pt_settings *set, size_t n)
{
	const char *text = memchr(reply, '\n', n);
	int rc;

	if (n < 3 || memcmp(reply, "ok\n", 3) || !text)
		return -EBADMSG;
	text++;
	rc = pt_description_parse(text, n - (size_t)(text - reply), &description);
	if (!rc)
		rc = pt_settings_rules(set, &description.rules);
	if (rc) /* a filter that is not for here, or one too many */
		pt_rings_refused(&set->spec, rc);
	return rc;
}

static int ask(struct asking *asking, const struct pantrace_event *event, const char *full)
{
	char request[4096], fields[2048];
	ssize_t got;
	int n;

	pt_event_fields(event, fields, sizeof(fields));
	n = snprintf(request, sizeof(request), "pantrace %d %s announce %s\nevent 1 0 %u %s%s\n",
		     PANTRACE_PROTOCOL, PANTRACE_LIB_VERSION, asking->set->spec.name,
		     pt_event_level(event), full, fields);
	if (n < 0 || n >= (int)sizeof(request))
		return -EMSGSIZE;
	if (asking->fd < 0)
		asking->fd = dial(asking->set->spec.ask, ANSWER_S);
	if (asking->fd < 0)
		return asking->fd;
	do
		got = send(asking->fd, request, (size_t)n, MSG_NOSIGNAL);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	do
		got = recv(asking->fd, reply, sizeof(reply), MSG_TRUNC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got > sizeof(reply) ? -EMSGSIZE : answer_take(asking->set, (size_t)got);
}

static void announce(const struct pantrace_event *event, void *arg)
{
	struct asking *const asking = arg;
	struct pt_settings *const set = asking->set;
	char full[2 * PT_RULE_GLOB];
	int rc;

	if (event == asking->last || set->deaf || *event->types == PANTRACE_T_GATE)
		return;
	asking->last = event;
	pt_event_full(event, full);
	if (!pt_rules_want(&set->rules, full, pt_event_level(event)) ||
	    !pt_announce_pending(set, event, full))
		return;
	/* one refusal is enough: nobody waits for it again */
	rc = ask(asking, event, full);
	set->deaf = rc != 0;
	set->unheard = rc && rc != -EBADMSG;
}

void pt_announce(void)
{
	const int saved = errno;

	for (unsigned int i = 1; i < PT_SESSIONS; i++) {
		struct asking asking = {.set = &pt_settings[i], .fd = -1};

		if (!*asking.set->spec.ask || asking.set->deaf || asking.set->untracked ||
		    (asking.set->state != PT_ARMED && asking.set->state != PT_RUNNING))
			continue;
		pt_sites_each(announce, &asking);
		if (asking.fd >= 0)
			close(asking.fd);
	}
	errno = saved;
}

void pt_announce_refusal(const struct pt_spec *spec, int error)
{
	char text[128];
	const int n = snprintf(text, sizeof(text), "pantrace %d %s refused %s\n%d\n",
			       PANTRACE_PROTOCOL, PANTRACE_LIB_VERSION, spec->name, -error);
	const int to = *spec->keeper ? dial(spec->keeper, KEEPER_S) : -1;

	if (to < 0)
		return;
	send(to, text, (size_t)n, MSG_NOSIGNAL);
	close(to);
}

void pt_announce_rings(const struct pt_settings *set, int fd)
{
	char text[128];
	const int n = snprintf(text, sizeof(text), "pantrace %d %s keep %s\n", PANTRACE_PROTOCOL,
			       PANTRACE_LIB_VERSION, set->spec.name);
	struct iovec iov = {text, (size_t)n};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} ancillary = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS}};
	const struct msghdr message = {.msg_iov = &iov,
				       .msg_iovlen = 1,
				       .msg_control = &ancillary,
				       .msg_controllen = sizeof(ancillary)};
	const int to = *set->spec.keeper ? dial(set->spec.keeper, KEEPER_S) : -1;

	if (to < 0)
		return;
	memcpy(CMSG_DATA(&ancillary.header), &fd, sizeof(fd));
	/* what is on its way outlives us */
	sendmsg(to, &message, MSG_NOSIGNAL);
	close(to);
}
