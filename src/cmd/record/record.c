// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record/record.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "kernel/tracefs/event_name.h"
#include "record/samples/samples.h"

static const struct record_source *const sources[] = {&record_samples, &record_user,
						      &record_kernel};

#define O(field) offsetof(struct record_options, field)
static const struct option_spec record_table[] = {
	{'e', "event", "TRACEPOINT",
	 "events of the kernel: SYSTEM:EVENT, SYSTEM, EVENT or all, with * and ?; a condition may "
	 "follow: 'sched:sched_switch /args.prev_prio < 120/'; with -F, --period, -g or "
	 "--call-graph they become samples, as counters (cpu-clock, page-faults:u) always do; "
	 "parted by commas (may be repeated)",
	 OPTION_WORDS, O(events)},
	{'f', NULL, "CONDITION", "of the -e before it: the same without slashes", OPTION_WORDS,
	 O(events)},
	{'b', "buffer", "SIZE",
	 "of each CPU's buffer in the kernel: KB, or with a unit, as 64M (default: by the machine, "
	 "at most 16M)",
	 OPTION_STRING, O(request.buffer)},
	{0, NULL, NULL, "Tracepoints and tracers, into a trace.dat", OPTION_HEADING, 0},
	{'R', "trigger", "TRIGGER",
	 "of the -e before it, when it occurs: stacktrace, traceoff, traceon, "
	 "enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT, with 'if CONDITION' as the kernel "
	 "has it",
	 OPTION_WORDS, O(events)},
	{0, "stack", NULL, "the kernel's stack after each event", OPTION_FLAG, O(request.stack)},
	{'l', "function", "FUNCTION", "with -p function, function_graph: only these; * and ?",
	 OPTION_LIST, O(request.functions)},
	{0, "notrace", "FUNCTION", "but not these", OPTION_LIST, O(request.not_functions)},
	{0, "graph", "FUNCTION", "with -p function_graph: these, and what they call", OPTION_LIST,
	 O(request.graph_functions)},
	{'O', "option", "OPTION",
	 "an option of ftrace, off with 'no' before it: funcgraph-proc, nosleep-time", OPTION_LIST,
	 O(request.trace_options)},
	{0, "overwrite", NULL,
	 "a flight recorder: the newest events stay in the kernel's buffer and are written at the "
	 "end, and when SIGUSR1 comes",
	 OPTION_FLAG, O(request.overwrite)},
	{0, "v6", NULL, "a trace.dat of version 6, uncompressed, as older viewers want it",
	 OPTION_FLAG, O(request.version_6)},
	{0, NULL, NULL, "Samples, into a perf.data", OPTION_HEADING, 0},
	{'F', "freq", "HZ",
	 "so many a second of clocks (cpu-clock) and counters, on each CPU; 'max'", OPTION_STRING,
	 O(request.samples.frequency)},
	{0, "period", "N", "each Nth event, of clocks every N nanoseconds; -c N is the same",
	 OPTION_POSITIVE, O(request.samples.period)},
	{'g', NULL, NULL, "with call chains, by frame pointers", OPTION_FLAG,
	 O(request.samples.frames)},
	{0, "call-graph", "fp|dwarf[,BYTES]",
	 "with call chains: by frame pointers, or by debug information and a copy of the stack "
	 "(8192 bytes if not said)",
	 OPTION_STRING, O(request.samples.call_graph)},
	{0, NULL, NULL, "Whose events", OPTION_HEADING, 0},
	{'t', "tid", "TID", "of this thread and what it starts (may be repeated)", OPTION_PIDS,
	 O(request.samples.threads)},
	{'G', "cgroup", "PATH", "samples of tasks of this cgroup (may be repeated)", OPTION_LIST,
	 O(request.samples.cgroups)},
	{'C', "cpu", "CPUS", "samples on these CPUs only: 0-3,8", OPTION_STRING,
	 O(request.samples.cpus)},
	{'p', "pid", "PID|TRACER",
	 "a number: only this process and what it starts (may be repeated); a name: a tracer of "
	 "the kernel, as function or function_graph",
	 OPTION_LIST, O(targets)},
	{'P', NULL, "PID", "only this process, as trace-cmd has it", OPTION_PIDS, O(request.pids)},
	USER_PROGRAM_OPTIONS(record_options, what),
	{'a', "all", NULL,
	 "of the whole machine and all programs, also beside a command (the default without one)",
	 OPTION_FLAG, O(what.all)},
	{0, NULL, NULL, "Events of instrumented programs", OPTION_HEADING, 0},
	USER_EVENT_OPTIONS(record_options, what),
	{0, NULL, NULL, "Rings", OPTION_HEADING, 0},
	USER_FILTER_OPTION(record_options, what),
	USER_RING_OPTIONS(record_options, what),
	{0, NULL, NULL, "Where to", OPTION_HEADING, 0},
	{'o', "output", "DIR", "directory of the traces (default: pantrace-DATE-TIME)",
	 OPTION_STRING, O(request.output)},
	{0, "to", "URL",
	 "write on another machine: ssh://USER@HOST/DIR, unix:SOCKET, tcp:ADDRESS:PORT",
	 OPTION_STRING, O(request.to)},
	{0, "rotate-size", "BYTES", "begin a new chunk after so many bytes", OPTION_SIZE,
	 O(rotate_bytes)},
	{0, "rotate-time", "SECONDS", "begin a new chunk after so many seconds", OPTION_SECONDS,
	 O(rotate_ns)},
	{0, "keep", "N", "remove all but the newest chunks", OPTION_POSITIVE, O(keep)},
	{0, "compress", "zstd|gzip|none", "finished chunks and traces: zstd, gzip or none",
	 OPTION_STRING, O(request.compress)},
	{0, NULL, NULL, "Running", OPTION_HEADING, 0},
	{0, "max-size", "BYTES", "end by itself when so much is written", OPTION_SIZE,
	 O(request.max_bytes)},
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 O(request.duration_ns)},
	{'s', "session", "SESSION",
	 "of a session that outlives this recorder: begin it, or go on with it", OPTION_STRING,
	 O(session)},
	{'T', "snapshot-when", "CONDITION",
	 "with --mode overwrite, write a snapshot when: 'EVENTS', 'EVENTS /FIELD > 5/', "
	 "'rate(EVENTS) > 100/s', 'latency(FROM, TO) > 10ms' (may be repeated)",
	 OPTION_LIST, O(triggers)},
	{'v', "verbose", NULL, "what was kept and lost of each CPU", OPTION_FLAG,
	 O(request.verbose)},
	{'q', "quiet", NULL, "no summary", OPTION_FLAG, O(request.quiet)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG,
	 O(request.keep_privileges)},
	{0},
};

static const struct command_spec record_spec = {
	.name = "record",
	.synopsis = "-e TRACEPOINT | -p TRACER | -F HZ | -u EVENTS ... [options] [-- COMMAND...]",
	.summary = "record events of the kernel (trace.dat), samples (perf.data), and events of "
		   "programs (CTF)",
	.examples =
		"pantrace record -e sched -- make   # of a command and what it starts, until it "
		"ends\n"
		"pantrace record -e 'syscalls:sys_enter_open*' -e block -d 10 -o trace   # of the "
		"whole machine\n"
		"pantrace record -e 'sched:sched_switch /args.prev_prio < 120/' -o switches.dat\n"
		"pantrace record -p function_graph --graph vfs_read -- cat /etc/passwd   # what "
		"the kernel calls\n"
		"pantrace record -F 99 -g -a -d 10 -o busy.data   # where the machine's time goes; "
		"`perf report` opens it, too\n"
		"pantrace record --call-graph dwarf -e page-faults -o faults.data -- ./shop\n"
		"pantrace record -e sched --overwrite -b 64M -o box   # a flight recorder; SIGUSR1 "
		"opens it\n"
		"pantrace record -u 'shop:*' -e sched -- ./shop --port 80   # a program and the "
		"kernel on one clock\n"
		"pantrace record -u 'shop:*' --mode overwrite -T 'shop:error' -o box   # the "
		"time before each error\n"
		"pantrace record -u '*:*' --level warning -n nginx --rotate-size 1G --keep 10 "
		"-o trace\n",
	.details =
		"The recording is a directory: trace.dat has tracepoints, perf.data samples, "
		"beside them are CTF traces of programs. `pantrace report` shows all of it on one "
		"time line; trace-cmd, KernelShark, perf, babeltrace2 and Trace Compass open their "
		"parts. With -o NAME.dat or NAME.data there is only that file. It can be read "
		"while it grows, and when the recorder was killed.\n\n"
		"Without -a, what is recorded is the command and what it starts, or the processes "
		"of -p; without these, the whole machine.\n\n"
		"A condition is one of the script language, as far as the kernel's filters can say "
		"it; `pantrace tpoint -v TRACEPOINT` shows the fields.\n\n"
		"Samples: a counter of events (page-faults) gives each one, a clock (cpu-clock) "
		"4000 a second, a tracepoint each one, unless -F or -c say otherwise. Times are "
		"of the monotonic clock, so that `pantrace report` puts them beside the rest.\n\n"
		"What the kernel's or a program's buffer could not hold, or a full disk did not "
		"take, is lost, counted, and told at the end (exit code 3). So is a program that "
		"cannot take part: it is named.\n\n"
		"Signals: INT and TERM end the recording; USR1 writes a snapshot (--overwrite, "
		"--mode overwrite); USR2 begins a new chunk.\n\n"
		"With --session NAME the session stays when the recorder is killed: programs go "
		"on recording into their rings, and the same command goes on with it. Otherwise "
		"what a killed recorder left is removed by the next one.\n\n"
		"For users of trace-cmd: -e, -f, -R, -p, -l, -O, -b, -P, -a and -o are as there, "
		"but children are followed (-c), and a command is recorded alone (-F) unless -a is "
		"given; -g is --graph, -n is --notrace, -T is --stack, -v is something else.\n",
	.options = record_table,
	.stop_at_argument = true,
};

/* ---- from the command line to the request ---- */

/* -f and -R belong to the -e before them. */
static int take_events(struct record_options *o)
{
	struct record_request *const r = &o->request;

	for (u32 i = 0; i < o->events.count; i++) {
		const struct option_word *const w = &o->events.items[i];

		if (w->option == 'e') {
			vector_push(&r->events, (struct record_event){.text = w->value});
			continue;
		}
		if (!r->events.len)
			return options_usage_error(
				&record_spec, "-%c belongs to the event (-e) before it", w->option);
		if (w->option == 'R')
			vector_push(&vector_last(&r->events).triggers, w->value);
		else if (!vector_last(&r->events).filter)
			vector_last(&r->events).filter = w->value;
		else
			return options_usage_error(&record_spec, "two conditions (-f) of '%s'",
						   vector_last(&r->events).text);
	}
	return OPTIONS_GO_ON;
}

/* -p: a number is a process, a word a tracer. */
static int take_targets(struct record_options *o)
{
	struct record_request *const r = &o->request;

	for (u32 i = 0; i < o->targets.count; i++) {
		const char *const word = o->targets.items[i];

		if (isalpha((unsigned char)*word) && !r->tracer)
			r->tracer = word;
		else if (isalpha((unsigned char)*word))
			return options_usage_error(&record_spec, "only one tracer at a time (-p)");
		else if (parse_value(OPTION_PIDS, word, &r->pids))
			return options_usage_error(&record_spec,
						   "-p takes %s or the name of a tracer, not '%s'",
						   option_kind_takes(OPTION_PIDS), word);
	}
	o->what.pids = r->pids;
	r->all = o->what.all;
	r->excluded = o->what.excluded;
	return OPTIONS_GO_ON;
}

/* -c: a number is a period, words are contexts of programs' events. */
static int take_period(struct record_options *o)
{
	const char *const word = o->what.contexts;

	if (!word || !isdigit((unsigned char)*word))
		return OPTIONS_GO_ON;
	if (parse_value(OPTION_POSITIVE, word, &o->request.samples.period))
		return options_usage_error(&record_spec, "-c takes %s, not '%s'",
					   option_kind_takes(OPTION_POSITIVE), word);
	o->what.contexts = NULL;
	return OPTIONS_GO_ON;
}

/* Whose event is it? */
static int claim(struct kernel *k, struct record_request *r, struct record_event *e)
{
	struct diag d = DIAG_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(sources) && !e->source; i++)
		if (sources[i]->claims && sources[i]->claims(k, r, e->text))
			e->source = sources[i];
	if (e->source)
		return OPTIONS_GO_ON;
	event_name_refuse(k, &d, NO_SPAN, NULL, e->text);
	return diag_close(&d, EXIT_FAILED);
}

static bool is_wanted(const struct record_request *r, const struct record_source *source)
{
	for (size_t i = 0; i < r->events.len; i++)
		if (r->events.items[i].source == source)
			return true;
	return source->wanted(r);
}

/* -o names one file: then there can be one source only. */
static int check_output(const struct record_request *r, const struct record_source *const *wanted,
			size_t count)
{
	for (size_t i = 0; i < count && count > 1; i++)
		if (record_is_file(r, wanted[i]))
			return options_usage_error(
				&record_spec,
				"-o names a single file, '%s': events of several kinds go into a "
				"directory",
				r->output);
	return OPTIONS_GO_ON;
}

/* What chooses programs by name or user says nothing of the kernel's events. */
static int check_programs(const struct record_request *r, const struct record_source *const *wanted,
			  size_t count)
{
	const struct user_session_arguments *const a = &record_options_of(r)->what;
	const bool any = a->names.count || a->uids.count || a->gids.count;

	for (size_t i = 0; i < count; i++)
		if (wanted[i] == &record_user)
			return OPTIONS_GO_ON;
	if (!any)
		return OPTIONS_GO_ON;
	return options_usage_error(&record_spec,
				   "%s is for events of programs (-u); others are "
				   "recorded of processes (-p) or a command",
				   a->names.count  ? "-n"
				   : a->uids.count ? "--uid"
						   : "--gid");
}

/* Those that have something to do; all has been checked. OPTIONS_GO_ON or an exit code (said). */
static int choose_sources(struct kernel *k, struct record_request *r,
			  const struct record_source **wanted, size_t *ret_count)
{
	size_t n = 0;
	int rc = OPTIONS_GO_ON;

	for (size_t i = 0; i < r->events.len && rc == OPTIONS_GO_ON; i++)
		rc = claim(k, r, &r->events.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(sources) && rc == OPTIONS_GO_ON; i++) {
		if (!is_wanted(r, sources[i]))
			continue;
		wanted[n++] = sources[i];
		rc = sources[i]->check(&record_spec, r);
	}
	*ret_count = n;
	if (rc == OPTIONS_GO_ON)
		rc = check_programs(r, wanted, n);
	if (rc == OPTIONS_GO_ON && !n)
		rc = options_usage_error(&record_spec,
					 "which events? of the kernel: -e TRACEPOINT, -p TRACER; "
					 "samples: -F 99 -g; of programs: -u 'PROVIDER:NAME'");
	return rc == OPTIONS_GO_ON ? check_output(r, wanted, n) : rc;
}

/* ---- the run ---- */

static int record(const struct record_source *const *wanted, size_t count,
		  const struct record_request *r, struct kernel *k, char *const *command)
{
	struct diag d = DIAG_INIT;
	struct record_run run = {.request = r, .diag = &d, .kernel = k};
	char directory[64];
	time_t now = time(NULL);
	struct tm tm;
	int code = EXIT_OK, rc;

	strftime(directory, sizeof(directory), "pantrace-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (count > 1 || !record_is_file(r, wanted[0]))
		run.directory = r->output ? r->output : r->to ? NULL : directory;
	rc = record_all(&run, wanted, count, command, &code);
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
	struct record_request *const r = &o.request;
	const struct record_source *wanted[ARRAY_SIZE(sources)];
	struct kernel *const k = kernel_new();
	size_t count = 0;
	int first, rc = options_parse(&record_spec, argc, argv, &o, &first);

	if (rc == OPTIONS_GO_ON)
		rc = take_events(&o);
	if (rc == OPTIONS_GO_ON)
		rc = take_targets(&o);
	if (rc == OPTIONS_GO_ON)
		rc = take_period(&o);
	if (rc == OPTIONS_GO_ON) {
		r->has_command = first < argc;
		rc = choose_sources(k, r, wanted, &count);
	}
	if (rc == OPTIONS_GO_ON)
		rc = record(wanted, count, r, k, r->has_command ? argv + first : NULL);
	for (size_t i = 0; i < r->events.len; i++)
		vector_free(&r->events.items[i].triggers);
	vector_free(&r->events);
	options_release(&record_spec, &o);
	kernel_release(k);
	return rc;
}
