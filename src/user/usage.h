/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How full the rings of a session are, and how much its recorder has written: what triggers wait
 * for (user/trigger.h). The rings stay as they are, and nobody is waited for.
 */
#ifndef PANTRACE_USER_USAGE_H
#define PANTRACE_USER_USAGE_H

#include "base/diag.h"

enum usage_of {
	USAGE_RINGS,
	USAGE_WRITTEN,
};

struct usage;

/*
 * The session must be there, and of a kind that has such a number. 0 or -errno with the reason in
 * d.
 */
int usage_open(const char *session, enum usage_of of, struct diag *d, struct usage **ret);
/* Looks anew. False: the session is gone. */
bool usage_look(struct usage *u);
/*
 * USAGE_RINGS: the bytes that nobody has read yet in the fullest ring of the programs that run; all
 * of it where events were lost since the last look. *RET_SIZE: of one ring. USAGE_WRITTEN: the
 * bytes that its recorder has written since it began; *RET_SIZE is 0. False: it is not known, for
 * there is no ring, or no recorder that says so.
 */
bool usage_get(const struct usage *u, u64 *ret, u64 *ret_size);
void usage_close(struct usage *u); /* NULL is fine */

#endif
