// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pantrace/protocol.h>
#include <pantrace/ring.h>

#include "base/foreign.h"
#include "base/strbuf.h"
#include "user/description.h"
#include "user/leftovers.h"
#include "user/runtime.h"

#define ASK_MS	     2000
#define SESSIONS_MAX 65536
/* Anybody can make a thousand sockets that refuse: some are named, the others counted. */
#define REFUSALS_NAMED 20u

static bool name_good(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const size_t n = strlen(name);

	return n && n < 64 && *name != '.' && strspn(name, good) == n;
}

static bool same_output(const char *a, const char *b)
{
	return a && b && str_eq(a, b);
}

/* ---- life ---- */

/* Those who refuse, with the reason of each. How many. */
static u32 refusals(const struct user_processes *told, struct diag *d)
{
	u32 refused = 0;

	for (size_t i = 0; i < told->all.len; i++) {
		const struct user_process *const p = &told->all.items[i];

		if (user_is_refusal(p) && refused++ < REFUSALS_NAMED)
			user_refusal_warn(p, d);
	}
	if (refused > REFUSALS_NAMED)
		diag_warning(d, NO_SPAN, "%u more %s %s not take part", refused - REFUSALS_NAMED,
			     refused - REFUSALS_NAMED == 1 ? "process" : "processes",
			     refused - REFUSALS_NAMED == 1 ? "does" : "do");
	return refused;
}

/* Of the description. */
static void line_make(char *text)
{
	for (char *c = text; c && *c; c++)
		*c = *c == '\n' ? ' ' : *c;
}

static void name_taken(const char *name, struct diag *d)
{
	struct diag none = DIAG_INIT;
	struct user_session s = {0};

	if (!user_session_open(name, &none, &s) && s.trigger) {
		diag_error(d, NO_SPAN, "there is a trigger '%s'", name);
		diag_hint(d,
			  "`pantrace user list-triggers` shows it, `pantrace user remove-trigger "
			  "%s` ends it",
			  name);
	} else {
		diag_error(d, NO_SPAN, "there is a session '%s'", name);
		diag_hint(d,
			  "`pantrace user status %s` shows it, `pantrace user destroy %s` ends it",
			  name, name);
	}
	user_session_release(&s);
	diag_release(&none);
}

int user_session_create(const struct user_session_options *o, bool recorder, struct diag *d,
			struct user_session *ret)
{
	struct user_processes told = {0};
	struct strbuf text = STRBUF_INIT;
	struct user_session s = {
		.anonymous = !o->name || o->watch, .stopped = o->stopped, .mode = o->mode};
	char directory[512], *request, *message;
	int rc;

	if (o->name && !name_good(o->name)) {
		diag_error(d, NO_SPAN, "'%s' is not a name for a session", o->name);
		diag_hint(d, "letters, digits, '-', '_' and '.', at most 63 of them");
		return -EINVAL;
	}
	rc = user_sessions_make(directory, sizeof(directory), d);
	if (rc)
		return rc;
	if (o->name)
		snprintf(s.name, sizeof(s.name), "%s", o->name);
	else
		snprintf(s.name, sizeof(s.name), "%s-%d", o->watch ? "watch" : "record",
			 (int)getpid());
	s.file = xasprintf("%s/%s", directory, s.name);
	s.output = o->output ? xstrdup(o->output) : NULL;
	s.ask = o->ask ? xstrdup(o->ask) : NULL;
	s.keeper = o->keeper ? xstrdup(o->keeper) : NULL;
	s.predicate = o->ask && o->predicate ? xstrdup(o->predicate) : NULL;
	s.trigger = o->trigger ? xstrdup(o->trigger) : NULL;
	line_make(s.predicate);
	line_make(s.trigger);
	directory[strlen(directory) - strlen("/sessions")] = '\0';
	rc = user_rings_make(o->rings, directory, s.name, &s.directory, d);
	if (!rc)
		rc = user_description_make(o, s.name, directory, s.directory, &text, d);
	s.text = strbuf_detach(&text);
	if (!rc) {
		rc = user_description_write(&s, recorder, true);
		if (rc == -EEXIST) {
			name_taken(s.name, d);
		} else if (rc) {
			diag_error(d, NO_SPAN, "%s: %s", s.file, strerror(-rc));
		}
	}
	if (rc) {
		if (s.directory && rc != -EEXIST)
			rmdir(s.directory);
		user_session_release(&s);
		return rc;
	}
	/* described first: a program that starts now finds it, one that runs is told */
	if (!o->environment) {
		request = user_request("start", NULL);
		message = xasprintf("%s%s%s", request, s.text,
				    o->ask && o->filters ? o->filters : "");
		/* of more events than one message has room for: each is told of its own */
		s.untold = recorder && strlen(message) > PANTRACE_MESSAGE_MAX;
		if (!s.untold)
			user_ask(&told, &o->which, message, ASK_MS);
		user_warn(&told, d);
		s.refused = refusals(&told, d);
		/* who reads the rings learns it there, of programs that start later, too */
		if (!recorder)
			user_warn_stays_off(&told, d);
		user_processes_release(&told);
		free(request);
		free(message);
	}
	if (recorder) {
		s.recorder = getpid();
		s.recorder_alive = true;
	}
	*ret = s;
	return 0;
}

int user_session_open(const char *name, struct diag *d, struct user_session *ret)
{
	int directory = user_sessions_directory(), rc = directory;

	if (directory >= 0) {
		rc = name_good(name) ? user_description_read(directory, name, ret) : -EINVAL;
		close(directory);
	}
	if (rc) {
		diag_error(d, NO_SPAN, "there is no session '%s'%s%s", name,
			   rc == -ENOENT || rc == -EINVAL ? "" : ": ",
			   rc == -ENOENT || rc == -EINVAL ? "" : strerror(-rc));
		diag_hint(d, "`pantrace user status` lists the sessions, `pantrace user start NAME "
			     "-u EVENTS` makes one");
	}
	return rc;
}

int user_session_open_to_change(const char *name, struct diag *d, struct user_session *ret)
{
	const int lock = user_sessions_lock(d);
	int rc = lock < 0 && lock != -ENOENT ? lock : user_session_open(name, d, ret);

	if (!rc)
		ret->lock = MAX(lock, 0);
	else if (lock >= 0)
		close(lock);
	return rc;
}

static void session_unlock(struct user_session *s)
{
	if (s->lock)
		close(s->lock);
	s->lock = 0;
}

int user_session_adopt(struct user_session *s, const char *output, struct diag *d)
{
	int rc;

	if (s->recorder_alive && s->recorder != getpid()) {
		diag_error(d, NO_SPAN, "session '%s' has a recorder, process %d", s->name,
			   (int)s->recorder);
		return -EBUSY;
	}
	if (!same_output(s->output, output)) {
		free(s->output);
		s->output = output ? xstrdup(output) : NULL;
	}
	rc = user_description_write(s, true, false);
	if (rc)
		diag_error(d, NO_SPAN, "%s: %s", s->file, strerror(-rc));
	s->recorder = getpid();
	s->recorder_alive = !rc;
	session_unlock(s);
	return rc;
}

void user_session_ask_again(const struct user_session *s)
{
	struct user_processes told = {0};
	char *request = user_request("rules", s->name);

	user_ask(&told, NULL, request, 0);
	user_processes_release(&told);
	free(request);
}

static int session_load(void *arg, int directory, const char *name)
{
	struct user_sessions *s = arg;
	struct user_session one;

	if (name_good(name) && !user_description_read(directory, name, &one))
		vector_push(&s->all, one);
	return 0;
}

void user_sessions_load(struct user_sessions *s)
{
	const int directory = user_sessions_directory();

	if (directory < 0)
		return;
	foreign_each(directory, SESSIONS_MAX, session_load, s);
	close(directory);
}

void user_sessions_release(struct user_sessions *s)
{
	for (size_t i = 0; i < s->all.len; i++)
		user_session_release(&s->all.items[i]);
	vector_free(&s->all);
}

void user_session_tell(const struct user_session *s, const char *verb, struct user_processes *ret,
		       struct diag *d)
{
	struct user_processes told = {0};
	char *request = user_request(verb, s->name);

	user_ask(&told, NULL, request, ASK_MS);
	user_warn(&told, d);
	if (s->recorder != getpid())
		user_warn_stays_off(&told, d);
	free(request);
	if (ret)
		*ret = told;
	else
		user_processes_release(&told);
}

int user_session_switch(const char *name, bool on, struct diag *d, u32 *ret_refused)
{
	struct user_processes told = {0};
	struct user_session s;
	int rc = user_session_open_to_change(name, d, &s);

	if (rc)
		return rc;
	/* described first, so that no program that starts meanwhile is forgotten */
	rc = user_description_stop(&s, !on);
	if (rc) {
		diag_error(d, NO_SPAN, "%s: %s", s.file, strerror(-rc));
		goto out;
	}
	user_session_tell(&s, on ? "resume" : "stop", &told, d);
	/* who is not in the session has nothing to switch */
	for (size_t i = 0; i < told.all.len; i++)
		if (told.all.items[i].error == -ENOENT)
			told.all.items[i].error = 0;
	*ret_refused = refusals(&told, d);
	user_processes_release(&told);
out:
	user_session_release(&s);
	return rc;
}

struct track {
	const char *request;
	const struct user_tracked *tracked;
};

/* A process that has other numbers than we is told in its own terms. */
static char *track_message(const void *arg, const struct user_process *p)
{
	const struct track *const t = arg;
	struct strbuf message = STRBUF_INIT;

	strbuf_addstr(&message, t->request);
	user_tracked_lines(t->tracked, user_tracked_elsewhere(p->pid) ? p->pid : 0, &message);
	return strbuf_detach(&message);
}

int user_session_track(struct user_session *s, const struct user_tracked *tracked, struct diag *d)
{
	struct user_processes told = {0};
	struct strbuf lines = STRBUF_INIT;
	char *request = user_request("track", s->name);
	int rc;

	user_tracked_lines(tracked, 0, &lines);
	/* described first, so that no program that starts meanwhile is forgotten */
	rc = user_description_track(s, lines.data);
	if (rc) {
		diag_error(d, NO_SPAN, "%s: %s", s->file, strerror(-rc));
	} else {
		user_ask_each(&told, NULL, track_message, &(struct track){request, tracked},
			      ASK_MS);
		user_warn(&told, d);
		user_processes_release(&told);
	}
	strbuf_release(&lines);
	free(request);
	return rc;
}

/* What a killed recorder left. */
static void socket_remove(const struct user_session *s)
{
	char runtime[512];
	struct stat st;

	if (s->keeper && !user_runtime(runtime, sizeof(runtime)) &&
	    str_starts(s->keeper, runtime) && !lstat(s->keeper, &st) && S_ISSOCK(st.st_mode))
		unlink(s->keeper);
}

void user_session_remove(struct user_session *s)
{
	const char *const slash = strrchr(s->directory, '/');
	char *aside;
	struct diag ignored = DIAG_INIT;
	/* whoever changes it meanwhile would write it again */
	const int lock = s->anonymous || s->lock ? -1 : user_sessions_lock(&ignored);
	pid_t pid;

	/* the name is free at once; giving much memory back takes a while, for which nobody has to
	 * wait */
	unlink(s->file);
	if (lock >= 0)
		close(lock);
	diag_release(&ignored);
	socket_remove(s);
	aside = xasprintf("%.*s/.%s.%d", (int)(slash - s->directory), s->directory, slash + 1,
			  (int)getpid());
	if (rename(s->directory, aside)) {
		user_rings_remove(s->directory);
		free(aside);
		return;
	}
	fflush(NULL);
	pid = fork();
	/* programs unmap the rings when they have been idle for a while; giving the pages back is
	 * heavier */
	if (!pid)
		usleep(60000);
	if (pid <= 0)
		user_rings_remove(aside);
	if (!pid)
		_exit(0);
	free(aside);
}

void user_session_release(struct user_session *s)
{
	session_unlock(s);
	free(s->file);
	free(s->text);
	free(s->directory);
	free(s->output);
	free(s->ask);
	free(s->keeper);
	free(s->predicate);
	free(s->trigger);
	*s = (struct user_session){0};
}

void user_sessions_sweep(struct diag *d)
{
	struct user_sessions all = {0};

	user_sessions_load(&all);
	for (size_t i = 0; i < all.all.len; i++) {
		struct user_session *const s = &all.all.items[i];

		if (!s->anonymous || s->recorder_alive)
			continue;
		user_session_tell(s, "destroy", NULL, d);
		user_session_remove(s);
	}
	leftovers_remove(&all);
	user_sessions_release(&all);
}
