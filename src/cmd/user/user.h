/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace user`: sessions of instrumented programs. */
#ifndef PANTRACE_CMD_USER_USER_H
#define PANTRACE_CMD_USER_USER_H

#include "base/options.h"
#include "base/strbuf.h"
#include "user/session.h"

int cmd_user(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_crash(int argc, char **argv);

/* The sub-commands; argv[0] is the name. */
int user_list(int argc, char **argv);
int user_create(int argc, char **argv);
int user_start(int argc, char **argv);
int user_order(int argc, char **argv); /* stop, resume, destroy, clear, rotate */
int user_snapshot_command(int argc, char **argv);
int user_status(int argc, char **argv);
int user_enable(int argc, char **argv);
int user_disable(int argc, char **argv);
int user_track(int argc, char **argv);
int user_untrack(int argc, char **argv);
int user_trigger(int argc, char **argv);
int user_list_triggers(int argc, char **argv);
int user_remove_trigger(int argc, char **argv);

/* Options that `record` and `user start` share: events, processes and rings. */
struct user_session_arguments {
	struct string_list events, excluded, names, uids, gids;
	struct pid_list pids;
	bool all, threads;
	u64 sub_size, subs; /* 0 = the default */
	const char *level, *mode, *contexts, *rings, *filter;
};

/* Rows for an option table. s: the struct of the options; m: its member of the type above. */
/* clang-format off */
#define USER_EVENT_OPTIONS(s, m) \
	{'u', "user", "EVENTS", "events of instrumented programs, 'PROVIDER:NAME' with * " \
	"and ? (may be repeated)", \
	 OPTION_LIST, offsetof(struct s, m.events)}, \
	{'x', "exclude", "EVENTS", "but not these", OPTION_LIST, offsetof(struct s, m.excluded)}, \
	{0, "level", "LEVEL", "only events at least as severe, as 'warning' or 4; exactly: " \
	"'=info'", OPTION_STRING, \
	 offsetof(struct s, m.level)}

#define USER_PID_OPTION(s, m) \
	{'p', "pid", "PID", "only this process (may be repeated)", OPTION_PIDS, \
	offsetof(struct s, m.pids)}

#define USER_PROGRAM_OPTIONS(s, m) \
	{'n', "name", "NAME", "only programs of this name, * and ? allowed; also those " \
	"that start later", \
	 OPTION_LIST, offsetof(struct s, m.names)}, \
	{0, "uid", "USER", "only processes of this user, by name or number; several " \
	"as 'USER,USER'", \
	 OPTION_LIST, offsetof(struct s, m.uids)}, \
	{0, "gid", "GROUP", "only processes of this group, likewise", OPTION_LIST, \
	offsetof(struct s, m.gids)}

#define USER_ALL_OPTION(s, m) \
	{'a', "all", NULL, "all programs, also those that start later (the default)", OPTION_FLAG, \
	 offsetof(struct s, m.all)}

#define USER_WHAT_OPTIONS(s, m) \
	USER_EVENT_OPTIONS(s, m), USER_PID_OPTION(s, m), USER_PROGRAM_OPTIONS(s, m), \
	USER_ALL_OPTION(s, m)

#define USER_FILTER_OPTION(s, m) \
	{0, "filter", "PREDICATE", "only events for which this holds, as between the slashes " \
	"of a script: " \
	 "'args.status >= 500 && str(args.url) != \"/\"'; decided " \
	 "in the program, before the event is written", \
	 OPTION_STRING, offsetof(struct s, m.filter)}

#define USER_RING_OPTIONS(s, m) \
	{0, "mode", "discard|overwrite|block[=TIME]", \
	"when a ring is full: discard (the new event is lost and " \
	"counted), overwrite (the oldest " \
	 "go: a flight recorder), block[=TIME] (the program waits, " "100ms if not said)", \
	 OPTION_STRING, \
	 offsetof(struct s, m.mode)}, \
	{0, "sub-size", "BYTES", "size of a sub-buffer (default 256K)", OPTION_SIZE, \
	offsetof(struct s, m.sub_size)}, \
	{0, "subs", "N", "sub-buffers a CPU and process (default 8)", OPTION_POSITIVE, \
	offsetof(struct s, m.subs)}, \
	{0, "threads", NULL, "rings of threads instead of CPUs", OPTION_FLAG, offsetof(struct s, \
	m.threads)}, \
	{'c', "contexts", "CONTEXTS", \
	"with every event: vpid, vtid, procname, cpu_id, context_switches, " "page_faults, " \
	 "ip, user_stack", OPTION_STRING, offsetof(struct s, m.contexts)}, \
	{0, "rings", "DIR", "keep the rings here (default: in memory, /dev/shm); on a " \
	"disk they outlive the machine", \
	 OPTION_STRING, offsetof(struct s, m.rings)}
/* clang-format on */

/*
 * Fills in *ret from the arguments, which it points into. Returns OPTIONS_GO_ON, or an exit code
 * after printing why.
 */
int user_session_options_from(const struct command_spec *spec,
			      const struct user_session_arguments *a,
			      struct user_session_options *ret);
/*
 * Compiles a->filter (if set) for the events of the programs that run now, into lines of a
 * description, which *lines owns. If o->ask is set, programs that start later ask for theirs.
 * Returns 0 or -errno with a diagnostic.
 */
int user_session_filter(const struct user_session_arguments *a, struct user_session_options *o,
			struct diag *d, struct strbuf *lines);
/*
 * Warns about each pattern that matches no event of a running program, with the nearest name.
 * only_near: warn only if there is a near name, since the pattern may be meant for programs that
 * start later.
 */
void user_unknown_tell(const char *const *globs, u32 n, bool only_near, struct diag *d);
/* The lists. */
void user_session_arguments_release(struct user_session_arguments *a);

#endif
