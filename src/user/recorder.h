/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The consumer of a session: finds the rings of its processes as they come, writes what they hold
 * (trace/ctf/output.h), and notices which processes have ended.
 *
 * A ring file is another process's memory: it may be cut short at any time. Then its rings are
 * damaged, as if their process had scribbled on them.
 */
#ifndef PANTRACE_USER_RECORDER_H
#define PANTRACE_USER_RECORDER_H

#include <pantrace/reader.h>

#include "base/shared_range.h"
#include "trace/ctf/output.h"
#include "user/absent.h"
#include "user/latecomers.h"
#include "user/owner.h"
#include "user/session.h"

struct recorder_source {
	struct pantrace_reader *reader;
	struct shared_range *range;
	struct ctf_source *output;
	char *file; /* name in the session's directory, or NULL */
	int pidfd; /* -1: its end is not seen */
	pid_t peer; /* whose they are, or who handed them over; 0 = not visible */
	uid_t uid; /* of that */
	bool ended, damaged;
	u32 stays_off; /* of what the session wants of it, as far as that is said */
};

struct recorder {
	const struct user_session *session;
	struct ctf_output *output;
	bool consume; /* else the rings stay as they are */
	bool looks_on; /* its session's recorder says what there is to say */
	int inotify; /* on the ring directory and the sockets; -1 = none */
	u64 pid_namespace;
	u32 sub_size, nr_subs; /* of the session's rings */
	u64 lost; /* by processes that have ended */
	bool started; /* the first look around is done */
	bool left_out_told, crowded_told;
	struct user_asking asking;
	u32 nr_processes, nr_damaged;
	u32 nr_refused; /* processes that could not make their rings, or not switch all on */
	u32 nr_said; /* warnings of them */
	bool is_unseen_said; /* that there are programs that were not looked at */
	VECTOR(struct recorder_source) sources;
	struct hashmap known; /* names of files that were looked at */
	struct latecomers late;
	struct absent absent;
	struct user_owners owners;
};

/* For as long as the reader is open. */
struct shared_range *recorder_guard(const struct pantrace_reader *reader);
void recorder_unguard(struct shared_range *r);
/* output NULL: nothing is written, rings are only found. 0 or -errno. */
int recorder_open(struct recorder *r, const struct user_session *session, struct ctf_output *output,
		  bool consume);
/*
 * From now on recorder_find() lets programs take part that did not find the session as they began,
 * and names those that cannot: for its one recorder. ANNOUNCE may be NULL.
 */
void recorder_find_late(struct recorder *r, struct announce *announce);
/*
 * Takes in rings that are new in the directory; ask: also those that processes keep in their
 * memory.
 */
void recorder_find(struct recorder *r, bool ask);
/* The last time: all programs that cannot take part are named. */
void recorder_find_last(struct recorder *r);
/* The same without a wait: what processes answer is taken by a later call. */
void recorder_look(struct recorder *r, bool ask);
/*
 * Answers who asks at the socket of the recorders' sessions, and takes what processes have told
 * there: rings that they handed over, and that they do not take part. LAST: until all are heard, a
 * second at most; who is not is told and counted. Returns what announce_serve() does.
 */
int recorder_serve(struct recorder *const *recorders, size_t n, struct announce *a, bool last,
		   struct diag *d);
/*
 * One round over all sources: 1 something was written, 0 nothing, -errno of the output (nothing is
 * lost by it).
 */
int recorder_drain(struct recorder *r, enum ctf_drain what);
/* What ended processes had is written and removed. */
void recorder_reap(struct recorder *r);
/* For poll(): readable when recorder_find() has something to do. */
int recorder_fd(const struct recorder *r);
/* Forgets what recorder_fd() told. */
void recorder_fd_clear(struct recorder *r);
/* Events that processes lost for want of room, exactly. */
u64 recorder_lost(const struct recorder *r);
void recorder_close(struct recorder *r);

#endif
