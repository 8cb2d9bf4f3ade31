// SPDX-License-Identifier: GPL-2.0-or-later
/* pantrace user enable|disable: turns events of a running session on and off. */
#include <stdio.h>

#include "cmd/user/user.h"
#include "user/description.h"

#define ASK_MS 2000

struct rules_options {
	const char *level;
};

#define LEVEL_OPTION                                                                           \
	{                                                                                      \
		0, "level", "LEVEL",                                                           \
			"only events at least as severe, as 'warning' or 4; exactly: '=info'", \
			OPTION_STRING, offsetof(struct rules_options, level)                   \
	}

static const struct option_spec table[] = {LEVEL_OPTION, {0}};

static const struct command_spec enable_spec = {
	.name = "user enable",
	.synopsis = "SESSION EVENTS... [--level LEVEL]",
	.summary = "more events on in a session",
	.examples = "pantrace user enable black-box 'shop:*'   # in all its programs, now\n"
		    "pantrace user enable black-box 'nginx:*' --level warning\n",
	.details = "The last of enable and disable that names an event decides. Programs that run "
		   "follow at once, programs that start later when they do. A filter that the "
		   "session has is for the events that it was given with.\n",
	.options = table,
};

static const struct command_spec disable_spec = {
	.name = "user disable",
	.synopsis = "SESSION EVENTS... [--level LEVEL]",
	.summary = "events off in a session",
	.examples = "pantrace user disable black-box 'shop:debug_*'   # the others stay on\n",
	.details = "The last of enable and disable that names an event decides. What the rings "
		   "hold of the events stays. `pantrace user stop` switches all off.\n",
	.options = table,
};

static int follow(struct user_session *s, const char *lines, struct diag *d)
{
	struct user_processes told = {0};
	char *request, *message;
	int rc = user_description_add(s, lines);

	if (rc) {
		diag_error(d, NO_SPAN,
			   rc == -E2BIG ? "session '%s' has too many patterns of events"
					: "session '%s'",
			   s->name);
		if (rc != -E2BIG)
			diag_hint(d, "%s: %s", s->file, strerror(-rc));
		return rc;
	}
	/* the description is changed first, so that a program that starts meanwhile sees it */
	request = user_request("rules", s->name);
	message = xasprintf("%s%s", request, lines);
	user_ask(&told, NULL, message, ASK_MS);
	user_warn(&told, d);
	user_processes_release(&told);
	free(message);
	free(request);
	return 0;
}

static int rules(const struct command_spec *spec, bool on, int argc, char **argv)
{
	struct rules_options o = {0};
	struct strbuf lines = STRBUF_INIT;
	struct user_session session;
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first < 2)
		return options_usage_error(spec, "the name of a session and events are needed");
	rc = user_description_rules(on, (const char *const *)&argv[first + 1],
				    (u32)(argc - first - 1), o.level, &lines, &d);
	if (!rc)
		rc = user_session_open_to_change(argv[first], &d, &session);
	if (!rc) {
		rc = follow(&session, lines.data, &d);
		user_session_release(&session);
	}
	if (!rc)
		/* accepted for programs that start later, but with a warning */
		user_unknown_tell((const char *const *)&argv[first + 1], (u32)(argc - first - 1),
				  false, &d);
	strbuf_release(&lines);
	return diag_close(&d, EXIT_OK);
}

int user_enable(int argc, char **argv)
{
	return rules(&enable_spec, true, argc, argv);
}

int user_disable(int argc, char **argv)
{
	return rules(&disable_spec, false, argc, argv);
}
