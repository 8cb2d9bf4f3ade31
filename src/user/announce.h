/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's side of filters for programs that start later (pantrace/protocol.h, "ask"): they tell what
 * events they have and wait for the bytecode of the predicate before they run.
 */
#ifndef PANTRACE_USER_ANNOUNCE_H
#define PANTRACE_USER_ANNOUNCE_H

#include "base/base.h"
#include "base/diag.h"

struct announce;

/* Listens at PATH, a socket that is made anew. 0 or -errno with the reason in d. */
int announce_open(const char *path, struct diag *d, struct announce **ret);
/* Events of SESSION that GLOB over "provider:name" means have this predicate; NULL = every event is wanted. The first that fits counts. */
void announce_add(struct announce *a, const char *session, const char *glob, const char *predicate);
/* For poll(): readable when somebody asks. */
int announce_fd(const struct announce *a);
/*
 * Answers those who ask now. -EINVAL with a diagnostic: the predicate does not fit an event's fields (once each, and the event
 * stays off).
 */
int announce_serve(struct announce *a, struct diag *d);
/* The socket is gone; NULL is fine. */
void announce_close(struct announce *a);

#endif
