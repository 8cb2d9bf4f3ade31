/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tools that were killed have left in directories of our own user: rings whose session is
 * gone, sockets where nobody listens any more, descriptions that did not get their name.
 *
 * Several runtime directories share one place for rings, so a directory of rings bears a mark: of
 * whose sessions it is, and who made it. It is left over if its maker has ended and the session has
 * no description.
 */
#ifndef PANTRACE_USER_LEFTOVERS_H
#define PANTRACE_USER_LEFTOVERS_H

#include "user/session.h"

#define LEFTOVERS_MARK ".session"

/* Marks a directory of rings as that of a session of ours, if its file system has links. */
void leftovers_mark(int rings);
/* PARENT/NAME, a directory of rings, if it is left over. */
void leftovers_remove_rings(const char *parent, const char *name);
/* All of it. SESSIONS: all that there are. */
void leftovers_remove(const struct user_sessions *sessions);

#endif
