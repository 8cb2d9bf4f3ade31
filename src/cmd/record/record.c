// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record/record.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kernel/tracefs/event_name.h"
#include "record/samples/samples.h"
#include "trace/agent/reach.h"
#include "trace/ctf/output.h"

/* The first one begins first, and ends last. */
static const struct record_source *const sources[] = {&record_sent, &record_guests, &record_samples,
						      &record_user, &record_kernel};

#define O(field) offsetof(struct record_options, field)
static const struct option_spec record_table[] = {
	{'e', "event", "TRACEPOINT",
	 "events of the kernel: SYSTEM:EVENT, SYSTEM, EVENT or all, with * and ?; a condition may "
	 "follow: 'sched:sched_switch /args.prev_prio < 120/'; probes, made for the recording: "
	 "kprobe:FUNCTION, uprobe:FILE:FUNCTION, usdt:FILE:NAME; with -F, --period, -g or "
	 "--call-graph they become samples, as counters (cpu-clock, page-faults:u) always do; "
	 "separated by commas (may be repeated)",
	 OPTION_WORDS, O(events)},
	{'f', NULL, "CONDITION", "condition of the -e before it, without slashes", OPTION_WORDS,
	 O(events)},
	{'b', "buffer", "SIZE",
	 "of each CPU's buffer in the kernel: KB, or with a unit, as 64M (default: by the machine, "
	 "at most 16M)",
	 OPTION_STRING, O(request.buffer)},
	{0, NULL, NULL, "Tracepoints and tracers, into a trace.dat", OPTION_HEADING, 0},
	KERNEL_EVENT_OPTIONS(O(events), O(request), 0, 0, 0),
	{0, "overwrite", NULL,
	 "a flight recorder: the newest events stay in the kernel's buffer and are written at the "
	 "end, at SIGUSR1, and when an event with -R snapshot occurs: then up to that event, and "
	 "what happens while the file is written is missing",
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
	{'G', "cgroup", "PATH",
	 "of tasks of this cgroup and of those below it (may be repeated); tracepoints: of who is "
	 "in it at the beginning, what that starts, and who is moved into it, found within 0.1 s",
	 OPTION_LIST, O(request.samples.cgroups)},
	{'C', "cpu", "CPUS", "on these CPUs only: 0-3,8", OPTION_STRING, O(request.samples.cpus)},
	{'p', "pid", "PID|TRACER",
	 "a number: only this process and what it starts (may be repeated); a name: a tracer of "
	 "the kernel: function, function_graph, blk, osnoise, irqsoff ... (see below)",
	 OPTION_LIST, O(targets)},
	{'P', NULL, "PID", "only this process, as in trace-cmd", OPTION_PIDS, O(request.pids)},
	USER_PROGRAM_OPTIONS(record_options, what),
	{'a', "all", NULL,
	 "of the whole machine and all programs, also beside a command (the default without one)",
	 OPTION_FLAG, O(what.all)},
	{0, NULL, NULL, "Events of instrumented programs", OPTION_HEADING, 0},
	USER_EVENT_OPTIONS(record_options, what),
	{0, NULL, NULL, "Rings", OPTION_HEADING, 0},
	USER_FILTER_OPTION(record_options, what),
	USER_RING_OPTIONS(record_options, what),
	{0, NULL, NULL, "Other machines", OPTION_HEADING, 0},
	{0, "guest", "[NAME=]WHERE",
	 "record there, too, by its `pantrace agent`, what stands behind it, up to the next "
	 "--guest or --: " AGENT_WAYS " (may be repeated); -o, -d, --max-size and -q are of all",
	 OPTION_LIST, O(guests)},
	{0, NULL, NULL, "Where to", OPTION_HEADING, 0},
	{'o', "output", "DIR", "directory of the traces (default: pantrace-DATE-TIME)",
	 OPTION_STRING, O(request.output)},
	{0, "to", "URL",
	 "write on another machine, by a relay that runs there: ssh://USER@HOST/DIR, unix:SOCKET, "
	 "tcp:ADDRESS:PORT",
	 OPTION_STRING, O(request.to)},
	{0, "rotate-size", "BYTES", "begin a new chunk, or trace.dat, after so many bytes",
	 OPTION_SIZE, O(request.rotate_bytes)},
	{0, "rotate-time", "SECONDS", "begin a new chunk, or trace.dat, after so many seconds",
	 OPTION_SECONDS, O(request.rotate_ns)},
	{0, "keep", "N", "remove all but the newest chunks", OPTION_POSITIVE, O(request.keep)},
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
	{0, "no-state", NULL,
	 "without state.ndjson: which processes, open files, mappings, mounts, interfaces and "
	 "interrupts there were at the beginning",
	 OPTION_FLAG, O(request.no_state)},
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
		"pantrace record -e 'uprobe:./shop:pay sum name:string /sum > 100/' -- ./shop   # "
		"calls of a function, with its variables\n"
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
		"pantrace record -e 'kvm:*' --guest db=/run/db.sock -e 'sched:*' -e 'block:*' -- "
		"sleep 10   # this machine and a guest on one clock; the command runs here\n"
		"pantrace record -e 'kvm:*' --guest db=trace-cmd:3 -e sched -d 10   # a guest of "
		"vsock CID 3 that runs `trace-cmd agent`\n"
		"pantrace record -e sched -d 10 --to ssh://me@store/traces   # to there\n"
		"pantrace record -u '*:*' --level warning -n nginx --rotate-size 1G --keep 10 "
		"-o trace\n",
	.details = "The recording is a directory: trace.dat has tracepoints, perf.data has "
		   "samples, and beside them are CTF traces of programs. `pantrace report` shows "
		   "all of it on one time line; trace-cmd, KernelShark, perf, babeltrace2 and "
		   "Trace Compass open their parts. With -o NAME.dat or NAME.data there is only "
		   "that file. A recording can be read while it grows, and after the recorder "
		   "was killed.\n\n"
		   "No recording is overwritten: an older file becomes NAME.dat.old or "
		   "NAME.data.old, and a directory that is not empty is refused (except by a "
		   "--session that continues).\n\n"
		   "Without -a, the command and what it starts are recorded, or the processes of "
		   "-p; without any of these, the whole machine.\n\n"
		   "A condition is written as in scripts, within what the kernel's filters can "
		   "express; `pantrace tpoint -v TRACEPOINT` shows the fields.\n\n"
		   "A probe is kprobe:[MODULE:]POINT, kretprobe:[MODULE:]FUNCTION, "
		   "uprobe:FILE:POINT, "
		   "uretprobe:FILE:FUNCTION or usdt:FILE:[PROVIDER:]NAME, followed by what to "
		   "record with it; points and arguments are those of `pantrace probe`: "
		   "'uprobe:./shop:pay:12 sum' is line 12 of the function, "
		   "'uretprobe:libc:malloc p=$retval'. It is made for the recording and removed "
		   "at its end. In the recording it has the name that `pantrace probe` would "
		   "give it: probe_shop:pay.\n\n"
		   "-p TRACER takes the tracers that the kernel has. Of what they record, "
		   "`pantrace report` makes tables: --functions of function_graph; --block of "
		   "blk, which traces all disks that nobody traces yet; --hwlat, --osnoise, "
		   "--timerlat and --mmiotrace of these. wakeup, wakeup_rt, wakeup_dl, irqsoff, "
		   "preemptoff and preemptirqsoff keep only the longest latency: its trace.dat "
		   "has the text that the kernel prints of it, with the events of -e that led "
		   "to it; `pantrace report` shows how long it was, whose, and why.\n\n"
		   "Samples: unless -F or -c say otherwise, a counter (page-faults) or a "
		   "tracepoint gives one for each event, and a clock (cpu-clock) gives 4000 a "
		   "second. Times are of the monotonic clock, so that `pantrace report` can "
		   "place them beside the rest. If the kernel is sampled, the file holds the "
		   "names of its functions (1 MB), as every trace.dat does, for `report` on "
		   "another machine.\n\n"
		   "state.ndjson in the directory describes the machine before the first event: "
		   "processes, threads, open files, mappings, mounts, interfaces, interrupts "
		   "(doc/json.md).\n\n"
		   "--guest: what the agent sends goes into a subdirectory named after the "
		   "machine, or NAME. The file clock in it relates the guest's clock to this "
		   "machine's, from messages exchanged during the recording; this is more exact "
		   "if the guest has PTP_KVM (modprobe ptp_kvm there), or if KVM runs it here "
		   "and debugfs shows the offset of its TSC. If kvm:kvm_entry and kvm:kvm_exit are "
		   "recorded without conditions, what happened in the guest is placed where its "
		   "virtual CPU was running; how much stood elsewhere by the clock alone is said. "
		   "`report` and all pictures place its "
		   "events accordingly, and the last line says how exact that is. A guest that "
		   "stops or dies does not end the recording. Only guests of root, of this user "
		   "and of libvirt (libvirt-qemu, qemu) are found by name, because any user's "
		   "process could call itself QEMU; give the PID for one of another user.\n\n"
		   "--guest trace-cmd:CID[:PORT] and trace-cmd:ADDRESS[:PORT] (823) connect to "
		   "`trace-cmd agent`, over vsock or TCP (`trace-cmd agent -N "
		   "ADDRESS-OF-THIS-MACHINE`). Nothing protects TCP: use it only in a network "
		   "that you trust. The options behind it are those of `trace-cmd record`, and "
		   "that agent checks them. Its trace.dat, clock and lost events are handled as "
		   "those of `pantrace agent`, but it sends neither program events, nor samples, "
		   "nor state.ndjson, and does not say when recording has begun.\n\n"
		   "Events that found no room in the kernel's or a program's buffer, or on a "
		   "full disk, are lost, counted, and reported at the end (exit code 3). A "
		   "program that cannot take part is named and makes the exit code 3, too.\n\n"
		   "With --rotate-size or --rotate-time one trace.dat follows another, each a "
		   "complete recording: trace-000001.dat, trace-000002.dat.\n\n"
		   "Signals: INT and TERM end the recording; USR1 writes a snapshot "
		   "(--overwrite, --mode overwrite); USR2 begins a new chunk.\n\n"
		   "With --to the same files are made at the relay, in a directory named after "
		   "this host, or by -o. While the relay or the connection is slow, events wait "
		   "in the rings; those that find no room there are lost and counted. If the "
		   "relay takes nothing for 10 seconds or is gone, a recording with kernel "
		   "events ends, and what has arrived can be read. A recording of program events "
		   "alone continues when the relay is back.\n\n"
		   "With --session NAME the session survives its recorder: programs keep "
		   "recording into their rings, and the same command continues it. Without a "
		   "name, the next recorder removes what a killed one left.\n\n"
		   "For users of trace-cmd: -e, -f, -R, -p, -l, -O, -b, -P, -a and -o work as "
		   "there, but children are followed (-c), and only the command is recorded (-F) "
		   "unless -a is given; -g is --graph, -n is --notrace, -T is --stack; -v has "
		   "another meaning.\n",
	.options = record_table,
	.stop_at_argument = true,
};

/* ---- from the command line to the request ---- */

/*
 * -R snapshot: the kernel's own snapshot needs a second buffer. Instead tracing stops at that very
 * event until the buffer has been written.
 */
static int take_snapshots(struct record_options *o, struct record_event *e)
{
	static const char word[] = "snapshot";

	for (size_t i = 0; i < e->triggers.len; i++) {
		const char **const trigger = &e->triggers.items[i];
		const char *const rest = *trigger + strlen(word);

		if (!str_starts(*trigger, word) || !strchr(": \t", *rest))
			continue;
		if (!o->request.overwrite)
			return options_usage_error(
				&record_spec,
				"-R snapshot is for a flight recorder: with --overwrite");
		o->request.freezes = true;
		*trigger = arena_printf(&o->arena, "traceoff%s", rest);
	}
	return OPTIONS_GO_ON;
}

/* -c: a number is a period, words are contexts of user events. */
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

/* Finds the source that this event belongs to. */
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

/* If -o names a file, there can be only one source. */
static int check_output(const struct record_request *r, const struct record_source *const *wanted,
			size_t count)
{
	if (r->output && str_eq(r->output, "-"))
		return options_usage_error(&record_spec,
					   "-o -: a recording is written at several places at a "
					   "time, which standard output cannot take; --to sends it "
					   "to another machine");
	for (size_t i = 0; i < count && count > 1; i++)
		if (record_is_file(r, wanted[i]))
			return options_usage_error(
				&record_spec,
				"-o names a single file, '%s': events of several kinds go into a "
				"directory",
				r->output);
	return OPTIONS_GO_ON;
}

/* Options that choose programs by name or user do not apply to kernel events. */
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

/* Sources whose files are written at several places: --to needs a way of its own for them. */
static bool has_files(const struct record_request *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->file && is_wanted(r, sources[i]))
			return true;
	return false;
}

/*
 * Collects the sources that have something to do; all options are checked here. Returns
 * OPTIONS_GO_ON or an exit code after printing why.
 */
static int choose_sources(struct kernel *k, struct record_request *r,
			  const struct record_source **wanted, size_t *ret_count)
{
	size_t n = 0;
	int rc = OPTIONS_GO_ON;

	for (size_t i = 0; i < r->events.len && rc == OPTIONS_GO_ON; i++)
		rc = claim(k, r, &r->events.items[i]);
	if (rc == OPTIONS_GO_ON && r->to && has_files(r))
		record_send(r);
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
	bool is_new;

	strftime(directory, sizeof(directory), "pantrace-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (count > 1 || !record_is_file(r, wanted[0]))
		run.directory = r->output ? r->output : r->to || r->carrier ? NULL : directory;
	is_new = run.directory && access(run.directory, F_OK);
	rc = run.directory && !record_options_of(r)->session /* that goes on where it was */
		     ? ctf_directory_check(run.directory, &d)
		     : 0;
	if (!rc)
		rc = record_all(&run, wanted, count, command, &code);
	if (rc && is_new) /* nothing began: the same words may be tried again */
		rmdir(run.directory);
	/* a refusal by another user's program is reported, but does not fail the run */
	if (rc)
		return diag_close(&d, EXIT_FAILED);
	diag_tell(&d);
	diag_release(&d);
	if (r->carrier)
		r->carrier->ended(r->carrier, run.lost, run.damaged);
	rc = run.failed ? EXIT_FAILED : EXIT_OK;
	if (!rc)
		rc = code;
	return rc ? rc : run.lost || run.damaged ? EXIT_LOST : EXIT_OK;
}

/* What needs this machine's files, or runs commands: a host asks for neither. */
static int check_carried(const struct record_options *o)
{
	const struct record_request *const r = &o->request;
	const struct {
		bool is_given;
		const char *what;
	} rows[] = {
		{r->output, "-o"},
		{r->to, "--to"},
		{r->keep, "--keep"},
		{r->duration_ns, "-d"},
		{r->max_bytes, "--max-size"},
		{o->session, "--session"},
		{o->guests.count, "--guest"},
		{r->has_command, "a command"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_given)
			return options_usage_error(&record_spec,
						   "what is recorded in a guest: "
						   "without %s",
						   rows[i].what);
	return OPTIONS_GO_ON;
}

/* OPTIONS_GO_ON, or an exit code after printing why. */
static int take_words(struct record_options *o, int argc, char **argv, int *ret_first)
{
	struct record_request *const r = &o->request;
	int rc = options_parse(&record_spec, argc, argv, o, ret_first);

	if (rc == OPTIONS_GO_ON)
		rc = record_take_events(&record_spec, &o->events, r);
	for (size_t i = 0; i < r->events.len && rc == OPTIONS_GO_ON; i++)
		rc = take_snapshots(o, &r->events.items[i]);
	if (rc == OPTIONS_GO_ON)
		rc = record_take_targets(&record_spec, &o->targets, r);
	if (rc == OPTIONS_GO_ON) {
		o->what.pids = r->pids;
		r->all = o->what.all;
		r->excluded = o->what.excluded;
		r->has_command = *ret_first < argc;
	}
	return rc == OPTIONS_GO_ON ? take_period(o) : rc;
}

static void release(struct record_options *o)
{
	record_request_release(&o->request);
	arena_release(&o->arena);
	options_release(&record_spec, o);
}

static int run_words(struct record_options *o, int argc, char **argv)
{
	struct record_request *const r = &o->request;
	const struct record_source *wanted[ARRAY_SIZE(sources)];
	struct kernel *const k = kernel_new();
	size_t count = 0;
	int first, rc = take_words(o, argc, argv, &first);

	if (rc == OPTIONS_GO_ON && r->carrier)
		rc = check_carried(o);
	if (rc == OPTIONS_GO_ON)
		rc = choose_sources(k, r, wanted, &count);
	if (rc == OPTIONS_GO_ON) {
		r->only_guests = r->guests.len && count == 1;
		rc = record(wanted, count, r, k, r->has_command ? argv + first : NULL);
	}
	release(o);
	kernel_release(k);
	return rc;
}

int record_carried(int argc, char **argv, struct recording_carrier *carrier)
{
	struct record_options o = {.request.carrier = carrier};

	return run_words(&o, argc, argv);
}

int record_check_words(int argc, char **argv)
{
	struct record_options o = {0};
	int first, rc = take_words(&o, argc, argv, &first);

	if (rc == OPTIONS_GO_ON)
		rc = check_carried(&o);
	release(&o);
	return rc;
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = {0};
	const int rc = record_cut_guests(&record_spec, &argc, argv, &o.request);

	if (rc == OPTIONS_GO_ON)
		return run_words(&o, argc, argv);
	record_request_release(&o.request);
	return rc;
}
