/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes a session records: sets of ids in its description ("tracked" lines of
 * pantrace/protocol.h).
 */
#ifndef PANTRACE_USER_TRACKED_H
#define PANTRACE_USER_TRACKED_H

#include <sys/types.h>

#include <pantrace/protocol.h>

#include "base/diag.h"
#include "base/json.h"
#include "base/strbuf.h"

enum user_attribute {
	USER_PID, /* as we see them */
	USER_UID,
	USER_GID,
	USER_VPID, /* as the process sees them */
	USER_VUID,
	USER_VGID,
	USER_ATTRIBUTES,
};

struct user_tracked { /* all zero: everybody */
	bool none; /* nobody, whatever the sets say */
	bool limited[USER_ATTRIBUTES]; /* there is a set: of those below, which may be none */
	u32 nr;
	struct {
		enum user_attribute attribute;
		u32 id;
	} value[PANTRACE_TRACKED_MAX];
};

const char *user_attribute_name(enum user_attribute attribute);
/*
 * Of LIST, "ID,ID...": numbers, of users and groups also names. Adds to ids[*nr]; 0, or -errno with
 * the reason in d.
 */
int user_attribute_parse(enum user_attribute attribute, const char *list,
			 u32 ids[PANTRACE_TRACKED_MAX], u32 *nr, struct diag *d);

/* The lines of the description TEXT; others are passed over. */
void user_tracked_read(const char *text, struct user_tracked *ret);
/* Into the set, which is none before. False: it is full. */
bool user_tracked_add(struct user_tracked *t, enum user_attribute attribute, u32 id);
/* False: it was not in the set. */
bool user_tracked_remove(struct user_tracked *t, enum user_attribute attribute, u32 id);
/* The set becomes everybody's, or nobody's. */
void user_tracked_set(struct user_tracked *t, enum user_attribute attribute, bool all);

/*
 * Lines for a description; for PID, a process that runs in other namespaces than we, in its own
 * terms (0: for all processes of our namespaces and those yet to start).
 */
void user_tracked_lines(const struct user_tracked *t, pid_t pid, struct strbuf *ret);
/* Whether ids mean something else to process PID than to us. */
bool user_tracked_elsewhere(pid_t pid);
/* Whether process PID is in all sets, as far as that is seen from here. */
bool user_tracked_has(const struct user_tracked *t, pid_t pid);
/* "pid 12, 13; uid www-data"; "" where everybody is. */
void user_tracked_text(const struct user_tracked *t, struct strbuf *ret);
/* An object with a list for each set; a list of no pids: nobody. */
void user_tracked_json(const struct user_tracked *t, struct json *j);

#endif
