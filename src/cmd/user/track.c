// SPDX-License-Identifier: GPL-2.0-or-later
/* pantrace user track|untrack: chooses the processes that record into a session. */

#include "base/process.h"
#include "cmd/user/user.h"

struct track_options {
	struct string_list lists[USER_ATTRIBUTES];
	bool all;
};

static const struct option_spec table[] = {
	{'p', "pid", "PID", "processes, as you see them; several as 'PID,PID', or 'all'",
	 OPTION_LIST, offsetof(struct track_options, lists[USER_PID])},
	{0, "uid", "USER", "users, by name or number", OPTION_LIST,
	 offsetof(struct track_options, lists[USER_UID])},
	{0, "gid", "GROUP", "groups, by name or number", OPTION_LIST,
	 offsetof(struct track_options, lists[USER_GID])},
	{0, "vpid", "NUMBER", "processes, as they see themselves (in a container)", OPTION_LIST,
	 offsetof(struct track_options, lists[USER_VPID])},
	{0, "vuid", "USER", "users, as processes see them (in a container)", OPTION_LIST,
	 offsetof(struct track_options, lists[USER_VUID])},
	{0, "vgid", "GROUP", "groups, likewise", OPTION_LIST,
	 offsetof(struct track_options, lists[USER_VGID])},
	{'a', "all", NULL, "all processes", OPTION_FLAG, offsetof(struct track_options, all)},
	{0},
};

#define SETS                                                                                       \
	"A session has a set of each kind; a process records if it is in all of them. At first "   \
	"each set is everybody. The first `track` with a kind limits its set to those that are "   \
	"named, the next ones add to it, `untrack` takes away. 'all' in place of a list is "       \
	"everybody again (untrack: nobody).\n\n"                                                   \
	"Programs that run follow at once: the events of those that are not tracked are off, and " \
	"`user status` says 'untracked'. Programs that start later, and forked children, are "     \
	"judged by the same sets, by their own ids; a process that changes its user is judged "    \
	"anew within about a second. Users and groups are the real ones (getuid, getgid). At "     \
	"most 128 ids.\n"

static const struct command_spec track_spec = {
	.name = "user track",
	.synopsis = "SESSION --pid|--uid|--gid|--vpid|--vuid|--vgid LIST | --all",
	.summary = "limit a session to some processes",
	.examples =
		"pantrace user track black-box --uid www-data   # from now on only its processes\n"
		"pantrace user track black-box --pid 4711,4712   # of these only two\n"
		"pantrace user track black-box --pid all   # all of its processes again\n"
		"pantrace user track black-box --all   # everybody again\n",
	.details = SETS,
	.options = table,
};

static const struct command_spec untrack_spec = {
	.name = "user untrack",
	.synopsis = "SESSION --pid|--uid|--gid|--vpid|--vuid|--vgid LIST | --all",
	.summary = "some processes no longer in a session",
	.examples =
		"pantrace user untrack black-box --pid 4711   # takes one that was tracked out\n"
		"pantrace user untrack black-box --all   # nobody records; then name those who "
		"do:\n"
		"pantrace user track black-box --uid www-data,nobody\n",
	.details = SETS,
	.options = table,
};

static bool nothing_given(const struct track_options *o)
{
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES; a++)
		if (o->lists[a].count)
			return false;
	return true;
}

static int add(struct user_tracked *t, enum user_attribute a, u32 id, struct diag *d)
{
	if (a == USER_PID && !process_exists((pid_t)id)) {
		diag_error(d, NO_SPAN, "there is no process %u (--pid)", id);
		return -ESRCH;
	}
	if (user_tracked_add(t, a, id))
		return 0;
	diag_error(d, NO_SPAN, "more than %d ids", PANTRACE_TRACKED_MAX);
	return -E2BIG;
}

static int take_away(const struct user_session *s, struct user_tracked *t, enum user_attribute a,
		     u32 id, struct diag *d)
{
	const char *const name = user_attribute_name(a);

	if (!t->limited[a]) {
		diag_error(d, NO_SPAN, "session '%s' does not track by %s: whoever it is records",
			   s->name, name);
		diag_hint(d,
			  "`pantrace user untrack %s --all` leaves nobody; then `user track` "
			  "names those who are to record",
			  s->name);
		return -EINVAL;
	}
	if (!user_tracked_remove(t, a, id))
		diag_warning(d, NO_SPAN, "%s %u was not tracked in session '%s'", name, id,
			     s->name);
	return 0;
}

/* Applies one option --pid, --uid ...: a list, or "all". */
static int change(const struct user_session *s, struct user_tracked *t, enum user_attribute a,
		  const char *word, bool on, struct diag *d)
{
	u32 ids[PANTRACE_TRACKED_MAX], nr = 0;
	int rc = 0;

	if (str_eq(word, "all")) {
		user_tracked_set(t, a, on);
		return 0;
	}
	rc = user_attribute_parse(a, word, ids, &nr, d);
	for (u32 i = 0; i < nr && !rc; i++)
		rc = on ? add(t, a, ids[i], d) : take_away(s, t, a, ids[i], d);
	return rc;
}

static int changes(const struct user_session *s, struct user_tracked *t,
		   const struct track_options *o, bool on, struct diag *d)
{
	int rc = 0;

	if (o->all)
		*t = (struct user_tracked){.none = !on};
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES && !rc; a++)
		for (u32 i = 0; i < o->lists[a].count && !rc; i++)
			rc = change(s, t, a, o->lists[a].items[i], on, d);
	return rc;
}

static int track(const struct command_spec *spec, bool on, int argc, char **argv)
{
	struct track_options o = {0};
	struct user_tracked tracked;
	struct user_session session;
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		rc = options_usage_error(spec, "one name of a session is needed");
	else if (o.all != nothing_given(&o))
		rc = options_usage_error(spec, o.all ? "--all is everybody; '--pid all' is all of "
						       "one kind"
						     : "which processes? --pid, --uid, --gid, "
						       "--vpid, --vuid, --vgid or --all");
	else if (!user_session_open_to_change(argv[first], &d, &session)) {
		user_tracked_read(session.text, &tracked);
		if (!changes(&session, &tracked, &o, on, &d))
			user_session_track(&session, &tracked, &d);
		user_session_release(&session);
	}
	options_release(spec, &o);
	return diag_close(&d, rc == OPTIONS_GO_ON ? EXIT_OK : rc);
}

int user_track(int argc, char **argv)
{
	return track(&track_spec, true, argc, argv);
}

int user_untrack(int argc, char **argv)
{
	return track(&untrack_spec, false, argc, argv);
}
