/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that have events of a session and cannot be told of it: they have no socket where
 * sockets are looked for, and did not join by themselves. They are found by what they map: files
 * that have such events (binary/elf/user_events.h).
 */
#ifndef PANTRACE_USER_ABSENT_H
#define PANTRACE_USER_ABSENT_H

#include "base/hashmap.h"
#include "user/session.h"

struct absent_one {
	pid_t pid;
	u64 seen_ns; /* CLOCK_MONOTONIC: a program that has just begun may come yet */
};

struct absent {
	const struct user_session *session;
	struct user_tracked tracked; /* by the session */
	struct hashmap files; /* by device and inode: whether they have events of the session */
	struct hashmap devices; /* whose files may be read */
	struct hashmap looked; /* processes at which was looked, and their sizes at that time */
	struct hashmap told; /* processes */
	VECTOR(pid_t) queue; /* processes that are yet to be looked at */
	VECTOR(struct absent_one) suspects;
	u64 listed_ns; /* when the queue was filled last */
	/* whether there are rings of process INNER of the pid namespace */
	bool (*has_rings)(void *arg, pid_t inner, u64 pid_namespace);
	/* a person must read TEXT, and the recording is not whole */
	void (*say)(void *arg, const char *text);
	void *arg;
};

/* With session, has_rings, say and arg set. */
void absent_begin(struct absent *a);
/* Looks at a few processes: to be called often. LAST: at all, which may wait for some of them. */
void absent_look(struct absent *a, bool last);
void absent_release(struct absent *a);
/* Of a session without a recorder: all of them, as warnings. */
void absent_warn(const struct user_session *session, struct diag *d);

#endif
