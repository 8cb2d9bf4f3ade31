// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/action.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/stall.h"
#include "user/snapshot.h"

struct action_kind {
	const char *word;
	bool names_session;
	int (*run)(struct user_session *s, struct action_context *context, u64 fired,
		   struct diag *d);
};

static int run_start(struct user_session *s, struct action_context *context, u64 fired,
		     struct diag *d)
{
	u32 refused = 0;
	const int rc = user_session_switch(s->name, true, d, &refused);

	context->refused += refused;
	return rc;
}

static int run_stop(struct user_session *s, struct action_context *context, u64 fired,
		    struct diag *d)
{
	u32 refused;

	return user_session_switch(s->name, false, d, &refused);
}

int user_session_rotate(const struct user_session *s, struct diag *d)
{
	int rc = 0;

	if (!s->recorder_alive) {
		diag_error(d, NO_SPAN, "session '%s' has no recorder", s->name);
		diag_hint(d,
			  "`pantrace record --session %s -o DIRECTORY` starts one; `pantrace user "
			  "snapshot %s -o DIRECTORY` needs none",
			  s->name, s->name);
		rc = -ESRCH;
	} else if (kill(s->recorder, SIGUSR2)) {
		rc = -errno;
		diag_error(d, NO_SPAN, "the recorder, process %d: %s", (int)s->recorder,
			   strerror(-rc));
	}
	return rc;
}

static int run_rotate(struct user_session *s, struct action_context *context, u64 fired,
		      struct diag *d)
{
	return user_session_rotate(s, d);
}

static int run_snapshot(struct user_session *s, struct action_context *context, u64 fired,
			struct diag *d)
{
	const u32 number = ++context->snapshots;
	struct user_snapshot result;
	time_t now = time(NULL);
	char *directory, date[32];
	struct tm tm;
	int rc;

	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	directory = context->directory ? xasprintf("%s/snapshot-%u", context->directory, number)
				       : xasprintf("%s-%s-%u", s->name, date, number);
	rc = user_snapshot(s, &(struct ctf_output_options){.directory = directory}, d, &result);
	if (!rc && !context->quiet)
		user_snapshot_say(&result, directory, NULL);
	free(directory);
	return rc;
}

/* The time is that of noticing, which is some milliseconds later than the event's. */
static int run_notify(struct user_session *s, struct action_context *context, u64 fired,
		      struct diag *d)
{
	const u64 ns = clock_now_ns(CLOCK_REALTIME);
	const time_t seconds = (time_t)(ns / 1000000000u);
	struct strbuf out = STRBUF_INIT;
	struct json j = JSON_INIT(&out);
	char date[32];
	struct tm tm;
	int rc;

	if (context->json) {
		json_object(&j);
		json_member_u64(&j, "time_ns", ns);
		json_member_text(&j, "condition", context->condition);
		json_member_u64(&j, "count", fired);
		json_end(&j, '}');
		json_end_line(&j);
	} else {
		strftime(date, sizeof(date), "%H:%M:%S", localtime_r(&seconds, &tm));
		strbuf_addf(&out, "%s.%03u %s", date, (u32)(ns / 1000000u % 1000),
			    context->condition);
		strbuf_addf(&out, fired == 1 ? "\n" : " (%" PRIu64 " times)\n", fired);
	}
	rc = stall_write(STDOUT_FILENO, out.data, out.len);
	strbuf_release(&out);
	if (rc && rc != -EPIPE)
		diag_error(d, NO_SPAN, "standard output: %s", strerror(-rc));
	return rc;
}

static const struct action_kind kinds[] = {
	{"start", true, run_start},    {"stop", true, run_stop},
	{"rotate", true, run_rotate},  {"snapshot", true, run_snapshot},
	{"notify", false, run_notify},
};

int action_parse(const char *text, struct diag *d, struct action *ret)
{
	static const char *const words[] = {"start", "stop", "rotate", "snapshot", "notify"};
	const size_t n = strcspn(text, " ");
	const char *const session = text + n + strspn(text + n, " ");
	char *word = xstrndup(text, n);
	struct user_session s;
	int rc = -EINVAL;

	*ret = (struct action){0};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_eq(word, kinds[i].word))
			ret->kind = &kinds[i];
	if (!ret->kind) {
		diag_error(d, NO_SPAN, "there is no action '%s'", word);
		diag_hint(d, "'start SESSION', 'stop SESSION', 'rotate SESSION', 'snapshot "
			     "SESSION', 'notify'");
		diag_hint_nearest(d, word, words, ARRAY_SIZE(words));
	} else if (!*session && ret->kind->names_session) {
		diag_error(d, NO_SPAN, "'%s' needs the name of a session: '%s SESSION'", word,
			   word);
	} else if (*session && !ret->kind->names_session) {
		diag_error(d, NO_SPAN, "'%s' takes no session", word);
	} else {
		rc = *session ? user_session_open(session, d, &s) : 0;
		if (!rc && *session)
			user_session_release(&s);
	}
	ret->session = *session ? session : NULL;
	free(word);
	return rc;
}

int action_run(const struct action *a, struct action_context *context, u64 fired, struct diag *d)
{
	struct user_session s = {0};
	int rc = a->session ? user_session_open(a->session, d, &s) : 0;

	if (!rc)
		rc = a->kind->run(&s, context, fired, d);
	if (a->session)
		user_session_release(&s);
	return rc;
}
