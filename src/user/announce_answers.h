/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recorder's socket answers to "announce": the filter of an event, compiled once. */
#ifndef PANTRACE_USER_ANNOUNCE_ANSWERS_H
#define PANTRACE_USER_ANNOUNCE_ANSWERS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/diag.h"
#include "base/hashmap.h"
#include "base/vector.h"
#include "user/filter.h"

struct rule {
	char *session, *glob, *predicate;
};

struct answers {
	const struct user_filter_compiler *compiler;
	VECTOR(struct rule) rules;
	struct arena arena;
	struct hashmap known; /* "rule event-line" -> the answer, in arena */
	/* of strangers, of trusted programs: those do not use up what these need */
	u32 nr_known[2];
	u32 refused; /* events that stay off */
};

#define ANSWERS_INIT(filter_compiler)                            \
	{                                                        \
		.compiler = filter_compiler, .arena = ARENA_INIT \
	}

/* As announce_add() (user/announce.h). Copies the texts. */
void answers_add(struct answers *a, const char *session, const char *glob, const char *predicate);
/*
 * The text to send to one who has the event of LINE, from now on known; it lives as long as A.
 * *ret_rc is not 0 when the predicate does not fit, which is said once.
 */
const char *answer_for(struct answers *a, const char *session, const char *line, bool trusted,
		       struct diag *d, int *ret_rc);
void answers_release(struct answers *a);

#endif
