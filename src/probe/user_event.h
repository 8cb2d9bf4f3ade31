/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of programs that are built with libpantrace: what they are, asked of the programs
 * themselves (pantrace/protocol.h), and what a body sees of them. A live event arrives as a call of
 * one of the places behind the USDT note libpantrace:script (lib/hooks.c): first argument the
 * event's hash, second a context of words (lib/vm.h). A filter that runs in the program has that
 * context itself.
 */
#ifndef PANTRACE_PROBE_USER_EVENT_H
#define PANTRACE_PROBE_USER_EVENT_H

#include "probe/user.h"

enum { USER_EVENT_FIELDS = 16 };

struct user_event_field {
	u8 type; /* enum pantrace_type */
	const char *name; /* "id"; members of structures "request_id" */
	const char *extra; /* enums: "NAME=VALUE,..."; arrays: the count; else "" */
};

struct user_event {
	struct user_site site; /* what user_attach() needs; first */
	const char *provider, *name;
	u64 hash; /* of provider, name and fields: 63 bits, as lib/hooks.c has it */
	pid_t pid; /* a process that has it */
	u32 sites;
	u32 level;
	u32 nfields;
	struct user_event_field fields[USER_EVENT_FIELDS];
};

/*
 * Calls fn for each event of each process (pid 0: of all), in arena, until it returns non-zero,
 * which is the result. Events of several processes come several times. Processes that do not answer
 * are a warning if d is not NULL. *ret_processes (may be NULL): how many answered.
 */
int user_event_each(struct arena *arena, pid_t pid, struct diag *d,
		    int (*fn)(void *arg, struct user_event *event), void *arg, u32 *ret_processes);
/*
 * A line "event SITES SESSIONS LEVEL PROVIDER:NAME FIELDS..." of what a program says; NULL: it is
 * none. In arena.
 */
struct user_event *user_event_parse(struct arena *arena, const char *line);
/* The probe `user` where its body only counts: it runs in the program. */
extern const struct probe_provider probe_user_process;
/* probe_cache.user_session, which may be NULL. */
void user_event_release(void *session);
/*
 * A struct of the fields, each where the context has it: behind the register (live) or at an offset
 * (filter).
 */
const struct type *user_event_args(struct probe_env *env, const struct user_event *event, bool live,
				   const struct location **ret_locations);

#endif
