/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session of instrumented processes as the tool sees it: a description in RUNTIME/sessions
 * (pantrace/protocol.h), where programs that start later find it, and a directory that holds the
 * ring files of all of them. Both outlive the tool: whoever knows the name goes on with the
 * session.
 */
#ifndef PANTRACE_USER_SESSION_H
#define PANTRACE_USER_SESSION_H

#include "user/process.h"
#include "user/tracked.h"

struct user_session_options {
	/*
	 * NULL: one is made up. Such a session, and one with watch, is swept once its recorder is
	 * gone.
	 */
	const char *name;
	u32 mode; /* enum pantrace_mode */
	u64 sub_size, subs; /* 0 = 256 KiB, 8 */
	u64 block_us;
	bool threads;
	const char *contexts; /* "vpid,vtid"; NULL = none */
	const char *filters; /* "filter ..." lines; NULL = none */
	/* socket where programs that start later ask for filters (user/announce.h); NULL = none */
	const char *ask;
	const char *
		/*
		 * socket where processes hand over rings that have no name (user/announce.h); NULL
		 * = none
		 */
		keeper;
	/* with ask: what the answers are made of, for the next recorder; NULL = it cannot go on */
	const char *predicate;
	const char *const *events, *const *excluded; /* globs over "provider:name" */
	u32 nr_events, nr_excluded;
	const char *level; /* NULL = all; "warning", "4", "=info" */
	struct user_selection which;
	struct user_tracked tracked; /* who of them records */
	/* with watch: condition and actions, for whoever lists them; NULL = none */
	const char *trigger;
	bool watch; /* of triggers */
	bool stopped; /* it begins with its events off */
	bool environment; /* only programs that are told by PANTRACE_SESSION */
	const char *rings; /* directory for ring files; NULL = /dev/shm */
	const char *output; /* where a recorder writes, for the description; NULL = none */
};

struct user_session {
	char name[64];
	char *file; /* of the description */
	char *text; /* its lines */
	char *directory; /* of ring files */
	char *output; /* of the recorder, or NULL */
	char *ask, *keeper, *predicate, *trigger; /* as in the options, or NULL */
	int lock; /* with which it was opened to be changed; 0 = none */
	pid_t recorder; /* 0 = none */
	bool recorder_alive;
	bool anonymous;
	bool stopped; /* its events are off */
	u32 mode;
	u32 refused; /* processes that said no as it began: they are named */
	bool untold; /* those that ran as it began are told by its recorder (user/latecomers.h) */
};

/* "overwrite", "block=5ms" (sets block_us). 0 or -EINVAL. */
int user_mode_parse(const char *text, u32 *ret_mode, u64 *ret_block_us);
const char *user_mode_name(u32 mode);

/*
 * Describes it, makes its directory, tells every process that is meant. 0 or -errno with the reason
 * in d.
 */
int user_session_create(const struct user_session_options *options, bool recorder, struct diag *d,
			struct user_session *ret);
int user_session_open(const char *name, struct diag *d, struct user_session *ret);
/*
 * The same, to be changed: no other tool of our user's changes or ends a session until this one is
 * released.
 */
int user_session_open_to_change(const char *name, struct diag *d, struct user_session *ret);
/* From now on we are its recorder; opened to be changed, it is that no more. 0 or -errno. */
int user_session_adopt(struct user_session *s, const char *output, struct diag *d);
/*
 * Programs whose filters nobody could compile ask again, once the caller listens at s->ask: nobody
 * waits for them here.
 */
void user_session_ask_again(const struct user_session *s);
/* All sessions of our runtime directory. */
struct user_sessions {
	VECTOR(struct user_session) all;
};
void user_sessions_load(struct user_sessions *s);
void user_sessions_release(struct user_sessions *s);

/*
 * Who records from now on: the description says it, then every process is told. 0 or -errno with
 * the reason in d.
 */
int user_session_track(struct user_session *s, const struct user_tracked *tracked, struct diag *d);
/*
 * Its events on or off, also for programs that start later. 0, with how many processes refuse in
 * *ret_refused, or -errno with the reason in d.
 */
int user_session_switch(const char *name, bool on, struct diag *d, u32 *ret_refused);
/*
 * "stop", "resume", "destroy": asks every process. What they said is in *ret when that is not NULL
 * (release it).
 */
void user_session_tell(const struct user_session *s, const char *verb, struct user_processes *ret,
		       struct diag *d);
/*
 * The description, the ring files and their directory: processes must have been told to destroy it.
 */
void user_session_remove(struct user_session *s);
void user_session_release(struct user_session *s);
/* Ends what killed recorders without a name for their session have left, and what lies about. */
void user_sessions_sweep(struct diag *d);

#endif
