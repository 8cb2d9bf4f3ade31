// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record/record.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "engine/child.h"
#include "kernel/sandbox/sandbox.h"

#define NAP_LEAST_MS 1
#define NAP_MOST_MS  10
#define NICE	     (-15)

static const struct record_source *const sources[] = {&record_user};

#define O(field) offsetof(struct record_options, field)
static const struct option_spec record_table[] = {
	{0, NULL, NULL, "Events of instrumented programs", OPTION_HEADING, 0},
	USER_WHAT_OPTIONS(record_options, what),
	{0, NULL, NULL, "Rings", OPTION_HEADING, 0},
	USER_FILTER_OPTION(record_options, what),
	USER_RING_OPTIONS(record_options, what),
	{0, NULL, NULL, "Where to", OPTION_HEADING, 0},
	{'o', "output", "DIR", "directory of the traces (default: pantrace-DATE-TIME)",
	 OPTION_STRING, O(output)},
	{0, "to", "URL",
	 "write on another machine: ssh://USER@HOST/DIR, unix:SOCKET, tcp:ADDRESS:PORT",
	 OPTION_STRING, O(to)},
	{0, "rotate-size", "BYTES", "begin a new chunk after so many bytes", OPTION_SIZE,
	 O(rotate_bytes)},
	{0, "rotate-time", "SECONDS", "begin a new chunk after so many seconds", OPTION_SECONDS,
	 O(rotate_ns)},
	{0, "keep", "N", "remove all but the newest chunks", OPTION_POSITIVE, O(keep)},
	{0, "compress", "zstd|gzip|none", "finished chunks and traces: zstd, gzip or none",
	 OPTION_STRING, O(compress)},
	{0, NULL, NULL, "Running", OPTION_HEADING, 0},
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 O(duration_ns)},
	{'s', "session", "SESSION",
	 "of a session that outlives this recorder: begin it, or go on with it", OPTION_STRING,
	 O(session)},
	{'T', "snapshot-when", "CONDITION",
	 "with --mode overwrite, write a snapshot when: 'EVENTS', 'EVENTS /FIELD > 5/', "
	 "'rate(EVENTS) > 100/s', 'latency(FROM, TO) > 10ms' (may be repeated)",
	 OPTION_LIST, O(triggers)},
	{'q', "quiet", NULL, "no summary", OPTION_FLAG, O(quiet)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG, O(keep_privileges)},
	{0},
};

static const struct command_spec record_spec = {
	.name = "record",
	.synopsis = "-u EVENTS [options] [-- COMMAND...]",
	.summary = "record events into a directory, as CTF 1.8",
	.examples = "pantrace record -u 'shop:*' -o trace   # all programs that have them, until "
		    "Ctrl-C\n"
		    "pantrace record -u 'shop:*' -- ./shop --port 80   # of a command and what it "
		    "starts, until it ends\n"
		    "pantrace record -u 'shop:*' --mode overwrite -T 'shop:error' -o box   # the "
		    "time before each error\n"
		    "pantrace record -u '*:*' --level warning -n nginx --rotate-size 1G --keep 10 "
		    "-o trace\n",
	.details = "babeltrace2 and Trace Compass open what is written. What a program's ring "
		   "could not hold, or a full disk did not take, is lost, counted, and told at the "
		   "end (exit code 3). So is a program that cannot take part: it is named.\n\n"
		   "Signals: INT and TERM end the recording; USR1 writes a snapshot (--mode "
		   "overwrite); USR2 begins a new chunk.\n\n"
		   "With --session NAME the session stays when the recorder is killed: programs go "
		   "on recording into their rings, and the same command goes on with it. Otherwise "
		   "what a killed recorder left is removed by the next one.\n",
	.options = record_table,
	.stop_at_argument = true,
};

static volatile sig_atomic_t end_asked, snapshot_asked, rotate_asked;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		snapshot_asked = 1;
	else if (signal == SIGUSR2)
		rotate_asked = 1;
	else
		end_asked = 1;
}

static void signals_take(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &old);
		/* a SIGHUP that nohup ignores stays ignored */
		if (old.sa_handler != SIG_IGN || signals[i] != SIGHUP)
			sigaction(signals[i], &action, NULL);
	}
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

struct running {
	const struct record_source *source;
	void *state;
};

/*
 * If permitted, the recorder gets a higher priority than the programs that it records: as one of
 * three processes on two CPUs it gets two thirds of one, and two programs in a tight loop write
 * more than it can copy in that time. It sleeps when there is nothing to do; the command that it
 * starts has the usual priority.
 */
static void go_first(void)
{
	const struct sched_param none = {0};

	if (!getpriority(PRIO_PROCESS, 0) &&
	    !sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none))
		setpriority(PRIO_PROCESS, 0, NICE);
}

/*
 * Descriptors of the processes of -p, which were checked to exist. *ret_count = 0: none were given.
 * Malloc'ed.
 */
static int *open_processes(const struct pid_list *pids, u32 *ret_count)
{
	int *fds = xreallocarray(NULL, pids->count + 1, sizeof(*fds));

	for (u32 i = 0; i < pids->count; i++)
		fds[i] = process_open(pids->items[i]);
	*ret_count = pids->count;
	return fds;
}

/* Closes those that have ended. True if there were some and none is left. */
static bool have_ended(int *fds, u32 count)
{
	u32 left = 0;

	for (u32 i = 0; i < count; i++) {
		struct pollfd p = {.fd = fds[i], .events = POLLIN};

		if (fds[i] >= 0 && poll(&p, 1, 0) > 0) {
			close(fds[i]);
			fds[i] = -ESRCH;
		}
		left += fds[i] != -ESRCH;
	}
	return count && !left;
}

/* Runs until a signal, the end of the time, of the command, or of the processes of -p. */
static void loop(struct record_run *run, struct running *running, size_t n, u64 until_ns,
		 struct child *child)
{
	u32 nprocesses;
	int *processes = open_processes(&run->options->what.pids, &nprocesses);
	bool over = false;
	int nap = NAP_LEAST_MS;

	while (!over && !end_asked && !run->end &&
	       (!until_ns || clock_now_ns(CLOCK_MONOTONIC) < until_ns)) {
		struct pollfd fds[ARRAY_SIZE(sources) + 1];
		bool busy = false;

		if (snapshot_asked)
			run->snapshot = true;
		if (rotate_asked)
			run->rotate = true;
		snapshot_asked = rotate_asked = 0;
		for (size_t i = 0; i < n; i++)
			busy |= running[i].source->round(run, running[i].state) > 0;
		over = (child && child_poll(child)) || have_ended(processes, nprocesses);
		if (over)
			break;
		/* busy: rings fill up meanwhile; idle: an occasional check costs nothing */
		nap = busy ? 0 : nap ? MIN(nap * 2, NAP_MOST_MS) : NAP_LEAST_MS;
		for (size_t i = 0; i < n; i++)
			fds[i] = (struct pollfd){running[i].source->poll_fd(running[i].state),
						 POLLIN, 0};
		fds[n] = (struct pollfd){child ? child->pidfd : -1, POLLIN, 0};
		/* anything new may be a program that begins to fill its rings */
		if (nap && poll(fds, n + 1, nap) > 0)
			nap = 0;
	}
	for (u32 i = 0; i < nprocesses; i++)
		if (processes[i] >= 0)
			close(processes[i]);
	free(processes);
}

/* *ret_code: how the command ended. */
static int run_all(struct record_run *run, char **command, int *ret_code)
{
	struct running running[ARRAY_SIZE(sources)];
	struct child child = {.pid = 0};
	u64 until = 0;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources) && !rc; i++) {
		if (!sources[i]->wanted(run->options))
			continue;
		rc = sources[i]->begin(run, &running[n].state);
		running[n].source = sources[i];
		n += !rc;
	}
	if (!rc && command) {
		rc = child_start_words(&child, command, run->diag);
		if (!rc)
			rc = child_release(&child, run->diag);
	}
	if (!rc) {
		diag_tell(run->diag);
		if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
			puts("__BPFTRACE_NOTIFY_PROBES_ATTACHED");
			fflush(stdout);
		}
		if (run->options->duration_ns)
			until = clock_now_ns(CLOCK_MONOTONIC) + run->options->duration_ns;
		go_first();
		if (!run->options->keep_privileges)
			sandbox_enter(SANDBOX_PROGRAMS);
		loop(run, running, n, until, command ? &child : NULL);
	}
	for (size_t i = n; i-- > 0;)
		if (running[i].source->end(run, running[i].state))
			run->failed = true;
	if (child.pid)
		child_stop(&child);
	*ret_code = end_asked ? EXIT_OK : child_exit_code(&child);
	return rc;
}

static int record(int argc, char **argv, struct record_options *o)
{
	struct diag d = DIAG_INIT;
	struct record_run run = {.options = o, .diag = &d};
	char directory[64];
	time_t now = time(NULL);
	struct tm tm;
	bool any = false;
	int code = EXIT_OK, first, rc = options_parse(&record_spec, argc, argv, o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!sources[i]->wanted(o))
			continue;
		any = true;
		rc = sources[i]->check(&record_spec, o);
		if (rc != OPTIONS_GO_ON)
			return rc;
	}
	if (!any)
		return options_usage_error(&record_spec, "which events? -u 'PROVIDER:NAME'");
	strftime(directory, sizeof(directory), "pantrace-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	run.directory = o->output ? o->output : o->to ? NULL : directory;
	run.command = first < argc;
	signals_take();
	rc = run_all(&run, first < argc ? argv + first : NULL, &code);
	/*
	 * if only another user's program was refused, that is reported, but is no failure of ours
	 */
	if (rc)
		return diag_close(&d, EXIT_FAILED);
	diag_tell(&d);
	diag_release(&d);
	rc = run.failed ? EXIT_FAILED : EXIT_OK;
	if (!rc)
		rc = code;
	return rc ? rc : run.lost || run.damaged ? EXIT_LOST : EXIT_OK;
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = {0};
	const int rc = record(argc, argv, &o);

	user_session_arguments_release(&o.what);
	free(o.triggers.items);
	return rc;
}
