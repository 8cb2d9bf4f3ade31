// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs of other users at the recorder's socket: root's recorder hears them by proxies
 * (user/proxy.h), which report what they said.
 */
#include "user/announce_internal.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "user/proxy.h"

#define USERS_MAX 256 /* with a proxy of their own; those beyond have one in common */
#define FRESH_MAX 16 /* proxies in place of others that stand still; then nobody new is heard */
#define ROOM_MS	  200 /* a proxy that takes nothing for so long stands still */

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
	else if (!announce_peer_add(a, coming))
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
	if (a->epoll < 0 || announce_watch(a, channel))
		_exit(1);
	for (;;) {
		const int n =
			epoll_wait(a->epoll, events, ARRAY_SIZE(events), a->is_ending ? 0 : -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == channel)
				guests_hear(a, channel, &coming);
			else
				announce_peer_serve(a, events[i].data.fd, &d);
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
	if (announce_watch(a, g.channel)) {
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
	if (rc == -EAGAIN && clock_poll(&room, 1, ROOM_MS) > 0)
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

void announce_guests_take(struct announce *a, const struct peer *p)
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

void announce_guests_read(struct announce *a, int channel)
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

bool announce_is_guests(const struct announce *a, int fd)
{
	for (size_t i = 0; i < a->guests.len; i++)
		if (a->guests.items[i].channel == fd)
			return true;
	return false;
}

void announce_guests_end(struct announce *a)
{
	static const struct guest_message end = {.kind = GUEST_END};

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
