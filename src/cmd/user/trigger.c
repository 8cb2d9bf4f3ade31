// SPDX-License-Identifier: GPL-2.0-or-later
/* pantrace user trigger|list-triggers|remove-trigger: actions to take when an event occurs. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/user/user.h"
#include "engine/run_signals.h"
#include "lang/predicate/process.h"
#include "trace/ctf/output.h"
#include "user/action.h"
#include "user/trigger.h"
#include "view/sink.h"

#define NAP_MS 20

struct trigger_options {
	struct user_session_arguments who; /* holds pids and names */
	const char *output, *name;
	u64 every, once_after, duration_ns;
	bool json, quiet;
};

static const struct option_spec table[] = {
	{0, "name", "NAME", "what `user list-triggers` calls it (default: watch-PID)",
	 OPTION_STRING, offsetof(struct trigger_options, name)},
	{'p', "pid", "PID", "watch only this process (may be repeated)", OPTION_PIDS,
	 offsetof(struct trigger_options, who.pids)},
	{'n', "program", "NAME", "watch only programs of this name, * and ? allowed", OPTION_LIST,
	 offsetof(struct trigger_options, who.names)},
	{0, "every", "N", "act each Nth time only", OPTION_U64,
	 offsetof(struct trigger_options, every)},
	{0, "once-after", "N", "act once, the Nth time, and end", OPTION_U64,
	 offsetof(struct trigger_options, once_after)},
	{'o', "output", "DIR", "of snapshots (default: each SESSION-DATE-TIME-N)", OPTION_STRING,
	 offsetof(struct trigger_options, output)},
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 offsetof(struct trigger_options, duration_ns)},
	{'j', "json", NULL, "notifications as JSON, one object a line", OPTION_FLAG,
	 offsetof(struct trigger_options, json)},
	{'q', "quiet", NULL, "nothing is said of snapshots", OPTION_FLAG,
	 offsetof(struct trigger_options, quiet)},
	{0},
};

static const struct option_field fields[] = {
	{"time_ns", "of a notification: when it was noticed, since 1970"},
	{"condition", "as it was given"},
	{"count", "how often it held, or began to, since the last notification"},
	{0},
};

static const struct command_spec spec = {
	.name = "user trigger",
	.synopsis = "CONDITION ACTION... [options]",
	.summary = "when an event comes: start, stop, rotate, snapshot a session, tell",
	.examples =
		"pantrace user trigger shop:error notify   # a line for each error\n"
		"pantrace user trigger 'shop:order /args.id == 4711/' 'start web' notify   # "
		"records from this order on\n"
		"pantrace user trigger 'latency(shop:begin, shop:end) > 10ms' 'snapshot black-box' "
		"-o slow\n"
		"pantrace user trigger 'rate(shop:error) > 100/s' 'rotate web' --every 10 &\n"
		"pantrace user trigger 'usage(web) >= 80%' notify --name nearly-full   # its rings "
		"fill up: who reads them?\n"
		"pantrace user trigger 'written(web) >= 1G' 'stop web'\n"
		"pantrace -e 'user:shop:error { @[ustack] = count() }'   # actions of one's own: a "
		"script\n",
	.details =
		"CONDITION is 'EVENTS', 'EVENTS /args.FIELD > 5/', 'rate(EVENTS) > 100/s' or "
		"'latency(FROM, TO) > 10ms'. Of a session: 'usage(SESSION) >= 80%' (or <=, >, <; "
		"or bytes, as 64K) is what nobody has read yet in the fullest ring of its programs "
		"that run, 'written(SESSION) >= 1G' what its recorder has written since it began; "
		"both are looked at as the trigger waits, and act when they become true, also if "
		"they are true at first.\n\n"
		"ACTION is 'start SESSION' (after `user stop`), 'stop SESSION', 'rotate SESSION', "
		"'snapshot SESSION' or 'notify'; several are done in the order given, some "
		"milliseconds after the event. What holds several times meanwhile is done once, "
		"and told with the count. For anything else a script has the event as a probe, "
		"with functions, maps and system().\n\n"
		"It watches until Ctrl-C, or the end of the session that CONDITION is about; for "
		"events in rings of its own; `user list-triggers` shows it, "
		"`user remove-trigger` ends it. Events that these rings could not hold are told at "
		"the end, programs that cannot take part when they are found (exit code 3).\n",
	.fields = fields,
	.options = table,
};

struct watching {
	const struct trigger_options *o;
	struct triggers triggers;
	struct announce *announce;
	struct action_context context;
	VECTOR(struct action) actions;
	u64 seen, told; /* fires: counted at the last look, and at the last action */
	bool failed, over;
	struct diag d;
};

static bool is_due(const struct watching *w, u64 fires)
{
	const u64 every = MAX(w->o->every, (u64)1);

	if (w->o->once_after)
		return w->seen < w->o->once_after && fires >= w->o->once_after;
	return fires / every > w->seen / every;
}

/* Serves programs that ask for filters, and those that hand over rings without a name. */
static void serve(struct watching *w, bool last)
{
	struct recorder *const recorder = &w->triggers.recorder;

	if (recorder_serve(&recorder, 1, w->announce, last, &w->d))
		w->failed = w->over = true;
}

static void look(struct watching *w)
{
	u64 fires;

	serve(w, false);
	triggers_look(&w->triggers);
	fires = w->triggers.all.items[0].fires;
	if (is_due(w, fires)) {
		for (size_t i = 0; i < w->actions.len && !w->over; i++) {
			const int rc = action_run(&w->actions.items[i], &w->context,
						  fires - w->told, &w->d);

			w->failed |= rc && rc != -EPIPE;
			w->over = rc == -EPIPE;
		}
		w->told = fires;
		w->over |= w->o->once_after;
	}
	w->seen = fires;
	diag_tell(&w->d);
	if (w->triggers.gone && !w->over)
		fprintf(stderr, "session '%s' has ended\n", w->triggers.gone);
	w->over |= w->triggers.gone != NULL;
}

static void wait_and_look(struct watching *w, int signals)
{
	const u64 until = clock_now_ns(CLOCK_MONOTONIC) + w->o->duration_ns;
	struct pollfd fds[] = {{signals, POLLIN, 0},
			       {recorder_fd(&w->triggers.recorder), POLLIN, 0},
			       {announce_fd(w->announce), POLLIN, 0}};

	while (!w->over) {
		poll(fds, ARRAY_SIZE(fds), NAP_MS);
		w->over = fds[0].revents ||
			  (w->o->duration_ns && clock_now_ns(CLOCK_MONOTONIC) >= until);
		look(w);
	}
}

static int begin(struct watching *w, char **words, int n, struct user_session_options *like)
{
	char ask[ANNOUNCE_PATH] = "";
	struct strbuf note = STRBUF_INIT;
	struct trigger one;
	int fd, rc = trigger_parse(words[0], &w->d, &one);

	if (rc)
		return rc;
	vector_push(&w->triggers.all, one);
	if (one.session && (like->which.nr_pids || like->which.nr_names)) {
		diag_error(&w->d, NO_SPAN, "-p and -n are for conditions about events");
		return -EINVAL;
	}
	strbuf_addf(&note, "%s -> ", words[0]);
	for (int i = 1; i < n && !rc; i++) {
		struct action action;

		rc = action_parse(words[i], &w->d, &action);
		vector_push(&w->actions, action);
		strbuf_addf(&note, "%s%s", i > 1 ? ", " : "", words[i]);
	}
	if (!rc && w->o->output) {
		fd = ctf_directory_open(w->o->output, &w->d);
		rc = MIN(fd, 0);
		if (fd >= 0)
			close(fd);
	}
	/*
	 * programs that start later ask for the condition's filter, and hand over rings that have
	 * no name
	 */
	if (!rc)
		rc = announce_begin(&predicate_for_processes, &w->d, ask, &w->announce);
	like->keeper = ask;
	like->ask = one.predicate ? ask : NULL;
	w->triggers.note = note.data;
	w->triggers.name = w->o->name;
	w->triggers.compiler = &predicate_for_processes;
	if (!rc)
		rc = triggers_begin(&w->triggers, like, w->announce, &w->d);
	strbuf_release(&note);
	return rc;
}

static enum exit_code end(struct watching *w)
{
	struct triggers *const t = &w->triggers;
	bool whole = true;

	if (t->begun) {
		if (t->listens)
			user_session_tell(&t->session, "stop", NULL, &w->d);
		serve(w, true);
		whole = !triggers_missed(t, &w->d) && !announce_refused(w->announce) &&
			!w->context.refused;
	}
	triggers_end(t, &w->d);
	announce_close(w->announce);
	vector_free(&w->actions);
	diag_tell(&w->d);
	return w->failed ? EXIT_FAILED : whole ? EXIT_OK : EXIT_LOST;
}

static int check(int nwords, const struct trigger_options *o)
{
	if (nwords < 2)
		return options_usage_error(&spec, "a condition and an action are needed, as in "
						  "'shop:error' 'stop web'");
	if (o->every && o->once_after)
		return options_usage_error(&spec, "--every and --once-after exclude each other");
	return OPTIONS_GO_ON;
}

int user_trigger(int argc, char **argv)
{
	struct trigger_options o = {0};
	struct watching w = {.o = &o, .d = DIAG_INIT};
	struct user_session_options like = {0};
	struct run_signals signals;
	int asked, first, rc = options_parse(&spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = check(argc - first, &o);
	if (rc == OPTIONS_GO_ON)
		rc = user_session_options_from(&spec, &o.who, &like);
	if (rc == OPTIONS_GO_ON) {
		w.context = (struct action_context){.directory = o.output,
						    .condition = argv[first],
						    .json = o.json,
						    .quiet = o.quiet};
		asked = run_signals_open(&signals);
		user_sessions_sweep(&w.d);
		w.failed = begin(&w, argv + first, argc - first, &like) != 0;
		diag_tell(&w.d);
		if (!w.failed && isatty(STDERR_FILENO))
			fprintf(stderr, "Waiting for %s. Ctrl-C to end.\n", argv[first]);
		if (!w.failed)
			wait_and_look(&w, asked);
		rc = end(&w);
		close(asked);
	}
	diag_release(&w.d);
	user_session_arguments_release(&o.who);
	return rc;
}

/* ---- listing and removing ---- */

struct list_options {
	bool json;
};

int user_list_triggers(int argc, char **argv)
{
	static const struct option_spec list_table[] = {
		{'j', "json", NULL, "one JSON object a trigger", OPTION_FLAG,
		 offsetof(struct list_options, json)},
		{0},
	};
	static const struct option_field list_fields[] = {
		{"TRIGGER", "its name, for `user remove-trigger`"},
		{"PID", "the `user trigger` that waits for it"},
		{"DOES", "condition -> actions"},
		{0},
	};
	static const struct command_spec list_spec = {
		.name = "user list-triggers",
		.synopsis = "[--json]",
		.summary = "triggers that are waited for",
		.examples = "pantrace user list-triggers\n",
		.fields = list_fields,
		.options = list_table,
		.takes_no_argument = true,
	};
	static const struct sink_column columns[] = {
		{"trigger", "TRIGGER", 16}, {"pid", "PID", 8}, {"does", "DOES", 0}, {0}};
	struct list_options o = {0};
	struct user_sessions sessions = {0};
	struct strbuf out = STRBUF_INIT;
	struct sink sink = {.columns = columns, .out = &out};
	int first, rc = options_parse(&list_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	sink.format = sink_of(o.json);
	user_sessions_load(&sessions);
	for (size_t i = 0; i < sessions.all.len; i++) {
		const struct user_session *const s = &sessions.all.items[i];

		if (!s->trigger || !s->recorder_alive)
			continue;
		sink_row(&sink, SINK_TEXT(s->name), SINK_NUMBER(s->recorder),
			 SINK_TEXT(s->trigger));
	}
	fwrite(out.data, 1, out.len, stdout);
	if (!out.len && !o.json)
		fputs("there is no trigger\n", stderr);
	strbuf_release(&out);
	user_sessions_release(&sessions);
	return EXIT_OK;
}

int user_remove_trigger(int argc, char **argv)
{
	static const struct command_spec remove_spec = {
		.name = "user remove-trigger",
		.synopsis = "TRIGGER",
		.summary = "end a trigger",
		.examples = "pantrace user remove-trigger nearly-full   # as `user list-triggers` "
			    "names it\n",
		.options = options_none,
	};
	struct user_session session;
	struct diag d = DIAG_INIT, none = DIAG_INIT;
	int first, rc = options_parse(&remove_spec, argc, argv, NULL, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first != 1)
		return options_usage_error(&remove_spec, "one name of a trigger is needed");
	if (user_session_open(argv[first], &none, &session)) {
		diag_error(&d, NO_SPAN, "there is no trigger '%s'", argv[first]);
		diag_hint(&d, "`pantrace user list-triggers` shows those that there are");
	} else {
		if (!session.trigger)
			diag_error(&d, NO_SPAN, "session '%s' is not a trigger", session.name);
		else if (!session.recorder_alive)
			user_sessions_sweep(&d); /* it was killed */
		else if (kill(session.recorder, SIGTERM))
			diag_error(&d, NO_SPAN, "process %d: %s", (int)session.recorder,
				   strerror(errno));
		user_session_release(&session);
	}
	diag_release(&none);
	return diag_close(&d, EXIT_OK);
}
