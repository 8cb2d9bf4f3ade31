// SPDX-License-Identifier: GPL-2.0-or-later
/* pantrace record -u: events of instrumented programs. */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <pantrace/ring.h>

#include "base/clock.h"
#include "cmd/record/record.h"
#include "lang/predicate/process.h"
#include "user/snapshot.h"
#include "user/trigger.h"

#define FLUSH_NS     1000000000ull /* unfinished sub-buffers are written this often */
#define ASK_NS	     5000000000ull /* processes are asked for rings that have no name */
#define AWAY_MOST_NS 30000000000ull /* how long a relay is waited for at the end */
#define AWAY_NAP_MS  20
#define LOOK_NS	     50000000ull /* how often to look for processes that have ended */

struct user_state {
	struct user_session session;
	struct ctf_output_options where;
	struct ctf_output *output; /* NULL: a flight recorder, which writes snapshots */
	struct recorder recorder;
	struct announce *announce; /* its socket */
	int epoll; /* the recorder's descriptor and that of announce */
	bool stays; /* the session has a name and outlives us */
	u64 flushed_ns, asked_ns, looked_ns;
	u32 snapshots;
	struct triggers triggers;
	int told; /* the last error of the output */
};

static bool wanted(const struct record_request *r)
{
	const struct record_options *const o = record_options_of(r);

	return o->what.events.count || o->session;
}

static int where_to(const struct command_spec *spec, const struct record_options *o,
		    struct ctf_output_options *ret)
{
	*ret = (struct ctf_output_options){.directory = o->request.output,
					   .to = o->request.carrier ? NULL : o->request.to,
					   .carrier = o->request.carrier,
					   .rotate_bytes = o->request.rotate_bytes,
					   .rotate_ns = o->request.rotate_ns,
					   .keep_chunks = (u32)o->request.keep};
	if (o->request.keep > UINT32_MAX)
		return options_usage_error(spec, "--keep is too large");
	if (o->request.compress && ctf_compression_parse(o->request.compress, &ret->compression))
		return options_usage_error(spec, "--compress is zstd, gzip or none, not '%s'",
					   o->request.compress);
	return OPTIONS_GO_ON;
}

/* What needs the files where the programs are. */
static int check_carried(const struct command_spec *spec, const struct user_session_options *o,
			 const struct ctf_output_options *where)
{
	if (where->compression != CTF_PLAIN)
		return options_usage_error(spec, "events of programs (-u) go elsewhere as they "
						 "are: without --compress");
	if (o->mode == PANTRACE_OVERWRITE)
		return options_usage_error(spec, "a flight recorder of programs is not "
						 "elsewhere: without --mode overwrite");
	return OPTIONS_GO_ON;
}

static int check(const struct command_spec *spec, const struct record_request *r)
{
	const struct record_options *const o = record_options_of(r);
	struct user_session_options options = {0};
	struct ctf_output_options where;
	int rc = user_session_options_from(spec, &o->what, &options);

	if (rc == OPTIONS_GO_ON)
		rc = where_to(spec, o, &where);
	if (rc == OPTIONS_GO_ON && r->carrier)
		rc = check_carried(spec, &options, &where);
	if (rc == OPTIONS_GO_ON && o->triggers.count && options.mode != PANTRACE_OVERWRITE)
		rc = options_usage_error(spec, "--snapshot-when needs --mode overwrite");
	return rc;
}

/* A predicate must be compiled for programs that start later. */
static bool ask_needed(const struct record_options *o)
{
	bool needed = o->what.filter;

	for (u32 i = 0; i < o->triggers.count; i++)
		needed |= strchr(o->triggers.items[i], '/') != NULL;
	return needed;
}

/* Opens the socket again for a session whose recorder has ended. */
static int announce_again(struct record_run *run, struct user_state *s)
{
	int rc;

	if (!s->session.keeper)
		return 0;
	announce_close(s->announce);
	s->announce = NULL;
	rc = announce_open(s->session.keeper, &predicate_for_processes, run->diag, &s->announce);
	if (rc || !s->session.ask || !s->session.predicate)
		return rc;
	announce_add(s->announce, s->session.name, "*", s->session.predicate);
	user_session_ask_again(&s->session);
	return 0;
}

/* Finds the session of this name, or makes a new one. */
static int session_begin(struct record_run *run, struct user_state *s, const char *ask)
{
	struct strbuf filters = STRBUF_INIT;
	const struct record_options *const o = record_options_of(run->request);
	struct user_session_options options = {
		.name = o->session, .output = run->directory, .keeper = ask};
	struct user_sessions all = {0};
	bool exists = false;
	int rc;

	user_sessions_load(&all);
	for (size_t i = 0; o->session && i < all.all.len; i++)
		exists |= str_eq(all.all.items[i].name, o->session);
	user_sessions_release(&all);
	if (exists) {
		rc = user_session_open_to_change(o->session, run->diag, &s->session);
		if (!rc)
			rc = user_session_adopt(&s->session, run->directory, run->diag);
		if (!rc && s->session.stopped && !o->request.quiet)
			fprintf(stderr, "session '%s' is stopped: `pantrace user start %s`\n",
				s->session.name, s->session.name);
		return rc ? rc : announce_again(run, s);
	}
	if (!o->what.events.count) {
		diag_error(run->diag, NO_SPAN, "there is no session '%s'", o->session);
		diag_hint(run->diag, "with -u EVENTS it is begun");
		return -ENOENT;
	}
	rc = user_session_options_from(NULL, &o->what, &options) == OPTIONS_GO_ON ? 0 : -EINVAL;
	/* a command's events are its own and those of what it starts */
	options.environment = run->request->has_command && !o->what.names.count &&
			      !o->what.pids.count && !o->what.all;
	if (o->what.filter)
		options.ask = ask;
	if (!rc)
		rc = user_session_filter(&o->what, &options, run->diag, &filters);
	/* now, as it asks all programs: their rings fill up as soon as there is a session */
	if (!rc && !run->request->has_command)
		user_unknown_tell(o->what.events.items, o->what.events.count, true, run->diag);
	if (!rc)
		rc = user_session_create(&options, true, run->diag, &s->session);
	if (!rc && o->what.filter)
		announce_add(s->announce, s->session.name, "*", o->what.filter);
	strbuf_release(&filters);
	return rc;
}

/* Ends the session unless it has a name. */
static void session_end(struct record_run *run, struct user_state *s)
{
	triggers_end(&s->triggers, run->diag);
	if (!s->stays) {
		user_session_tell(&s->session, "destroy", NULL, run->diag);
		user_session_remove(&s->session);
	}
	user_session_release(&s->session);
}

static int watch(struct record_run *run, struct user_state *s, const char *ask)
{
	const struct record_options *const o = record_options_of(run->request);
	struct user_session_options like = {.ask = ask};
	int rc = 0;

	for (u32 i = 0; i < o->triggers.count && !rc; i++) {
		struct trigger one;

		rc = trigger_parse(o->triggers.items[i], run->diag, &one);
		if (!rc)
			vector_push(&s->triggers.all, one);
		if (!rc && trigger_is_of_session(&one)) {
			diag_error(run->diag, NO_SPAN, "'%s' is a condition of `user trigger`",
				   one.text);
			rc = -EINVAL;
		}
	}
	if (rc || !s->triggers.all.len)
		return rc;
	user_session_options_from(NULL, &o->what, &like);
	like.environment = run->request->has_command && !o->what.names.count &&
			   !o->what.pids.count && !o->what.all;
	s->triggers.compiler = &predicate_for_processes;
	rc = triggers_begin(&s->triggers, &like, s->announce, run->diag);
	return rc;
}

static void wait_for(struct user_state *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int begin(struct record_run *run, void **ret)
{
	const struct record_options *const o = record_options_of(run->request);
	struct user_state *const s = xzalloc(sizeof(*s));
	char ask[ANNOUNCE_PATH] = "";
	int rc;

	where_to(NULL, o, &s->where);
	s->where.directory = run->directory;
	/* before our socket is made: in a container, a killed recorder may have had our PID */
	user_sessions_sweep(run->diag);
	/* programs that start later ask there for filters, and hand over rings */
	rc = announce_begin(&predicate_for_processes, run->diag, ask, &s->announce);
	if (!rc)
		rc = session_begin(run, s, ask);
	if (rc)
		goto out;
	s->stays = o->session;
	if (s->session.mode != PANTRACE_OVERWRITE)
		rc = ctf_output_open(&s->where, run->diag, &s->output);
	else if (run->directory) /* of the snapshots to come */
		rc = record_directory(run);
	if (rc) {
		session_end(run, s);
		goto out;
	}
	recorder_open(&s->recorder, &s->session, s->output, s->output != NULL);
	recorder_find_late(&s->recorder, s->announce);
	recorder_find(&s->recorder, true);
	s->flushed_ns = s->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	rc = watch(run, s, ask_needed(o) ? ask : NULL);
	if (rc) {
		recorder_close(&s->recorder);
		session_end(run, s);
		goto out;
	}
	/* by this, programs that the command starts find the descriptions */
	if (run->request->has_command) {
		char *files = xasprintf("%s%s%s", s->session.file, s->triggers.begun ? ":" : "",
					s->triggers.begun ? s->triggers.session.file : "");

		setenv("PANTRACE_SESSION", files, 1);
		free(files);
	}
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	wait_for(s, recorder_fd(&s->recorder));
	wait_for(s, announce_fd(s->announce));
	*ret = s;
	return 0;
out:
	announce_close(s->announce);
	free(s);
	return rc;
}

static void output_trouble(struct user_state *s, int rc)
{
	if (rc == s->told || rc == -EAGAIN)
		return;
	s->told = rc;
	if (rc < 0)
		fprintf(stderr,
			"WARNING: %s: %s; what the rings cannot hold meanwhile is lost and "
			"counted\n",
			ctf_output_name(s->output), strerror(-rc));
}

static void snapshot(struct record_run *run, struct user_state *s)
{
	struct ctf_output_options where = s->where;
	struct user_snapshot result;
	char *directory = where.directory
				  ? xasprintf("%s/snapshot-%u", where.directory, ++s->snapshots)
				  : NULL;

	if (directory)
		where.directory = directory;
	if (user_snapshot(&s->session, &where, run->diag, &result))
		run->failed = true;
	else if (!run->request->quiet)
		user_snapshot_say(&result, where.directory ? where.directory : where.to, NULL);
	diag_tell(run->diag);
	free(directory);
}

static int round_flight(struct record_run *run, struct user_state *s)
{
	const char *fired = s->triggers.begun ? triggers_round(&s->triggers) : NULL;

	if (fired) {
		if (!run->request->quiet)
			fprintf(stderr, "%s: ", fired);
		run->snapshot = true;
	}
	if (run->snapshot)
		snapshot(run, s);
	return 0;
}

static void serve(struct record_run *run, struct user_state *s, bool last)
{
	struct recorder *const recorders[] = {&s->recorder, &s->triggers.recorder};

	if (recorder_serve(recorders, s->triggers.begun ? 2 : 1, s->announce, last, run->diag)) {
		diag_tell(run->diag);
		run->failed = run->end = true;
	}
}

static int round_user(struct record_run *run, void *state)
{
	struct user_state *const s = state;
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	const bool flush = now - s->flushed_ns >= FLUSH_NS, ask = now - s->asked_ns >= ASK_NS;
	int rc;

	recorder_fd_clear(&s->recorder);
	serve(run, s, false);
	/* incomplete files are visited again at the next look */
	if (ask || now - s->looked_ns >= LOOK_NS) {
		recorder_look(&s->recorder, ask);
		recorder_reap(&s->recorder);
		s->looked_ns = now;
	}
	if (ask)
		s->asked_ns = now;
	if (!s->output)
		return round_flight(run, s);
	if (run->rotate) {
		rc = ctf_output_rotate(s->output);
		if (rc == -EINVAL)
			fputs("WARNING: without --rotate-size or --rotate-time there are no "
			      "chunks\n",
			      stderr);
	}
	rc = recorder_drain(&s->recorder, flush ? CTF_SO_FAR : CTF_WHOLE);
	output_trouble(s, rc < 0 ? rc : 0);
	announce_written(s->announce, ctf_output_totals(s->output).bytes);
	if (flush)
		s->flushed_ns = now;
	ctf_output_tick(s->output, run->diag);
	return rc;
}

static int poll_fd(void *state)
{
	const struct user_state *const s = state;

	return s->epoll;
}

static void progress(void *state, struct record_progress *ret)
{
	const struct user_state *const s = state;
	const struct ctf_output_totals totals =
		s->output ? ctf_output_totals(s->output) : (struct ctf_output_totals){0};

	ret->events = totals.events;
	ret->bytes = totals.bytes;
	ret->lost = recorder_lost(&s->recorder);
}

static void tell(const struct user_state *s, const struct ctf_output_totals *totals, u64 lost)
{
	const struct user_snapshot all = {.processes = s->recorder.nr_processes,
					  .damaged = s->recorder.nr_damaged,
					  .refused = s->recorder.owners.refused,
					  .events = totals->events,
					  .bytes = totals->bytes};
	const char *const carried = s->where.carrier ? "the recording" : NULL;

	user_snapshot_say(&all, carried ?: s->where.to ?: s->where.directory, &lost);
	if (s->stays)
		fprintf(stderr, "session '%s' stays: `pantrace user destroy %s` ends it\n",
			s->session.name, s->session.name);
}

/*
 * Writes what is still in the rings. A relay that is away just now may come back until `until_ns`:
 * what it takes then is not lost.
 */
static int drain_all(struct user_state *s, u64 until_ns, struct diag *d)
{
	int rc;

	while ((rc = recorder_drain(&s->recorder, CTF_ALL)) == -EAGAIN &&
	       clock_now_ns(CLOCK_MONOTONIC) < until_ns) {
		poll(NULL, 0, AWAY_NAP_MS);
		if (ctf_output_tick(s->output, d) < 0)
			break;
	}
	return rc;
}

static int end_user(struct record_run *run, void *state)
{
	struct user_state *const s = state;
	struct ctf_output_totals totals = {0};
	u64 unwritten = 0, now, until_ns = clock_now_ns(CLOCK_MONOTONIC) + AWAY_MOST_NS;
	int rc = 0, closed;

	/* a session that stays continues in the programs' rings */
	if (!s->stays)
		user_session_tell(&s->session, "stop", NULL, run->diag);
	recorder_fd_clear(&s->recorder);
	serve(run, s, true);
	recorder_find_last(&s->recorder);
	if (s->output) {
		rc = drain_all(s, until_ns, run->diag);
		run->lost += recorder_lost(&s->recorder);
		totals = ctf_output_totals(s->output);
		/* the rings are removed with the session */
		unwritten = rc < 0 && !s->stays ? ctf_output_unwritten(s->output) : 0;
		run->lost += unwritten;
	} else {
		snapshot(run, s);
	}
	run->damaged += s->recorder.nr_damaged + s->recorder.nr_refused + s->session.refused +
			announce_refused(s->announce);
	if (s->triggers.begun)
		run->damaged += triggers_missed(&s->triggers, run->diag);
	if (announce_refused(s->announce) && !run->failed)
		fprintf(stderr,
			"WARNING: %u event%s of programs stayed off: the predicate does not fit "
			"their fields, or there are too many of them\n",
			announce_refused(s->announce), plural(announce_refused(s->announce)));
	recorder_close(&s->recorder);
	if (s->output) {
		now = clock_now_ns(CLOCK_MONOTONIC);
		closed = ctf_output_close(s->output,
					  until_ns > now ? (int)((until_ns - now) / 1000000) : 0);
		if (closed == -EBADMSG && s->recorder.nr_damaged) /* told as such */
			closed = 0;
		/* what was busy or away before may have been delivered after all: closing tells */
		rc = rc < 0 && rc != -EAGAIN ? rc : closed;
		if (!run->request->quiet)
			tell(s, &totals, run->lost);
		if (rc < 0)
			fprintf(stderr, "ERROR: not everything is written: %s\n", strerror(-rc));
		if (unwritten) {
			fprintf(stderr,
				"WARNING: %" PRIu64
				" event%s that %s still in the rings %s lost with them\n",
				unwritten, plural(unwritten), was_were(unwritten),
				is_are(unwritten));
			rc = 0; /* counted as lost: the rest of the recording is complete */
		}
	}
	session_end(run, s);
	announce_close(s->announce);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
	return rc < 0 ? rc : 0;
}

const struct record_source record_user = {
	.name = "user",
	.needs = SANDBOX_PROGRAMS,
	.idle_ms = 10,
	.wanted = wanted,
	.check = check,
	.begin = begin,
	.round = round_user,
	.poll_fd = poll_fd,
	.progress = progress,
	.end = end_user,
};
