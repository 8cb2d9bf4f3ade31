/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two files of the recorder's socket share: announce.c, and announce_guests.c for programs
 * of other users. */
#ifndef PANTRACE_USER_ANNOUNCE_INTERNAL_H
#define PANTRACE_USER_ANNOUNCE_INTERNAL_H

#include "user/announce.h"
#include "user/announce_answers.h"

#define RINGS_MAX    64 /* handed over at a time; the others wait */
#define REFUSALS_MAX 4096

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

/* ---- announce.c ---- */
/* Waits for what FD says, too. 0 or -errno. */
int announce_watch(struct announce *a, int fd);
/* False: it cannot be served. */
bool announce_peer_add(struct announce *a, const struct peer *p);
/* All that the one of FD asks now, up to a number after which it is another's turn. */
int announce_peer_serve(struct announce *a, int fd, struct diag *d);

/* ---- announce_guests.c ---- */
/* Hands a connection to its user's proxy; to a new one if that has ended, or stands still. */
void announce_guests_take(struct announce *a, const struct peer *p);
bool announce_is_guests(const struct announce *a, int fd);
/* What the proxy of this channel reports. */
void announce_guests_read(struct announce *a, int channel);
void announce_guests_end(struct announce *a);

#endif
