/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of events: from one (FROM) to the next of another (TO) with the same keys; without keys, of
 * the same thread. Another FROM with these keys replaces the one before.
 */
#ifndef PANTRACE_CMD_REPORT_PAIRS_H
#define PANTRACE_CMD_REPORT_PAIRS_H

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "trace/recording.h"

enum { PAIR_FROM, PAIR_TO, PAIR_ENDS };
#define PAIR_KEYS 8 /* at most */

/* What a kind of event is in a pair. */
enum pair_role { PAIR_NO_ROLE = 1, PAIR_ROLE_FROM, PAIR_ROLE_TO, PAIR_ROLE_BOTH };

struct pair_end {
	const char *event; /* a glob */
	const struct expr *condition; /* NULL = none */
	u64 met; /* events that it holds for */
};

struct pair_key {
	const char *field[PAIR_ENDS]; /* NULL: the thread that the event was in */
};

struct pairs {
	struct pair_end ends[PAIR_ENDS];
	struct pair_key keys[PAIR_KEYS];
	u32 nr_keys;
	u64 ended; /* pairs */
	/* not pairs: without an end (cut: as events were lost), begun again, without a begin */
	u64 open, cut, again, unbegun, lacking;
	/* ---- their own ---- */
	struct arena arena;
	struct hashmap begun; /* by keys */
	u64 losses; /* how often events were lost */
	struct strbuf key;
};

/* "FROM,TO[,KEY...]", conditions behind events. NULL with a diagnostic. */
struct pairs *pairs_new(const char *text, struct diag *d);
enum pair_role pairs_role(const struct pairs *p, const struct recorded_kind *k);
/* True: the event ended a pair, which took *ret_ns. */
bool pairs_feed(struct pairs *p, struct recording *r, enum pair_role role, s64 *ret_ns);
/* Events are missing here: what began before is not paired with a later event. */
void pairs_lost(struct pairs *p);
/* At the end: false, with a diagnostic, if one of the ends, or a key, never occurred. */
bool pairs_check(const struct pairs *p, struct diag *d);
void pairs_release(struct pairs *p);

#endif
