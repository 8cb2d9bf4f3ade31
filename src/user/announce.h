/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's socket (pantrace/protocol.h, "ask", "keeper"). Programs that start later tell what
 * events they have, and wait for the bytecode of the predicate before they run; processes that do
 * not see the directory of rings hand theirs over.
 */
#ifndef PANTRACE_USER_ANNOUNCE_H
#define PANTRACE_USER_ANNOUNCE_H

#include "base/base.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "user/filter.h"

struct announce;

#define ANNOUNCE_PATH 512

/* Listens at PATH, a socket that is made anew. 0 or -errno with the reason in d. */
int announce_open(const char *path, const struct user_filter_compiler *compiler, struct diag *d,
		  struct announce **ret);
/* The same at a path of this process's own in our runtime directory: PATH. */
int announce_begin(const struct user_filter_compiler *compiler, struct diag *d,
		   char path[ANNOUNCE_PATH], struct announce **ret);
/*
 * Events of SESSION that GLOB over "provider:name" means have this predicate; NULL = every event is
 * wanted. The first that fits counts.
 */
void announce_add(struct announce *a, const char *session, const char *glob, const char *predicate);
/* BYTES were written so far, for triggers that ask (user/usage.h). */
void announce_written(struct announce *a, u64 bytes);
/* For poll(): readable when somebody asks. */
int announce_fd(const struct announce *a);
/*
 * Answers those who ask now. -EINVAL with a diagnostic: the predicate does not fit an event's
 * fields (once each, and the event stays off).
 */
int announce_serve(struct announce *a, struct diag *d);
/*
 * Nobody comes any more: those who are here are heard to their end by further announce_serve(),
 * until announce_unheard() is 0.
 */
void announce_end(struct announce *a);
/* After that: how many programs of other users were not heard to their end; of whom one is. */
u32 announce_unheard(const struct announce *a, uid_t *ret_user);
/*
 * Rings that a process handed over. As long as they are not taken, announce_serve() does not go on
 * with others.
 */
struct announced_rings {
	int fd; /* the caller's */
	pid_t pid; /* in our pid namespace; 0 = it is not visible there */
	uid_t uid;
};
/* False: there are none. */
bool announce_rings(struct announce *a, struct announced_rings *ret);
/* A process that does not take part in a session, and had no other way to say so. */
struct announced_refusal {
	pid_t pid; /* as above */
	int error; /* the errno */
	char session[64];
};
/* False: there are none. */
bool announce_refusal(struct announce *a, struct announced_refusal *ret);
/*
 * For a program that cannot reach the socket: appends to RET what it would be answered for the
 * event of LINE ("event ..."). TRUSTED: it is root's or our own user's. 0, -ENOENT: nothing, or
 * -EINVAL as announce_serve().
 */
int announce_filters(struct announce *a, const char *session, const char *line, bool trusted,
		     struct diag *d, struct strbuf *ret);
/*
 * How often an event stayed off, whosever it is: the predicate does not fit it, or there are too
 * many. NULL is fine.
 */
u32 announce_refused(const struct announce *a);
/* The socket is gone; NULL is fine. */
void announce_close(struct announce *a);

#endif
