// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <time.h>

#include "base/escape.h"
#include "cmd/user/user.h"
#include "user/absent.h"
#include "user/action.h"
#include "user/snapshot.h"
#include "view/sink.h"

/* ---- create, start ---- */

struct start_options {
	struct user_session_arguments what;
};

static const struct option_spec start_table[] = {
	{0, NULL, NULL, "What", OPTION_HEADING, 0},  USER_WHAT_OPTIONS(start_options, what),
	{0, NULL, NULL, "Rings", OPTION_HEADING, 0}, USER_FILTER_OPTION(start_options, what),
	USER_RING_OPTIONS(start_options, what),	     {0},
};

static const struct command_spec start_spec = {
	.name = "user start",
	.synopsis = "SESSION [-u EVENTS] [options]",
	.summary = "begin a session that stays, without a recorder",
	.examples = "pantrace user start black-box -u 'shop:*' --mode overwrite   # a flight "
		    "recorder for all programs\n"
		    "pantrace user start web -u 'nginx:*' -n nginx   # and later: pantrace record "
		    "--session web -o DIR\n"
		    "pantrace user start web   # the events of a session that is stopped, on\n",
	.details = "Programs that start later join the session. It lasts until `pantrace user "
		   "destroy NAME`. Without options a session that is there goes on, after `user "
		   "create` or `user stop`.\n",
	.options = start_table,
};

static const struct command_spec create_spec = {
	.name = "user create",
	.synopsis = "SESSION [-u EVENTS] [options]",
	.summary = "a session whose events are off until `user start`",
	.examples = "pantrace user create web -n nginx   # then, in any order:\n"
		    "pantrace user enable web 'nginx:*' --level warning\n"
		    "pantrace user track web --uid www-data\n"
		    "pantrace record --session web -o DIR &\n"
		    "pantrace user start web   # from here on it records\n",
	.details = "Programs take part from now on, those that start later when they do; none of "
		   "them records before `pantrace user start NAME`, or the action 'start NAME' of "
		   "`user trigger`. Events are those of -u and of `user enable`.\n",
	.options = start_table,
};

/* Returns 0, or the exit code if the session was made but not all programs joined. */
static int make(const struct start_options *o, struct user_session_options *options, struct diag *d)
{
	struct strbuf filters = STRBUF_INIT;
	struct user_session session;
	int rc = user_session_filter(&o->what, options, d, &filters);

	if (!rc)
		rc = user_session_create(options, false, d, &session);
	strbuf_release(&filters);
	if (rc)
		return EXIT_FAILED;
	absent_warn(&session, d);
	rc = session.refused ? EXIT_LOST : EXIT_OK;
	user_session_release(&session);
	return rc;
}

int user_create(int argc, char **argv)
{
	struct user_session_options options = {.stopped = true};
	struct start_options o = {0};
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(&create_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		rc = options_usage_error(&create_spec, "one name of a session is needed");
	else if (!o.what.events.count && (o.what.filter || o.what.level))
		rc = options_usage_error(&create_spec, "which events? -u 'PROVIDER:NAME'");
	else
		rc = user_session_options_from(&create_spec, &o.what, &options);
	if (rc == OPTIONS_GO_ON) {
		options.name = argv[first];
		rc = diag_close(&d, make(&o, &options, &d));
	}
	user_session_arguments_release(&o.what);
	return rc;
}

static int go_on(const char *name)
{
	struct diag d = DIAG_INIT;
	u32 refused = 0;

	user_session_switch(name, true, &d, &refused);
	return diag_close(&d, refused ? EXIT_LOST : EXIT_OK);
}

int user_start(int argc, char **argv)
{
	struct user_session_options options = {0};
	struct start_options o = {0};
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(&start_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		rc = options_usage_error(&start_spec, "one name of a session is needed");
	else if (argc == 2)
		return go_on(argv[first]);
	else if (!o.what.events.count)
		rc = options_usage_error(&start_spec, "which events? -u 'PROVIDER:NAME'; without "
						      "options a session that is there goes on");
	else
		rc = user_session_options_from(&start_spec, &o.what, &options);
	if (rc == OPTIONS_GO_ON) {
		options.name = argv[first];
		rc = diag_close(&d, make(&o, &options, &d));
	}
	user_session_arguments_release(&o.what);
	return rc;
}

/* ---- commands that take only a name ---- */

static int named(const struct command_spec *spec, int argc, char **argv, void *values,
		 struct diag *d, struct user_session *ret)
{
	int first, rc = options_parse(spec, argc, argv, values, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		return options_usage_error(spec, "one name of a session is needed");
	return user_session_open(argv[first], d, ret) ? diag_close(d, EXIT_FAILED) : OPTIONS_GO_ON;
}

static void stop(struct user_session *s, struct diag *d)
{
	user_session_switch(s->name, false, d, &s->refused);
}

static void resume(struct user_session *s, struct diag *d)
{
	user_session_switch(s->name, true, d, &s->refused);
}

static void destroy(struct user_session *s, struct diag *d)
{
	user_session_tell(s, "destroy", NULL, d);
	user_session_remove(s);
}

static void clear(struct user_session *s, struct diag *d)
{
	user_session_clear(s);
}

static void rotate(struct user_session *s, struct diag *d)
{
	user_session_rotate(s, d);
}

#define ORDER(verb, what, example, more)   \
	{                                  \
		{.name = "user " #verb,    \
		 .synopsis = "SESSION",    \
		 .summary = what,          \
		 .examples = example,      \
		 .details = more,          \
		 .options = options_none}, \
			verb               \
	}

static const struct {
	struct command_spec spec;
	void (*act)(struct user_session *s, struct diag *d);
} orders[] = {
	ORDER(stop, "the session's events off; the rings stay",
	      "pantrace user stop black-box   # then look at it: pantrace user snapshot black-box "
	      "-o DIR\n",
	      "Also in programs that start later, until `user start` or `user resume`.\n"),
	ORDER(resume, "the session's events on again after `user stop`",
	      "pantrace user resume black-box   # goes on recording\n",
	      "`user start SESSION` does the same.\n"),
	ORDER(destroy, "end a session: events off, rings and description gone",
	      "pantrace user destroy black-box   # nothing of it is left\n", NULL),
	ORDER(clear, "forget what a session recorded so far",
	      "pantrace user clear black-box   # the next snapshot begins here\n",
	      "Counts of events and losses go on. With a recorder, what it has not yet written is "
	      "forgotten.\n"),
	ORDER(rotate, "the recorder of a session begins a new chunk",
	      "pantrace record --session web -u 'nginx:*' --rotate-size 1G -o DIR &\n"
	      "pantrace user rotate web   # the chunk so far is complete, to be read or moved "
	      "away\n",
	      NULL),
};

int user_order(int argc, char **argv)
{
	struct diag d = DIAG_INIT;
	struct user_session session;
	size_t i = 0;
	int rc;

	while (!str_eq(orders[i].spec.name + strlen("user "), argv[0]))
		i++;
	rc = named(&orders[i].spec, argc, argv, NULL, &d, &session);
	if (rc != OPTIONS_GO_ON)
		return rc;
	session.refused = 0;
	orders[i].act(&session, &d);
	rc = session.refused ? EXIT_LOST : EXIT_OK;
	user_session_release(&session);
	return diag_close(&d, rc);
}

/* ---- snapshot ---- */

struct snapshot_options {
	const char *output;
};

int user_snapshot_command(int argc, char **argv)
{
	static const struct option_spec table[] = {
		{'o', "output", "DIR", "where to write (default: NAME-DATE-TIME)", OPTION_STRING,
		 offsetof(struct snapshot_options, output)},
		{0},
	};
	static const struct command_spec spec = {
		.name = "user snapshot",
		.synopsis = "SESSION [-o DIR]",
		.summary = "write what the rings of a session hold now, as CTF",
		.examples = "pantrace user snapshot black-box -o /tmp/now   # then: pantrace "
			    "report /tmp/now\n",
		.details = "Nobody is stopped for it, and the rings stay as they are.\n",
		.options = table,
	};
	struct snapshot_options o = {0};
	struct diag d = DIAG_INIT;
	struct user_session session;
	struct user_snapshot s;
	int rc = named(&spec, argc, argv, &o, &d, &session);
	char directory[128];
	time_t now = time(NULL);
	struct tm tm;

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (!o.output) {
		const size_t n =
			(size_t)snprintf(directory, sizeof(directory), "%s-", session.name);

		strftime(directory + n, sizeof(directory) - n, "%Y%m%d-%H%M%S",
			 localtime_r(&now, &tm));
		o.output = directory;
	}
	rc = user_snapshot(&session, &(struct ctf_output_options){.directory = o.output}, &d, &s);
	if (!rc)
		user_snapshot_say(&s, o.output, NULL);
	user_session_release(&session);
	return diag_close(&d, rc ? EXIT_FAILED : EXIT_OK);
}

/* ---- status ---- */

struct status_options {
	bool json;
};

static const struct option_field status_fields[] = {
	{"SESSION, MODE", "name of the session; what happens when a ring is full"},
	{"TRACKED", "whose processes record, where these are not all"},
	{"RECORDER", "the process that writes it: '-' none, with '!' it is gone"},
	{"PID, PROGRAM, STATE",
	 "a process that takes part: armed (it has no such event yet), running, stopped, untracked "
	 "(its events are off: see user track)"},
	{"EVENTS, LOST", "recorded and lost since the session began there"},
	{0},
};

static const struct command_spec status_spec = {
	.name = "user status",
	.synopsis = "[SESSION]",
	.summary = "sessions, their processes, counts of events",
	.examples = "pantrace user status   # all sessions\npantrace user status black-box --json  "
		    " # one, for a script\n",
	.fields = status_fields,
	.options =
		(const struct option_spec[]){{'j', "json", NULL,
					      "one JSON object a session and process", OPTION_FLAG,
					      offsetof(struct status_options, json)},
					     {0}},
};

struct status_line {
	char state[16];
	u64 events, lost;
};

/* Finds "session NAME STATE EVENTS LOST FILE" in the answer of a process. */
static bool status_parse(const char *text, const char *session, struct status_line *ret)
{
	char name[64];

	return text &&
	       sscanf(text, "session %63s %15s %" SCNu64 " %" SCNu64, name, ret->state,
		      &ret->events, &ret->lost) == 4 &&
	       str_eq(name, session) &&
	       !ret->state[strspn(ret->state, "abcdefghijklmnopqrstuvwxyz")];
}

static const struct sink_column status_columns[] = {
	{.key = "session"},    {.key = "mode"},
	{.key = "tracked"},    {.key = "recorder"},
	{"pid", "PID", 8},     {"program", "PROGRAM", 16},
	{"state", "STATE", 9}, {"events", "EVENTS", -12},
	{"lost", "LOST", -12}, {0}};

static void tracked_add(const void *tracked, struct json *j)
{
	user_tracked_json(tracked, j);
}

static void tracked_show(struct strbuf *out, const struct user_tracked *tracked)
{
	struct strbuf text = STRBUF_INIT;

	user_tracked_text(tracked, &text);
	if (text.len)
		strbuf_addf(out, "  tracked: %s\n", text.data);
	strbuf_release(&text);
}

static void status_show(struct strbuf *out, const struct user_session *s, bool json, struct diag *d)
{
	struct sink sink = {
		.format = sink_of(json), .columns = status_columns, .out = out, .indent = "  "};
	struct user_processes told;
	struct user_tracked tracked;

	user_tracked_read(s->text, &tracked);
	if (!json) {
		strbuf_addf(out, "%s: %s%s", s->name, user_mode_name(s->mode),
			    s->stopped ? ", stopped" : "");
		if (s->recorder)
			strbuf_addf(out, ", recorder %d%s", (int)s->recorder,
				    s->recorder_alive ? "" : " (gone)");
		if (s->output) {
			strbuf_addstr(out, ", writes ");
			escape_line(out, s->output, strlen(s->output));
		}
		strbuf_addch(out, '\n');
		tracked_show(out, &tracked);
	}
	user_session_tell(s, "status", &told, d);
	for (size_t i = 0; i < told.all.len; i++) {
		const struct user_process *p = &told.all.items[i];
		struct status_line line;

		if (p->error || !status_parse(p->text, s->name, &line))
			continue;
		sink_row(&sink, SINK_TEXT(s->name), SINK_TEXT(user_mode_name(s->mode)),
			 SINK_PARTS(tracked_add, &tracked),
			 SINK_NUMBER(s->recorder_alive ? s->recorder : 0), SINK_NUMBER(p->pid),
			 SINK_TEXT(p->name), SINK_TEXT(line.state), SINK_NUMBER(line.events),
			 SINK_NUMBER(line.lost));
	}
	if (!json && !sink.has_header)
		strbuf_addstr(out, "  no process takes part\n");
	user_processes_release(&told);
}

int user_status(int argc, char **argv)
{
	struct status_options o = {0};
	struct user_sessions sessions = {0};
	struct strbuf out = STRBUF_INIT;
	struct user_session one;
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(&status_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&status_spec, "one name of a session at most");
	if (first == argc)
		user_sessions_load(&sessions);
	else if (user_session_open(argv[first], &d, &one))
		return diag_close(&d, EXIT_FAILED);
	else
		vector_push(&sessions.all, one);
	for (size_t i = 0; i < sessions.all.len; i++)
		status_show(&out, &sessions.all.items[i], o.json, &d);
	if (!sessions.all.len && !o.json)
		fputs("there is no session\n", stderr);
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	user_sessions_release(&sessions);
	return diag_close(&d, EXIT_OK);
}
