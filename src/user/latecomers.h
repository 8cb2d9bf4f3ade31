/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that did not find the description of a session as they began: they are in a container or
 * below another root, or have another runtime directory. A recorder that looks around finds them,
 * lets them take part from then on, and names them: what they did before is missing.
 */
#ifndef PANTRACE_USER_LATECOMERS_H
#define PANTRACE_USER_LATECOMERS_H

#include "base/hashmap.h"
#include "user/announce.h"
#include "user/session.h"

struct newcomer {
	pid_t pid;
	u32 age; /* looks since it was seen first */
};

struct latecomers {
	struct announce
		*announce; /* makes filters for those who cannot reach it; NULL = nobody does */
	struct hashmap strangers; /* sockets of processes that are not in the session */
	struct hashmap refused; /* sockets of those that do not take their filters */
	bool started; /* the first look around is done */
	u64 looked_ns; /* CLOCK_MONOTONIC */
	u64 began_ms, waited_ms; /* the first look; for answers since then */
	pid_t newest; /* process at that time */
	VECTOR(struct newcomer) young;
	bool is_crowded; /* more than are looked at have come: some may be missing */
	/* a person must read TEXT, and the recording is not whole */
	void (*say)(void *arg, const char *text);
	void *arg;
};

/*
 * ASKED: all processes with what they said to "attach". True: some of them were told of the
 * session, and may have rings now.
 */
bool latecomers_find(struct latecomers *l, const struct user_session *session,
		     const struct user_processes *asked);
/*
 * The same of processes that have come since the last look: cheap, to be called often.
 */
bool latecomers_look(struct latecomers *l, const struct user_session *session);
void latecomers_release(struct latecomers *l);

#endif
