/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace stat`: how often events occur, while a command runs or until Ctrl-C. */
#include "cmd/stat/stat.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/stall.h"
#include "engine/run_signals.h"
#include "kernel/kernel.h"

#define TRIES	      16 /* to find the same threads before and after opening their counters */
#define CHILD_LOOK_MS 50 /* how often to look for ended processes on kernels without pidfd */

#define O(field) offsetof(struct stat_options, field)
static const struct option_spec options[] = {
	{0, NULL, NULL, "What is counted", OPTION_HEADING, 0},
	{'e', "event", "EVENTS",
	 "these: counters (cs, page-faults:u), tracepoints (sched:*), and what scripts attach to "
	 "(uprobe:libc:malloc); {A,B} counts both at the same time, 'EVENT /CONDITION/' some of "
	 "them (may be repeated)",
	 OPTION_LIST, O(events)},
	{'z', "zero", NULL, "also those of a wildcard that did not occur", OPTION_FLAG, O(zeros)},
	{0, NULL, NULL, "Where", OPTION_HEADING, 0},
	{'a', "all-cpus", NULL, "the whole machine (the default without a command)", OPTION_FLAG,
	 O(system_wide)},
	{'C', "cpu", "CPUS", "only on these CPUs: 0-3,8", OPTION_STRING, O(cpus)},
	{'p', "pid", "PID", "this process and what it starts (may be repeated)", OPTION_PIDS,
	 O(pids)},
	{'t', "tid", "TID", "this thread and what it starts (may be repeated)", OPTION_PIDS,
	 O(threads)},
	{'G', "cgroup", "PATH", "tasks of this cgroup (may be repeated: each by itself)",
	 OPTION_LIST, O(cgroups)},
	{0, NULL, NULL, "How long, and how often", OPTION_HEADING, 0},
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 O(duration_ns)},
	{'i', "interval", "SECONDS", "a report for each interval", OPTION_SECONDS, O(interval_ns)},
	{'I', "interval-print", "MS", "the same in milliseconds, as in perf", OPTION_POSITIVE,
	 O(interval_ms)},
	{0, "interval-count", "COUNT", "end after so many intervals", OPTION_POSITIVE,
	 O(intervals)},
	{'r', "repeat", "COUNT", "run the command COUNT times: means, and their deviation",
	 OPTION_POSITIVE, O(repeat)},
	{0, NULL, NULL, "Reports", OPTION_HEADING, 0},
	{'A', "per-cpu", NULL, "a row for each CPU", OPTION_FLAG, O(per_cpu)},
	{0, "no-aggr", NULL, "the same, as in perf", OPTION_FLAG, O(per_cpu)},
	{0, "per-thread", NULL, "a row for each thread of -p or -t", OPTION_FLAG, O(per_thread)},
	{'j', "json", NULL, "one JSON object per row; times in nanoseconds", OPTION_FLAG, O(json)},
	{'x', "field-separator", "TEXT", "CSV with this between values, in perf's order",
	 OPTION_STRING, O(separator)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING, O(output)},
	{0},
};

static const struct option_field fields[] = {
	{"TIME", "with -i: seconds since the beginning"},
	{"CPU, TID, COMM, CGROUP", "where it was counted, if rows are split by that"},
	{"COUNT", "how often it occurred; milliseconds for clocks"},
	{"EVENT", "the event; with :u only outside the kernel"},
	{"+-", "with -r: standard deviation of the mean"},
	{"RATE", "per second of elapsed time; busy CPUs for clocks"},
	{0},
};

static const struct command_spec spec = {
	.name = "stat",
	.synopsis = "[options] [-- COMMAND [ARGUMENT...]]",
	.summary = "count events: of a command, processes, cgroups, or the whole machine",
	.examples =
		"  pantrace stat -- make                                  # what a command does\n"
		"  pantrace stat -r 5 -- gzip -k file                     # five runs\n"
		"  pantrace stat -e 'syscalls:sys_enter_*' -p 181 -d 5    # calls of a process\n"
		"  pantrace stat -a -A -e sched:sched_switch -i 1         # each CPU, each second\n"
		"  pantrace stat -e 'block:block_rq_issue /bytes > 65536/' -d 10   # some of them\n"
		"  pantrace stat -e uprobe:libc:malloc --json -- ls       # calls of a function\n",
	.details = "Counts are exact: every event counts, also those of processes that the command "
		   "starts. Only counters of the processor can be too many for it: then they take "
		   "turns, and their counts are marked as estimates.\n"
		   "With a COMMAND the report goes to standard error, as standard output is the "
		   "command's, and its exit code is passed on.\n",
	.fields = fields,
	.options = options,
	.command = COMMAND_TRACED,
};

/* ---- the command line ---- */

static int check_options(struct stat_run *run)
{
	struct stat_options *o = &run->o;
	const bool has_tasks = o->pids.count || o->threads.count;

	if (o->interval_ms && o->interval_ns)
		return options_usage_error(&spec, "-i and -I are the same; choose one");
	if (o->interval_ms)
		o->interval_ns = o->interval_ms * 1000000;
	if (o->json && o->separator)
		return options_usage_error(&spec, "--json and -x are two formats; choose one");
	if (o->separator && !*o->separator)
		return options_usage_error(&spec, "-x: the text between values is empty");
	if (o->intervals && !o->interval_ns)
		return options_usage_error(&spec, "--interval-count needs -i");
	if (has_tasks && (o->command || o->system_wide || o->cpus || o->cgroups.count))
		return options_usage_error(&spec, "-p and -t cannot be combined with %s",
					   o->command ? "a command" : "-a, -C and -G");
	if (o->cgroups.count && o->command)
		return options_usage_error(&spec, "-G counts what runs in a cgroup, not a command");
	if (o->repeat > 1 && (!o->command || o->interval_ns))
		return options_usage_error(&spec, "-r repeats a command, %s",
					   o->command ? "without -i" : "and there is none");
	o->system_wide |= o->cpus || (!o->command && !has_tasks && !o->cgroups.count);
	if (o->per_cpu && !o->system_wide && !o->cgroups.count)
		return options_usage_error(&spec, "--per-cpu needs -a, -C or -G");
	if (o->per_thread && !has_tasks)
		return options_usage_error(&spec, "--per-thread needs -p or -t");
	return EXIT_OK;
}

/* ---- what is counted ---- */

static int add_defaults(struct stat_run *run)
{
	static const char *const defaults[] = {"context-switches", "cpu-migrations", "page-faults"};
	static const char *const of_processor[] = {"cycles", "instructions", "branches",
						   "branch-misses"};
	const bool has_processor = kernel_ask(run->kernel, KERNEL_PERF_HARDWARE)->yes;
	int err = perf_events_add(&run->events, run->o.system_wide ? "cpu-clock" : "task-clock");

	for (u32 i = 0; i < ARRAY_SIZE(defaults) && !err; i++)
		err = perf_events_add(&run->events, defaults[i]);
	for (u32 i = 0; i < ARRAY_SIZE(of_processor) && !err && has_processor; i++)
		err = perf_events_add(&run->events, of_processor[i]);
	for (size_t i = 0; i < run->events.list.len; i++)
		run->events.list.items[i].is_optional =
			run->events.list.items[i].attr.type == PERF_TYPE_HARDWARE;
	return err;
}

static int choose_events(struct stat_run *run)
{
	int err;

	run->events.of_own_programs = !run->o.system_wide;
	run->events.pid = run->o.pids.count ? run->o.pids.items[0] : 0;
	err = run->o.events.count ? 0 : add_defaults(run);
	for (u32 i = 0; i < run->o.events.count && !err; i++)
		err = perf_events_parse(&run->events, run->o.events.items[i]);
	return err;
}

/* ---- one run ---- */

static int open_processes(struct stat_run *run)
{
	for (u32 i = 0; i < run->o.pids.count + run->o.threads.count; i++) {
		const bool is_process = i < run->o.pids.count;
		const int fd =
			is_process
				? process_open(run->o.pids.items[i])
				: process_open_thread(run->o.threads.items[i - run->o.pids.count]);

		if (fd >= 0)
			vector_push(&run->processes, fd);
	}
	return 0;
}

/*
 * Threads and processes started by a counted thread inherit its counters. A thread that was created
 * after the list of threads was read and before the counters were opened may have inherited them or
 * not. In that case all counters are closed and opened again.
 */
static int open_counters(struct stat_run *run)
{
	int err = 0;

	for (u32 i = 0; i < TRIES; i++) {
		err = stat_find_places(run);
		if (!err)
			err = stat_open_counters(run);
		if (err || !stat_places_changed(run))
			return err;
		stat_close_counters(run);
		stat_forget_places(run);
	}
	diag_error(&run->diag, NO_SPAN,
		   "threads of the process come and go too quickly for counters on each");
	diag_hint(&run->diag, "count by its cgroup (-G), or let stat start it: behind --");
	return -EAGAIN;
}

static bool was_signalled(struct stat_run *run)
{
	struct signalfd_siginfo info;
	bool ret = false;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info))
		ret = true;
	if (ret)
		stall_end();
	return ret;
}

/* Waits for an event, at most until the time when_ns; -1 = without a limit. */
static void wait_until(struct stat_run *run, u64 when_ns)
{
	const size_t n = run->processes.len + 3;
	struct pollfd *set = xzalloc(n * sizeof(*set));
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	struct timespec left = {0};
	const u64 ns = when_ns > now ? when_ns - now : 0;
	u64 limit = ns;

	set[0] = (struct pollfd){.fd = run->signals, .events = POLLIN};
	set[1] = (struct pollfd){.fd = run->has_child ? run->child.pidfd : -1, .events = POLLIN};
	set[2] =
		(struct pollfd){.fd = run->out.fd}; /* POLLERR: the reader of the output has gone */
	for (size_t i = 0; i < run->processes.len; i++)
		set[3 + i] = (struct pollfd){.fd = run->processes.items[i], .events = POLLIN};
	if (run->has_child && run->child.pidfd < 0)
		limit = MIN(limit, (u64)CHILD_LOOK_MS * 1000000);
	left.tv_sec = (time_t)(limit / 1000000000);
	left.tv_nsec = (long)(limit % 1000000000);
	ppoll(set, n, when_ns == UINT64_MAX && limit == ns ? NULL : &left, NULL);
	for (size_t i = run->processes.len; i-- > 0;)
		if (set[3 + i].revents) { /* the process has ended */
			close(run->processes.items[i]);
			run->processes.items[i] = vector_last(&run->processes);
			run->processes.len--;
		}
	if (set[2].revents & POLLERR)
		run->out.error = EPIPE;
	free(set);
}

/* Counts until the command or the processes end, the duration is over, or a signal comes. */
static void count_until_end(struct stat_run *run)
{
	const struct stat_options *o = &run->o;
	const u64 begin = run->begin_ns, end = o->duration_ns ? begin + o->duration_ns : UINT64_MAX;
	const bool has_processes = run->processes.len;
	u64 next = o->interval_ns ? begin + o->interval_ns : UINT64_MAX, reports = 0;

	for (;;) {
		const u64 now = clock_now_ns(CLOCK_MONOTONIC);
		const bool is_over = now >= end || (run->has_child && child_poll(&run->child)) ||
				     (has_processes && !run->processes.len) || run->out.error;

		if (was_signalled(run)) {
			run->was_asked = true;
			return;
		}
		if (is_over)
			return;
		if (now < next) {
			wait_until(run, MIN(next, end));
			continue;
		}
		stat_read_counters(run);
		stat_report(run, true, clock_now_ns(CLOCK_MONOTONIC) - begin);
		output_flush(&run->out);
		if (++reports == o->intervals)
			return;
		while (next <= now)
			next += o->interval_ns;
	}
}

/* Adds the counts of this run to the statistics of all runs (-r). */
static void add_up(struct stat_run *run)
{
	for (size_t i = 0; i < run->events.list.len * run->rows.len; i++) {
		struct stat_sum *s = &run->sums[i];
		const double count = stat_whole(&s->total);

		s->sum += count;
		s->squares += count * count;
	}
}

static u64 microseconds(const struct timeval *t)
{
	return (u64)t->tv_sec * 1000000 + (u64)t->tv_usec;
}

static int start(struct stat_run *run)
{
	int err = run->o.command ? child_start_words(&run->child, run->o.command, &run->diag) : 0;

	if (err)
		return err;
	run->has_child = run->o.command != NULL;
	err = open_counters(run);
	if (err)
		return err;
	if (!run->sums)
		run->sums =
			xzalloc((run->events.list.len * run->rows.len + 1) * sizeof(*run->sums));
	stat_look_for_programs(run);
	run->begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (!run->has_child || run->o.system_wide)
		count_switch(true);
	return run->has_child ? child_release(&run->child, &run->diag) : 0;
}

/* One run: starts the command or the counters, waits for the end. 0 or -errno with a diagnostic. */
static int run_once(struct stat_run *run)
{
	struct rusage before, after;
	int err;

	getrusage(RUSAGE_CHILDREN, &before);
	err = start(run);
	if (!err) {
		count_until_end(run);
		run->elapsed_ns += clock_now_ns(CLOCK_MONOTONIC) - run->begin_ns;
		if (!run->has_child || run->o.system_wide)
			count_switch(false);
	}
	if (run->has_child)
		child_stop(&run->child);
	if (err)
		return err;
	run->runs++;
	stat_read_counters(run);
	add_up(run);
	getrusage(RUSAGE_CHILDREN, &after);
	run->user_us += microseconds(&after.ru_utime) - microseconds(&before.ru_utime);
	run->system_us += microseconds(&after.ru_stime) - microseconds(&before.ru_stime);
	stat_close_counters(run);
	return 0;
}

static int run_all(struct stat_run *run)
{
	const u64 times = MAX(run->o.repeat, 1);
	int err = 0;

	for (u64 i = 0; i < times && !err && !run->was_asked; i++) {
		if (i)
			stat_forget_places(run);
		err = run_once(run);
		if (!err && run->has_child && child_exit_code(&run->child) >= EXIT_SIGNAL)
			break;
	}
	if (err)
		return (int)diag_exit_code(&run->diag);
	if (run->o.interval_ns)
		stat_report(run, true, run->elapsed_ns);
	else
		stat_report(run, false, run->elapsed_ns);
	stat_report_end(run);
	return EXIT_OK;
}

/* ---- all of it ---- */

/* Warns if CPUs came online or went offline while all CPUs were counted. */
static void check_cpus(struct stat_run *run, const char *before)
{
	char *now;
	size_t len;

	if (!run->o.system_wide || file_read(STAT_ONLINE_CPUS, 4096, &now, &len))
		return;
	if (!str_eq(now, before)) {
		diag_error(&run->diag, NO_SPAN,
			   "CPUs came or went while events were counted (%.*s, then %.*s): what "
			   "happened on them is not all in the counts",
			   (int)strcspn(before, "\n"), before, (int)strcspn(now, "\n"), now);
		diag_code(&run->diag, EXIT_LOST);
	}
	free(now);
}

static void check_unread(struct stat_run *run)
{
	if (!run->unread)
		return;
	diag_error(&run->diag, NO_SPAN, "%u counter%s could not be read: their events are missing",
		   run->unread, plural(run->unread));
	diag_code(&run->diag, EXIT_LOST);
}

/* Warns if BPF programs of other tracers drop events before the kernel counts them. */
static void check_programs(struct stat_run *run)
{
	const struct perf_choice *first = NULL;
	u32 others = 0;

	for (size_t i = 0; i < run->events.list.len; i++) {
		const struct perf_choice *e = &run->events.list.items[i];

		if (e->is_decided && first)
			others++;
		else if (e->is_decided)
			first = e;
	}
	if (!first)
		return;
	diag_error(
		&run->diag, NO_SPAN,
		"another tracer has a BPF program on %s%s: the kernel counts only the events for "
		"which it returns 1, which may be none",
		first->name,
		others ? arena_printf(&run->arena, " and on %u other events", others) : "");
	diag_hint(&run->diag,
		  "a script can count at the same time: `pantrace -e '%s { @ = count() }'`",
		  first->target->name);
	diag_code(&run->diag, EXIT_LOST);
}

static int open_output(struct stat_run *run)
{
	int err = output_open(&run->out, run->o.output, OUTPUT_LINE, run->o.json);

	if (err) {
		diag_error(&run->diag, NO_SPAN, "cannot write to %s: %s", run->o.output,
			   strerror(-err));
		return EXIT_FAILED;
	}
	if (run->o.command && !run->o.output) { /* standard output is the command's */
		run->out.fd = STDERR_FILENO;
		run->out.may_stall = stall_is_possible(STDERR_FILENO);
	}
	return EXIT_OK;
}

static int stat_run(struct stat_run *run)
{
	struct run_signals signals;
	char *online = NULL;
	size_t len;
	int rc;

	if (choose_events(run))
		return (int)diag_exit_code(&run->diag);
	rc = open_output(run);
	if (rc)
		return rc;
	open_processes(run);
	if (file_read(STAT_ONLINE_CPUS, 4096, &online, &len))
		online = xstrdup("");
	run->signals = run_signals_open(&signals);
	if (!run->o.command && isatty(STDERR_FILENO))
		fputs("Counting. Ctrl-C to end.\n", stderr);
	rc = run_all(run);
	output_close(&run->out);
	if (!rc)
		rc = (int)output_exit_code(&run->out, &run->diag);
	run_signals_end(&signals);
	close(run->signals);
	check_cpus(run, online);
	check_unread(run);
	check_programs(run);
	free(online);
	if (!rc && run->has_child && !run->was_asked)
		rc = child_exit_code(&run->child);
	return rc;
}

int cmd_stat(int argc, char **argv)
{
	struct stat_run run = {.spec = &spec, .arena = ARENA_INIT, .diag = DIAG_INIT};
	int first, rc = options_command(&spec, &argc, argv, &run.o.command);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&spec, argc, argv, &run.o, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first < argc) {
		rc = options_usage_error(&spec, "'%s': events go after -e, a command after --",
					 argv[first]);
		options_release(&spec, &run.o);
		return rc;
	}
	type_store_init(&run.types);
	run.kernel = kernel_new();
	run.btf = btf_attach(&run.types, NULL);
	run.env = (struct probe_env){.types = &run.types,
				     .btf = run.btf,
				     .kernel = run.kernel,
				     .arena = &run.arena,
				     .diag = &run.diag,
				     .max_probes = UINT32_MAX};
	run.events.env = &run.env;
	rc = check_options(&run);
	if (!rc)
		rc = stat_run(&run);
	rc = diag_close(&run.diag, rc);
	stat_close_counters(&run);
	stat_forget_places(&run);
	for (size_t i = 0; i < run.processes.len; i++)
		close(run.processes.items[i]);
	vector_free(&run.processes);
	perf_events_release(&run.events);
	vector_free(&run.places);
	vector_free(&run.rows);
	vector_free(&run.cgroup_fds);
	free(run.sums);
	probe_env_release(&run.env);
	kernel_release(run.kernel);
	btf_release(run.btf);
	type_store_release(&run.types);
	arena_release(&run.arena);
	options_release(&spec, &run.o);
	return rc;
}
