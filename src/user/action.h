/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done when a trigger fires:
 *
 *	start SESSION		its events on (`user start`)
 *	stop SESSION		its events off
 *	rotate SESSION		its recorder begins a new chunk
 *	snapshot SESSION	what its rings hold is written
 *	notify			a line on standard output
 */
#ifndef PANTRACE_USER_ACTION_H
#define PANTRACE_USER_ACTION_H

#include "base/diag.h"

struct action_context {
	const char *directory; /* of snapshots; NULL: SESSION-DATE-TIME-N beside us */
	const char *condition; /* what is told of */
	bool json;
	bool quiet; /* nothing is said of snapshots */
	u32 snapshots; /* written so far */
	u32 refused; /* processes that could not take part again in a session */
};

struct action {
	const struct action_kind *kind;
	const char *session; /* NULL: none is named */
};

/*
 * TEXT must outlive the action. The session must be there. 0 or -EINVAL, -ENOENT with the reason in
 * d.
 */
int action_parse(const char *text, struct diag *d, struct action *ret);
/*
 * The condition held FIRED times. 0 or -errno with the reason in d; -EPIPE: nobody reads what is
 * told.
 */
int action_run(const struct action *a, struct action_context *context, u64 fired, struct diag *d);
/* The recorder of an open session begins a new chunk. 0 or -errno with the reason in d. */
struct user_session;
int user_session_rotate(const struct user_session *s, struct diag *d);

#endif
