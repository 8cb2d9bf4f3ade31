/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/options.h"

#include <unistd.h>

static const struct option_spec options[] = {
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{'f', "format", "text|babeltrace|json|trace-cmd|perf|csv",
	 "text (the default), babeltrace (byte for byte what babeltrace2 prints), json; of one "
	 "file alone: trace-cmd, perf (as these print their own); of tables: csv",
	 OPTION_STRING, offsetof(struct arguments, format)},
	{0, "json", NULL, "one JSON object a line", OPTION_FLAG, offsetof(struct arguments, json)},
	{'c', "count", NULL, "how many events there are of each kind", OPTION_FLAG,
	 offsetof(struct arguments, count)},
	{0, "utc", NULL, "times in UTC", OPTION_FLAG, offsetof(struct arguments, selection.utc)},
	{0, "seconds", NULL, "times as seconds since the epoch", OPTION_FLAG,
	 offsetof(struct arguments, seconds)},
	{0, "live", NULL, "go on as the traces grow; Ctrl-C ends", OPTION_FLAG,
	 offsetof(struct arguments, live)},
	{0, "hold", "MS", "with --live: wait this long for events of slower streams (1000)",
	 OPTION_U64, offsetof(struct arguments, hold_ms)},
	{0, "files", "DIRECTORY",
	 "look for the traced programs' files here too, by build-id and by path; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, paths)},
	{0, "kernel-clock", "NAME",
	 "a trace.dat was recorded with this clock (mono, boot, tai, x86-tsc), whatever it says",
	 OPTION_STRING, offsetof(struct arguments, kernel_clock)},
	{0, "no-symbols", NULL, "addresses stay numbers", OPTION_FLAG,
	 offsetof(struct arguments, no_symbols)},
	{0, "no-pager", NULL, "print to the terminal, not into $PAGER (less)", OPTION_FLAG,
	 offsetof(struct arguments, no_pager)},
	{0, NULL, NULL, "Tables", OPTION_HEADING, 0},
	{0, "top", "KEY[,KEY...]",
	 "how many events there are by event, task, comm, pid, tid, cpu, symbol, object, caller, "
	 "stack or a field, each key below the one before; without keys by event and task, and "
	 "samples by event, comm, object and symbol; -n N shows N rows of each level",
	 OPTION_OPTIONAL, offsetof(struct arguments, top)},
	{0, "sum", "FIELD", "--top: sum this field up, with its percentiles", OPTION_STRING,
	 offsetof(struct arguments, sum)},
	{0, "children", NULL, "--top: a function also has what those had that it called",
	 OPTION_FLAG, offsetof(struct arguments, children)},
	{'g', "call-graph", "caller|callee",
	 "--top: chains of calls below each row, from the outermost function on (caller), or from "
	 "the innermost (callee, the default)",
	 OPTION_OPTIONAL, offsetof(struct arguments, call_graph)},
	{0, "percent-limit", "P", "--top: leave out rows below this (with -g: 0.5)", OPTION_DOUBLE,
	 offsetof(struct arguments, percent_limit)},
	{0, "latency", "FROM,TO[,KEY...]",
	 "how long it takes from one event to another of the same KEY (the same thread); "
	 "FROM and TO may have conditions, 'sys_enter /id == 0/'; KEY is a field of both, or "
	 "FIELD=FIELD of the one and the other",
	 OPTION_STRING, offsetof(struct arguments, latency)},
#define ROW(name, help) {0, #name, NULL, help, OPTION_FLAG, offsetof(struct arguments, name)},
	REPORT_ANALYSES(ROW)
#undef ROW
		{0, "per-task", NULL, "--syscalls: those of each thread", OPTION_FLAG,
		 offsetof(struct arguments, per_task)},
	{0, "compare", NULL,
	 "the same table of two recordings, OLD and NEW: what changed most comes first",
	 OPTION_FLAG, offsetof(struct arguments, compare)},
	{0},
};

const struct command_spec report_spec = {
	.name = "report",
	.synopsis = "[options] DIRECTORY|FILE...",
	.summary = "show what was recorded, as lines or tables: CTF traces, of instrumented "
		   "programs and LTTng's; a trace.dat of trace-cmd; a perf.data",
	.examples =
		"pantrace report trace                          # every event, by time, of all "
		"processes in it\n"
		"pantrace report -e 'shop:*' -w 'seconds>=0.5' trace  # some of them\n"
		"pantrace report -w 'prev_comm ~ \"make*\" && cpu == 1' trace.dat   # and of the "
		"kernel\n"
		"pantrace report --count trace                  # how many of each kind\n"
		"pantrace report --top trace.dat                # by event and thread\n"
		"pantrace report --top perf.data                # by function (--children, -g)\n"
		"pantrace report --top prev_comm -e sched_switch trace.dat   # by a field\n"
		"pantrace report --latency 'sys_enter,sys_exit' trace.dat    # its distribution\n"
		"pantrace report --sched trace.dat              # who waited for a CPU, how long\n"
		"pantrace report --syscalls perf.data           # as strace -c\n"
		"pantrace report --compare --top comm old.data new.data      # what changed most\n"
		"pantrace report --json trace | jq .fields      # for programs\n"
		"pantrace report --live trace                   # as it is being recorded\n"
		"pantrace report host1/trace host2/trace        # two machines on one time line\n"
		"pantrace report ~/lttng-traces/auto-20260101-120000\n"
		"pantrace report -e 'sched:*' trace.dat          # kernel events that trace-cmd "
		"recorded (-n, -c, -f trace-cmd)\n"
		"pantrace report trace trace.dat                 # a program's events and the "
		"kernel's "
		"on one time line\n"
		"pantrace report -e 'sched:*' -w 'comm == \"make\"' perf.data   # what perf "
		"recorded, as perf script shows it\n",
	.details =
		"A trace is a directory with a file named metadata (CTF 1.8); directories are "
		"searched for them. Files may be compressed: "
		"ring_0.zst, ring_0.gz. A stream that is damaged is read up to the damage, "
		"which is named; the others are read to their end.\n\n"
		"CONDITION compares fields with constants or with each other: == != < <= > >= & | "
		"+ - ~ (a pattern of text), && || ! and parentheses. What is no field is comm, "
		"pid, tid or cpu, or the label of an enum. An event that lacks a field passes only "
		"if the rest decides.\n\n"
		"Addresses (ip, callstack_user) get names when the trace says which files were "
		"loaded where, and the files, or their debug files, "
		"are found: under --files DIRECTORY, under /usr/lib/debug/.build-id, or at "
		"their own path, with the same build-id.\n\n"
		"A file is a trace.dat or a perf.data, also what perf record wrote to a pipe, or, "
		"alone, text that perf script or trace-cmd report has printed; a "
		"directory may hold some (NAME.dat, NAME.data). Alone a perf.data is printed as "
		"perf script does, a trace.dat in "
		"the kernel's own columns, with others (or with --json, --begin, --end) on their "
		"time line. For that it must be known when its events were: from trace-cmd's "
		"--date; "
		"from a CTF trace of the same machine with the same clock (x86-tsc for ours, mono "
		"for "
		"LTTng's); from perf record -k mono; or, of the clocks mono, boot "
		"and tai, because it was recorded on this machine "
		"since that started.\n\n"
		"In a table with several keys each stands below the one before, and what stands "
		"below a row adds up to it. Samples weigh what they stand for, their period; "
		"percentages of several kinds of events are of their numbers. Percentiles are "
		"exact up to 1024 values, and at most 0.4 % too large above. --latency counts from "
		"the last FROM before each TO; what is not in it is counted below it.\n\n"
		"Lines of text say where events were lost (behind a '#'). What began before such a "
		"place is not ended behind it in tables. On a terminal all is shown by $PAGER "
		"(less), as git does it.\n\n"
		"The exit code is 3 when the tracer says that events were lost, and 1 when "
		"something could not be read.",
	.options = options,
};

/*
 * A file alone is printed as the tool that it is of would, unless a time line is asked for; so is
 * one that was to be and is not there.
 */
static const char *style_of(const struct arguments *a, char **paths, bool is_table)
{
	const bool has_style = a->format && recording_is_style(a->format);

	if (is_table && !a->selection.begin && !a->selection.end && !a->selection.utc &&
	    !a->seconds && !a->kernel_clock && (a->compare || !paths[1]))
		return recording_recognise(*paths) ? "" : NULL;
	if (paths[1] || !(recording_recognise(*paths) || (has_style && access(*paths, R_OK))) ||
	    a->json || a->selection.begin || a->selection.end || a->selection.utc || a->seconds ||
	    a->kernel_clock || a->live || (a->format && !has_style))
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

static int choose_analysis(const struct arguments *a, const struct report_analysis **ret)
{
	const struct {
		const char *name;
		bool is_asked;
	} asked[] = {
		{"latency", a->latency},
#define ROW(name, help) {#name, a->name},
		REPORT_ANALYSES(ROW)
#undef ROW
			{"top", a->top || a->sum || a->children || a->call_graph || a->compare},
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
	rc = choose_analysis(a, &ret->row);
	for (size_t i = 0; i < ARRAY_SIZE(table_formats) && a->format; i++)
		is_table_format |= str_eq(a->format, table_formats[i]);
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
		.by_comm = a->compare,
		.per_task = a->per_task,
	};
	return ret->row ? 0 : format_parse(a, ret->style, &ret->format);
}

/*
 * `--top KEYS` and `-g MODE` may stand without "=": a word behind them is theirs, unless it is a
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
