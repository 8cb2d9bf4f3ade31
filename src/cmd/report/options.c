/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/options.h"

#include <unistd.h>

static const struct option_spec options[] = {
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{'f', "format", "text|babeltrace|json|trace-cmd|perf|csv",
	 "text (the default), babeltrace (byte for byte as babeltrace2), json; for a single file: "
	 "trace-cmd, perf (as these tools print it); for tables: csv",
	 OPTION_STRING, offsetof(struct arguments, format)},
	{0, "json", NULL, "one JSON object per line", OPTION_FLAG,
	 offsetof(struct arguments, json)},
	{'c', "count", NULL, "the number of events of each kind", OPTION_FLAG,
	 offsetof(struct arguments, count)},
	{0, "locals", NULL,
	 "the variables of each frame of a stack, from what `record --call-graph dwarf` has copied",
	 OPTION_FLAG, offsetof(struct arguments, locals)},
	{0, "utc", NULL, "times in UTC", OPTION_FLAG, offsetof(struct arguments, selection.utc)},
	{0, "seconds", NULL, "times as seconds since the epoch", OPTION_FLAG,
	 offsetof(struct arguments, seconds)},
	{0, "live", NULL, "follow traces that are being recorded; Ctrl-C ends", OPTION_FLAG,
	 offsetof(struct arguments, live)},
	{0, "hold", "MS", "with --live: wait up to MS milliseconds for slower streams (1000)",
	 OPTION_U64, offsetof(struct arguments, hold_ms)},
	OPENING_OPTIONS(offsetof(struct arguments, opening)),
	{0, "tui", NULL,
	 "walk through tables (--top, unless another is asked for) in the terminal; ? explains the "
	 "keys",
	 OPTION_FLAG, offsetof(struct arguments, tui)},
	{0, "no-pager", NULL, "do not use $PAGER (less)", OPTION_FLAG,
	 offsetof(struct arguments, no_pager)},
	{0, NULL, NULL, "Tables", OPTION_HEADING, 0},
	{0, "top", "KEY[,KEY...]",
	 "count events by event, the thread that each was in (task, comm, pid, tid), cpu, "
	 "symbol, object, caller, stack or another field, as a tree with a level for each key; "
	 "the default is event,task, for samples "
	 "event,comm,object,symbol; -n N shows N rows of each level",
	 OPTION_OPTIONAL, offsetof(struct arguments, top)},
	{0, "sum", "FIELD", "--top: the sum and percentiles of this field instead of counts",
	 OPTION_STRING, offsetof(struct arguments, sum)},
	{0, "children", NULL, "--top: add the samples of callees to their callers", OPTION_FLAG,
	 offsetof(struct arguments, children)},
	{'g', "call-graph", "caller|callee",
	 "--top: show call chains below each row, starting at the outermost function (caller) or "
	 "at the innermost one (callee, the default); --locks: stacks instead of callers",
	 OPTION_OPTIONAL, offsetof(struct arguments, call_graph)},
	{0, "percent-limit", "P", "--top: hide rows below P percent (with -g: 0.5)", OPTION_DOUBLE,
	 offsetof(struct arguments, percent_limit)},
	{0, "latency", "FROM,TO[,KEY...]",
	 "the time from event FROM to the next event TO with the same KEYs (default: the same "
	 "thread); both may have conditions, 'sys_enter /id == 0/'; KEY is a field of both, or "
	 "FIELD=FIELD if the names differ",
	 OPTION_STRING, offsetof(struct arguments, latency)},
	{0, "calls", "FUNCTION",
	 "of the events whose call chain has FUNCTION: who called it, and what it called",
	 OPTION_STRING, offsetof(struct arguments, calls)},
	{0, "annotate", "FUNCTION",
	 "the samples in FUNCTION itself by line of its source (which --files DIRECTORY finds, "
	 "too) and by address",
	 OPTION_STRING, offsetof(struct arguments, annotate)},
#define ROW(name, help) {0, #name, NULL, help, OPTION_FLAG, offsetof(struct arguments, name)},
	REPORT_ANALYSES(ROW)
#undef ROW
		{0, "per-task", NULL, "--syscalls, --locks, --exits: of each thread or virtual CPU",
		 OPTION_FLAG, offsetof(struct arguments, per_task)},
	{0, NULL, NULL, "Recorded now, in place of a recording: what a table is made of",
	 OPTION_HEADING, 0},
	LIVE_OPTIONS(offsetof(struct arguments, recording)),
	{0, "every", "SECONDS",
	 "again and again, of so long each (the whole machine unless -p is given); on a terminal "
	 "as a screen, which q or Ctrl-C ends",
	 OPTION_SECONDS, offsetof(struct arguments, every_ns)},
	{0, NULL, NULL, "Two recordings", OPTION_HEADING, 0},
	{0, "compare", NULL,
	 "compare a table of two recordings, OLD and NEW, the largest changes first", OPTION_FLAG,
	 offsetof(struct arguments, compare)},
	{0},
};

const struct command_spec report_spec = {
	.name = "report",
	.synopsis = "[options] [DIRECTORY|FILE... | -- COMMAND...]",
	.summary = "print recordings as lines or tables: CTF traces (ours and LTTng's), "
		   "trace.dat (trace-cmd), perf.data, xentrace",
	.command = "record what the table is made of while this command runs, and print it then",
	.examples =
		"pantrace report trace                          # all events, in order of time\n"
		"pantrace report -e 'shop:*' -w 'seconds>=0.5' trace  # only some of them\n"
		"pantrace report -w 'prev_comm ~ \"make*\" && cpu == 1' trace.dat\n"
		"pantrace report --count trace                  # the number of events of each "
		"kind\n"
		"pantrace report --top trace.dat                # by event and thread\n"
		"pantrace report --top perf.data                # by function (--children, -g)\n"
		"pantrace report --tui perf.data                # walk through its tables\n"
		"pantrace report --annotate main perf.data      # by line of the source (--calls)\n"
		"pantrace report --top prev_comm -e sched_switch trace.dat   # by a field\n"
		"pantrace report --latency 'sys_enter,sys_exit' trace.dat    # with its "
		"distribution\n"
		"pantrace report --sched trace.dat              # who waited for a CPU, how long\n"
		"pantrace report --syscalls perf.data           # like strace -c\n"
		"pantrace report --syscalls -- make             # recorded now: of a command\n"
		"pantrace report --sched -d 5                   # of this machine, for 5 seconds\n"
		"pantrace report --syscalls --every 1           # again each second, as a screen\n"
		"pantrace report --top -g -p 4242 -d 5          # where a process spends its "
		"time\n"
		"pantrace report --locks -n 10 perf.data        # who waited for which lock\n"
		"pantrace report --functions trace.dat          # what function_graph measured\n"
		"pantrace report --timerlat trace.dat           # what `record -p timerlat` "
		"measured\n"
		"pantrace report --exits kvm.dat                # exits of virtual "
		"machines; --vcpus\n"
		"pantrace report --domains --tsc-mhz 2394.454 xen.trace      # what "
		"xentrace recorded\n"
		"pantrace report --compare --top comm old.data new.data      # what changed most\n"
		"pantrace report --json trace | jq .fields      # for programs\n"
		"pantrace report --locals shop.data             # variables in stacks\n"
		"pantrace report --live trace                   # while it is being recorded\n"
		"pantrace report host1/trace host2/trace        # two machines on one time line\n"
		"pantrace report ~/lttng-traces/auto-20260101-120000\n"
		"pantrace report -e 'sched:*' trace.dat          # what trace-cmd recorded "
		"(-n, -c, -f trace-cmd)\n"
		"pantrace report trace trace.dat                 # a program and the kernel on "
		"one time line\n"
		"pantrace report -e 'sched:*' -w 'comm == \"make\"' perf.data   # in the format of "
		"perf script\n",
	.details =
		"A CTF trace is a directory with a file named metadata (CTF 1.8); directories are "
		"searched for them. Streams may be compressed: ring_0.zst, ring_0.gz. A damaged "
		"stream is read up to the damage, which is reported; the other streams are read to "
		"their end.\n\n"
		"CONDITION compares fields with constants or with each other: == != < <= > >= & | "
		"+ - ~ (a pattern of text), && || ! and parentheses. A name that is not a field "
		"may "
		"be comm, pid, tid or cpu, or the label of an enum. An event that lacks a field "
		"passes only if the rest of the condition decides.\n\n"
		"Addresses (ip, callstack_user) are shown as symbols if the trace says which files "
		"were mapped where, and the files or their debug files are found with the same "
		"build-id: below --files DIRECTORY, below /usr/lib/debug/.build-id, or at their "
		"own "
		"path.\n\n"
		"A file is a trace.dat, a perf.data (also from a pipe), a trace of xentrace, or, "
		"given alone, the text of perf script or trace-cmd report, folded stacks, or a "
		"profile of pprof (plain or gzip), whose values and labels are fields. A directory "
		"may contain such files (NAME.dat, NAME.data). A perf.data given alone is printed "
		"in the format of perf script, a trace.dat in the kernel's own columns; several "
		"files, or one with --json, --begin or --end, are merged on one time line. That "
		"needs a clock they share: trace-cmd's --date; a CTF trace of the same machine "
		"with the same clock (x86-tsc for ours, mono for LTTng's); perf record -k mono; or "
		"the clocks mono, boot and tai for what this machine recorded since it "
		"booted.\n\n"
		"--locals reads each frame's variables with the program's debug information from "
		"the registers and the part of the stack that a sample has a copy of (record "
		"--call-graph dwarf, perf's too). \"<not recorded>\" are those that lie "
		"elsewhere: in static memory, behind the copied part, below the stack pointer "
		"(functions that call none, the red zone), in a register that the functions "
		"called since need not keep. A variable that the program has not set yet has the "
		"value that its place had.\n\n"
		"In a table with several keys, the rows below a row add up to it. A sample weighs "
		"its period; percentages over several kinds of events are percentages of their "
		"counts. Percentiles are exact up to 1024 values, and at most 0.4 % too large for "
		"more. --latency measures from the last FROM before each TO; events without a "
		"partner are counted below the table. With KEYs the two may be on different hosts "
		"(the number of a request); a thread belongs to one host.\n\n"
		"--exits and --vcpus read a host's kvm:* events. An exit lasts until the next "
		"entry, as in perf kvm stat. --vcpus divides that time if sched:sched_switch and "
		"sched:sched_waking were recorded, too.\n\n"
		"For Xen, --exits and --domains read what xentrace wrote in dom0 (Xen 4.6 to "
		"4.17). An exit also ends when the virtual CPU stops running, as in xenalyze. "
		"Times are the host's TSC: --tsc-mhz gives its frequency; without it they are "
		"printed as cycles, and tables of times are refused. With --kernel-clock x86-tsc "
		"and a recording of programs in dom0 (record -u), made since the host started, "
		"both are on one time line. The same goes for guests whose TSC has no offset: PV "
		"guests.\n\n"
		"--locks knows callers where stacks were recorded: perf record -g, or `pantrace "
		"record -e lock:contention_begin -R stacktrace -e lock:contention_end -e "
		"'syscalls:sys_*_futex'`. A futex is a lock of one process; a trace.dat of "
		"trace-cmd does not say which, so there it counts as a lock of one thread.\n\n"
		"With -- COMMAND, -p, -a or -d a table is recorded now, into a file without a name "
		"that is gone at the end: of the command or process and what it starts, "
		"--sched, --block and --vcpus of the whole machine meanwhile. --top counts the "
		"event of -e, else samples of where time goes. The exit code is the command's.\n\n"
		"In text, a line that begins with '#' says where events were lost. A table never "
		"pairs an event before such a place with one after it. On a terminal the output "
		"goes through $PAGER (less), as git does it.\n\n"
		"The exit code is 3 if events were lost, and 1 if something could not be read.",
	.options = options,
};

/*
 * A single file is printed in the style of the tool that wrote it, unless a merged time line is
 * asked for. A file that does not exist is treated the same, so that the error names it.
 */
static const char *style_of(const struct arguments *a, char **paths, bool is_table)
{
	const bool has_style = a->format && recording_is_style(a->format);

	if (is_table && !a->selection.begin && !a->selection.end && !a->selection.utc &&
	    !a->seconds && !a->opening.clock && (a->compare || !paths[1]))
		return recording_recognise(*paths) ? "" : NULL;
	if (paths[1] || !(recording_recognise(*paths) || (has_style && access(*paths, R_OK))) ||
	    a->json || a->selection.begin || a->selection.end || a->selection.utc || a->seconds ||
	    a->opening.clock || a->live || (a->format && !has_style))
		return NULL;
	return has_style ? a->format : "";
}

static int format_parse(const struct arguments *a, const char *style, enum ctf_format *ret)
{
	static const char *const names[] = {"text", "babeltrace", "json"};
	const bool has_style = a->format && recording_is_style(a->format);

	*ret = a->json ? CTF_FORMAT_JSON : CTF_FORMAT_TEXT;
	if (a->json && a->format && !str_eq(a->format, "json") && !has_style)
		return options_usage_error(
			&report_spec, "--json and -f %s are two formats; choose one", a->format);
	if (style || !a->format)
		return 0;
	if (has_style)
		return options_usage_error(
			&report_spec, "-f %s is for one %s alone, without a time line's options",
			a->format, recording_is_style(a->format));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!str_eq(a->format, names[i]))
			continue;
		*ret = (enum ctf_format)i;
		return 0;
	}
	return options_usage_error(&report_spec, "unknown format '%s': text, babeltrace or json",
				   a->format);
}

/* Refuses what does not go with --tui. */
static int check_tui(const struct arguments *a)
{
	const struct {
		const char *name;
		bool is_asked;
	} refused[] = {
		{"--json", a->json}, {"--format", a->format},	{"--count", a->count},
		{"--live", a->live}, {"--compare", a->compare}, {"--limit", a->selection.limit},
	};

	for (size_t i = 0; a->tui && i < ARRAY_SIZE(refused); i++)
		if (refused[i].is_asked)
			return options_usage_error(&report_spec, "--tui does not go with %s",
						   refused[i].name);
	return 0;
}

/* They stand in stacks, below the frames, which tables and counts do not print. */
static int check_locals(const struct arguments *a, const struct report_analysis *table)
{
	const char *const other = !a->locals		  ? NULL
				  : table		  ? "a table of events"
				  : a->count		  ? "--count"
				  : a->opening.no_symbols ? "--no-symbols"
							  : NULL;

	return other ? options_usage_error(&report_spec,
					   "--locals prints events with their stacks: it does not "
					   "go with %s",
					   other)
		     : 0;
}

static int choose_analysis(const struct arguments *a, const struct report_analysis **ret)
{
	const struct {
		const char *name;
		bool is_asked;
	} asked[] = {
		{"latency", a->latency},
		{"calls", a->calls},
		{"annotate", a->annotate},
#define ROW(name, help) {#name, a->name},
		REPORT_ANALYSES(ROW)
#undef ROW
			{"top",
			 a->top || a->sum || a->children || a->call_graph || a->compare || a->tui},
	};
	const char *chosen = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		if (!asked[i].is_asked || (chosen && str_eq(asked[i].name, "top") && !a->top))
			continue;
		if (chosen)
			return options_usage_error(&report_spec,
						   "--%s and --%s are two tables; choose one",
						   chosen, asked[i].name);
		chosen = asked[i].name;
	}
	*ret = chosen ? analysis_named(chosen) : NULL;
	if (*ret && a->live)
		return options_usage_error(&report_spec,
					   "--live prints events as they come, and --%s is "
					   "a table of all of them",
					   chosen);
	if (*ret && a->count)
		return options_usage_error(&report_spec,
					   "--count and --%s are two tables; choose one", chosen);
	return 0;
}

int report_ask(const struct arguments *a, char **paths, struct asked *ret)
{
	static const char *const table_formats[] = {"text", "json", "csv"};
	bool is_table_format = !a->format;
	int rc;

	*ret = (struct asked){.arguments = a};
	rc = check_tui(a) ?: choose_analysis(a, &ret->row);
	for (size_t i = 0; i < ARRAY_SIZE(table_formats) && a->format; i++)
		is_table_format |= str_eq(a->format, table_formats[i]);
	if (!rc)
		rc = check_locals(a, ret->row);
	if (!rc && ret->row && !is_table_format)
		rc = options_usage_error(&report_spec, "a table is text, json or csv, not '%s'",
					 a->format);
	if (!rc && a->call_graph && *a->call_graph && !str_eq(a->call_graph, "caller") &&
	    !str_eq(a->call_graph, "callee"))
		rc = options_usage_error(&report_spec, "-g is caller or callee, not '%s'",
					 a->call_graph);
	if (!rc && a->compare && (!paths[1] || paths[2]))
		rc = options_usage_error(&report_spec, "--compare takes two recordings: OLD NEW");
	if (rc)
		return rc;
	ret->style = style_of(a, paths, ret->row != NULL);
	ret->request = (struct analysis_request){
		.keys = a->top ?: "",
		.sum = a->sum,
		.call_graph = a->call_graph && !*a->call_graph ? "callee" : a->call_graph,
		.children = a->children,
		.percent_limit = a->percent_limit
					 ?: a->call_graph ? 0.5
							  : 0,
		.latency = a->latency,
		.function = a->calls ?: a->annotate,
		.files = a->opening.files,
		.by_comm = a->compare,
		.per_task = a->per_task,
	};
	return ret->row ? 0 : format_parse(a, ret->style, &ret->format);
}

/*
 * `--top KEYS` and `-g MODE` work without "=": the next word is the argument, unless it is a
 * recording.
 */
void report_join_words(struct arena *arena, int *argc, char **argv)
{
	int to = 0;

	for (int i = 0; i < *argc; i++) {
		const char *const next = i + 1 < *argc ? argv[i + 1] : NULL;
		const bool is_graph = str_eq(argv[i], "-g") || str_eq(argv[i], "--call-graph");

		if (str_eq(argv[i], "--")) {
			while (i < *argc)
				argv[to++] = argv[i++];
			break;
		}
		if (next && ((is_graph && (str_eq(next, "caller") || str_eq(next, "callee"))) ||
			     (str_eq(argv[i], "--top") && *next != '-' && access(next, F_OK)))) {
			argv[to++] = arena_printf(arena, "%s=%s",
						  is_graph ? "--call-graph" : "--top", next);
			i++;
			continue;
		}
		argv[to++] = argv[i];
	}
	*argc = to;
	argv[to] = NULL;
}
