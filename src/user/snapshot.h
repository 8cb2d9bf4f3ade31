/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rings of a session hold at this moment, as a trace of its own; the rings stay as they
 * are.
 */
#ifndef PANTRACE_USER_SNAPSHOT_H
#define PANTRACE_USER_SNAPSHOT_H

#include "user/recorder.h"

struct user_snapshot {
	u32 processes, damaged, refused; /* refused: files that name another user's process */
	u64 events, bytes;
};

/* 0 or -errno with the reason in d. */
int user_snapshot(const struct user_session *session, const struct ctf_output_options *where,
		  struct diag *d, struct user_snapshot *ret);
/*
 * "events, processes, bytes" as a sentence on standard error, with how many were LOST (NULL: that
 * was not asked), and with what is damaged; if no process took part, how to find out why.
 */
void user_snapshot_say(const struct user_snapshot *s, const char *directory, const u64 *lost);
/* What was recorded is what comes from now on. Returns how many processes' rings were cleared. */
u32 user_session_clear(const struct user_session *session);

#endif
