/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a flight recorder, or `pantrace user trigger`, waits for: an event (whose predicate is
 * decided in the program), its rate, or the latency between two events of a thread. Triggers watch
 * through a session of their own, so that what they need is neither lost in nor taken from the
 * rings that are to be written.
 *
 *	shop:error				the event
 *	shop:request_done /args.status >= 500/	one for which the predicate holds
 *	rate(shop:error) > 100/s		more than so many in a second (/m: in a minute)
 *	latency(shop:begin, shop:end) > 10ms	in one thread, also while the end has not come yet
 *
 * or for what becomes of a session; each time that it becomes true, and if it is true at first:
 *
 *	usage(web) >= 80%			of its fullest ring (user/usage.h)
 *	usage(web) <= 64K			bytes; > and < likewise
 *	written(web) >= 1G			by its recorder
 */
#ifndef PANTRACE_USER_TRIGGER_H
#define PANTRACE_USER_TRIGGER_H

#include "user/announce.h"
#include "user/recorder.h"

enum trigger_kind { TRIGGER_EVENT, TRIGGER_RATE, TRIGGER_LATENCY, TRIGGER_USAGE, TRIGGER_WRITTEN };

struct trigger_open {
	u32 pid, tid;
	u64 ns;
	u32 next; /* + 1, in its chain or of the free ones; 0: none */
};

struct trigger {
	enum trigger_kind kind;
	const char *text; /* as it was given */
	char *event, *end; /* globs over provider:name; end: of latency */
	char *predicate; /* NULL = none */
	u64 limit; /* rate: events; latency: ns */
	u64 window_ns; /* rate */
	u64 window_begin, count; /* rate: of the present window, time of the events */
	VECTOR(struct trigger_open) open; /* latency: begun and not ended */
	u32 *chains; /* of these, by a hash of their thread; their places + 1 */
	u32 free;
	u64 unwatched; /* for which there was no place */
	char *session; /* usage, written: its name; NULL: it is about events */
	struct usage *usage;
	int sign; /* 1: above the bound, -1: below */
	bool or_equal, is_ratio; /* limit: in thousandths of a percent, else bytes */
	bool holds;
	u64 fires; /* how often the condition held, or began to */
};

struct triggers {
	VECTOR(struct trigger) all;
	const struct user_filter_compiler *compiler; /* of predicates; set before it begins */
	struct user_session session;
	struct recorder recorder;
	bool begun;
	bool listens; /* to events */
	const char *gone; /* the session of a condition that has ended, or NULL */
	u64 quiet_until_ns, asked_ns; /* CLOCK_MONOTONIC; when all processes were asked */
	const char *fired; /* and not told yet */
	const char *name; /* of the session that watches; NULL: one is made up */
	/*
	 * what is done then, for whoever lists the sessions; NULL = none. Set before
	 * triggers_begin()
	 */
	const char *note;
};

/* 0 or -EINVAL with a diagnostic. TEXT must outlive the trigger. */
int trigger_parse(const char *text, struct diag *d, struct trigger *ret);
/* Whether it is about a session, not about events. */
bool trigger_is_of_session(const struct trigger *t);
/*
 * Watches the processes that `like` means. Programs that start later ask `announce` for their
 * filters; NULL: predicates are for programs that run. 0 or -errno with a diagnostic.
 */
int triggers_begin(struct triggers *t, const struct user_session_options *like,
		   struct announce *announce, struct diag *d);
/* Looks at what has happened since the last call: counts each trigger's fires. */
void triggers_look(struct triggers *t);
/*
 * The same. The text of a trigger that has fired since the last call, or NULL. At most one a
 * second.
 */
const char *triggers_round(struct triggers *t);
/*
 * Before the end: how many events, latencies or processes could not be watched; 0: the conditions
 * were decided by all that happened. Says it in D.
 */
u64 triggers_missed(struct triggers *t, struct diag *d);
void triggers_end(struct triggers *t, struct diag *d);
void trigger_release(struct trigger *t);

#endif
