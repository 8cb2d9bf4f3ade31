/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace convert: recordings as files of other programs. */
#include "cmd/convert/convert.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_directory.h"
#include "base/new_file.h"
#include "base/strbuf.h"
#include "cmd/report/names.h"
#include "cmd/report/opening.h"
#include "cmd/report/selection.h"
#include "trace/writers/writer.h"

struct arguments {
	struct selection_arguments selection;
	struct opening_arguments opening;
	const char *to;
	struct string_list fields;
	bool force, schema, lttng_names, v6;
};

static const struct option_spec options[] = {
	{0, "to", "FORMAT", "the format; otherwise OUT's suffix says it", OPTION_STRING,
	 offsetof(struct arguments, to)},
	{0, "force", NULL, "replace OUT if it is there", OPTION_FLAG,
	 offsetof(struct arguments, force)},
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{0, "utc", NULL, "--begin and --end are in UTC", OPTION_FLAG,
	 offsetof(struct arguments, selection.utc)},
	{0, "field", "NAME", "csv, parquet: a column for this field; may be repeated", OPTION_LIST,
	 offsetof(struct arguments, fields)},
	{0, "lttng-names", NULL,
	 "ctf: events of the kernel as LTTng calls them and their fields, with a state dump",
	 OPTION_FLAG, offsetof(struct arguments, lttng_names)},
	{0, "v6", NULL, "trace.dat: of version 6, uncompressed (default: 7)", OPTION_FLAG,
	 offsetof(struct arguments, v6)},
	OPENING_OPTIONS(offsetof(struct arguments, opening)),
	{0, "json-schema", NULL, "print the JSON Schema of the lines of ndjson", OPTION_FLAG,
	 offsetof(struct arguments, schema)},
	{0},
};

static const struct command_spec spec = {
	.name = "convert",
	.synopsis = "[options] IN... OUT",
	.summary = "turn recordings into files of other programs",
	.examples =
		"pantrace convert perf.data out.ndjson                # one JSON object a line\n"
		"pantrace convert -e sched_switch --field prev_comm --field next_comm trace.dat "
		"switches.csv\n"
		"pantrace convert --to ndjson trace trace.dat - | jq .event\n"
		"pantrace convert trace trace.dat both.pftrace        # ui.perfetto.dev\n"
		"pantrace convert --lttng-names trace.dat kernel.ctf  # Trace Compass\n"
		"pantrace convert -w 'comm == \"make\"' trace.dat make.dat  # trace-cmd reads it\n"
		"pantrace convert trace.dat perf.data both.data       # perf script -i both.data\n"
		"pantrace convert -e cpu-clock perf.data cpu.folded   # see also: pantrace flame\n"
		"pantrace convert -e cpu-clock perf.data cpu.pb.gz    # go tool pprof cpu.pb.gz\n",
	.details = "IN is what report reads: a CTF trace, a trace.dat, a perf.data, or a "
		   "directory with some of these; several are merged on one time line. A single "
		   "IN may also be text: the output of perf script or trace-cmd report, or "
		   "folded stacks, or a profile of pprof. OUT '-' is standard output. An existing "
		   "OUT is replaced only with --force, and OUT appears only when it is complete. "
		   "Another suffix .gz compresses it.\n\n"
		   "Formats and their suffixes:\n\n"
		   "ndjson (.ndjson, .jsonl): the objects of report --json, one per line.\n\n"
		   "csv (.csv): a table with a header line: time_ns, cpu, pid, tid, comm, event, "
		   "then the fields that --field names or, without it, all fields as JSON in one "
		   "column.\n\n"
		   "chrome (.json): the Trace Event Format, for ui.perfetto.dev and "
		   "chrome://tracing: who ran on each CPU; system calls, interrupts and work "
		   "items as slices; wake-ups as arrows; frequencies as counters; everything "
		   "else as instants of its thread, with its fields. Times count from the first "
		   "event.\n\n"
		   "parquet (.parquet): the table of csv by columns, compressed, for DuckDB, "
		   "pandas and others; times are timestamps; fields are integers, decimals or "
		   "text, depending on their first values.\n\n"
		   "ctf (.ctf): a CTF 1.8 trace, a directory, for babeltrace2 and Trace Compass. "
		   "For Trace Compass's kernel views, --lttng-names gives kernel events and "
		   "their fields LTTng's names, and begins with a state dump of the threads, if "
		   "the recording has them (a perf.data does); unknown values (a thread's state, "
		   "its parent) are 0 or -1.\n\n"
		   "perfetto (.pftrace, .perfetto-trace): the content of chrome as Perfetto's "
		   "protobuf, with full times, call chains, files and build-ids.\n\n"
		   "folded (.folded, .collapsed): call chains and their weights, for "
		   "flamegraph.pl: the periods of samples, or counts of events. If there are "
		   "several kinds of events, only the first kind with call chains is taken; -e "
		   "chooses another.\n\n"
		   "speedscope (.speedscope.json): the same for speedscope.app, sample by "
		   "sample.\n\n"
		   "pprof (.pb.gz, .pprof): the same for go tool pprof, with addresses and "
		   "build-ids.\n\n"
		   "trace.dat (.dat): for trace-cmd and KernelShark; --v6 for older ones. "
		   "Tracepoints keep the record that the kernel wrote, its format, CPU, thread "
		   "and time; other events get a format made from their fields. Call chains "
		   "become separate events after theirs (kernel_stack, user_stack). Instances "
		   "become one buffer.\n\n"
		   "perf.data (.data): for perf. Samples keep their event, address, call chain "
		   "and period, tracepoints their record; the mappings that call chains lead to "
		   "are included, with build-ids and thread names.\n\n"
		   "trace.dat and perf.data identify threads by number alone: recordings of "
		   "several machines are refused. A single recording keeps its times; several "
		   "are put on the clock mono if the first one uses it, else on time since 1970. "
		   "Both formats are written at several places at once, so OUT must be a file.\n\n"
		   "What a format cannot carry is left out and counted on standard error. Times "
		   "in the other formats are nanoseconds since 1970; those of a single recording "
		   "whose clock has no known start stay as they are, and a warning says so.\n\n"
		   "The exit code is 3 if the recording says that events were lost, and 1 if "
		   "something could not be read (OUT has the rest) or written (there is no OUT).",
	.options = options,
};

struct convert {
	const struct arguments *arguments;
	const char *out;
	const struct trace_format *format;
	struct recordings *all;
	struct selection selection;
	struct new_file file;
	struct new_directory directory; /* of formats that are one */
	struct diag diag;
};

/* ---- what is asked for ---- */

static int choose_format(struct convert *c, struct trace_writer_options *writer)
{
	const char *const to = c->arguments->to;
	const struct trace_format *f = trace_format_of_file(c->out, &writer->is_packed);
	struct strbuf names = STRBUF_INIT;
	int rc = 0;

	c->format = to ? trace_format_named(to) : f;
	for (size_t i = 0; (f = trace_format_at(i)); i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", f->name);
	if (to && !c->format)
		rc = options_usage_error(&spec, "unknown format '%s': it is one of %s", to,
					 names.data);
	else if (!c->format)
		rc = options_usage_error(&spec, "'%s' does not say the format; --to does: %s",
					 c->out, names.data);
	else if (c->arguments->lttng_names && !str_eq(c->format->name, "ctf"))
		rc = options_usage_error(&spec, "--lttng-names is for ctf, and this is %s",
					 c->format->name);
	else if (c->arguments->v6 && !str_eq(c->format->name, "trace.dat"))
		rc = options_usage_error(&spec, "--v6 is for trace.dat, and this is %s",
					 c->format->name);
	else if (c->format->is_seekable && (str_eq(c->out, "-") || writer->is_packed))
		rc = options_usage_error(&spec,
					 "%s is written at several places at once: '%s' cannot be "
					 "one",
					 c->format->name, c->out);
	else if (c->format->is_directory && (str_eq(c->out, "-") || writer->is_packed))
		rc = options_usage_error(&spec, "%s is a directory, which '%s' cannot be",
					 c->format->name, c->out);
	else if (c->arguments->fields.count && !str_eq(c->format->name, "csv") &&
		 !str_eq(c->format->name, "parquet"))
		rc = options_usage_error(&spec, "--field is for csv and parquet, and this is %s",
					 c->format->name);
	strbuf_release(&names);
	writer->is_packed &= !c->format || !c->format->is_packed;
	return rc;
}

static const char *why_not(const struct convert *c, int rc)
{
	if (rc == -EREMOTE)
		return "such a file knows threads by their numbers alone, and these recordings are "
		       "of several machines: convert those of one machine at a time";
	if (rc != -EEXIST)
		return strerror(-rc);
	return c->format->is_directory ? "it is there, and a directory is not replaced"
				       : "it is there; --force replaces it";
}

static enum exit_code cannot_write(const struct convert *c, int rc)
{
	complain("convert", "%s: %s", str_eq(c->out, "-") ? "cannot write the output" : c->out,
		 why_not(c, rc));
	return EXIT_FAILED;
}

/* Would OUT replace the file of this recording? A link goes itself, not what it leads to. */
static int is_out(struct recording *r, void *arg)
{
	const struct convert *const c = arg;
	struct stat in, out;

	return !lstat(c->out, &out) && !stat(r->path, &in) && in.st_dev == out.st_dev &&
	       in.st_ino == out.st_ino;
}

static int open_out(struct convert *c)
{
	int rc;

	if (c->arguments->force && recordings_each(c->all, is_out, c)) {
		complain("convert", "%s: it is what is converted: OUT must be another file",
			 c->out);
		return EXIT_FAILED;
	}
	rc = c->format->is_directory ? new_directory_open(&c->directory, c->out)
				     : new_file_open(&c->file, c->out, c->arguments->force);

	if (rc)
		return cannot_write(c, rc);
	if (c->format->is_seekable && c->file.directory < 0) {
		complain("convert", "%s: it is not a regular file, which %s needs", c->out,
			 c->format->name);
		return EXIT_FAILED;
	}
	if (!(c->format->is_binary || c->format->is_packed) || c->format->is_directory ||
	    !isatty(c->file.fd))
		return 0;
	complain("convert", "%s is not for a terminal: write it to a file", c->format->name);
	return EXIT_USAGE;
}

static int open_in(struct convert *c, char **paths, int count)
{
	int rc = 0;

	for (int i = 0; i < count && !rc; i++)
		rc = recordings_add(c->all, paths[i], &c->diag);
	return rc ? rc : recordings_open(c->all, &c->diag);
}

/* ---- events ---- */

static int write_events(struct convert *c, struct trace_writer *w)
{
	struct recording *r;
	int rc = 0;

	while (!rc && (r = selection_next(&c->selection, c->all, &c->diag)))
		rc = trace_writer_event(w, r);
	return rc ? rc : trace_writer_end(w);
}

static enum exit_code told_end(struct convert *c, const struct trace_writer *w)
{
	const struct recording_loss loss = recordings_loss(c->all, &c->diag);
	bool is_damaged;

	trace_writer_gaps(w, &c->diag);
	is_damaged = loss.damaged || c->diag.errors;
	report_names_check(c->all, c->selection.where.items, c->selection.where.len, NULL,
			   &c->diag);
	diag_tell(&c->diag);
	if (loss.events || loss.packets)
		complain("convert", "the tracer lost %" PRIu64 " event%s and %" PRIu64 " packet%s",
			 loss.events, plural(loss.events), loss.packets, plural(loss.packets));
	if (is_damaged)
		return EXIT_FAILED;
	return loss.events || loss.packets || loss.gaps ? EXIT_LOST : EXIT_OK;
}

static enum exit_code convert(struct convert *c, const struct trace_writer_options *writer)
{
	struct trace_writer *const w = trace_writer_new(c->format, writer, c->file.fd);
	int rc = write_events(c, w);
	enum exit_code code = EXIT_OK;

	if (!rc) {
		code = told_end(c, w);
		rc = c->format->is_directory ? new_directory_keep(&c->directory)
					     : new_file_keep(&c->file);
	} else {
		diag_tell(&c->diag);
	}
	trace_writer_release(w);
	if (rc == -EPIPE)
		return code;
	return rc ? cannot_write(c, rc) : code;
}

static int tell_times(struct recording *r, void *arg)
{
	struct convert *const c = arg;

	if (r->is_unplaced && c->format->has_times)
		diag_warning(&c->diag, NO_SPAN,
			     "%s: times stay as they were recorded: nothing says when that was",
			     r->path);
	return 0;
}

static enum exit_code run(struct convert *c, char **paths, int count,
			  struct trace_writer_options *writer)
{
	int rc = selection_conditions(&c->selection, &c->diag);

	if (rc) {
		diag_tell(&c->diag);
		return EXIT_USAGE;
	}
	rc = open_in(c, paths, count);
	if (rc) {
		diag_tell(&c->diag);
		return EXIT_FAILED;
	}
	recordings_each(c->all, tell_times, c);
	rc = selection_window(&c->selection, c->all, &spec, &c->diag) ?: open_out(c);
	writer->beside = c->file.directory;
	writer->on_terminal = !rc && isatty(c->file.fd);
	return rc ? (enum exit_code)rc : convert(c, writer);
}

static int with_paths(const struct arguments *a, char **paths, int count)
{
	struct recordings_options what = {
		.print = {.format = CTF_FORMAT_JSON},
		.events = a->selection.events,
		.files = a->opening.files,
		.clock = a->opening.clock,
		.tsc_hz = opening_tsc_hz(&a->opening),
		.recorded_times = count == 2,
		.no_symbols = a->opening.no_symbols,
	};
	struct convert c = {.arguments = a,
			    .out = paths[count - 1],
			    .selection = {.arguments = &a->selection},
			    .file = {.fd = -1, .directory = -1},
			    .diag = DIAG_INIT};
	struct trace_writer_options writer = {.fields = a->fields,
					      .directory = &c.directory,
					      .lttng_names = a->lttng_names,
					      .v6 = a->v6};
	int rc = choose_format(&c, &writer);

	if (rc)
		return rc;
	what.no_symbols |= c.format->no_symbols;
	writer.all = c.all = recordings_new(&what);
	rc = (int)run(&c, paths, count - 1, &writer);
	selection_release(&c.selection);
	new_file_drop(&c.file);
	new_directory_drop(&c.directory);
	recordings_release(c.all);
	diag_release(&c.diag);
	return rc;
}

int cmd_convert(int argc, char **argv)
{
	struct arguments a = {0};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		if (a.schema && first == argc) {
			fputs(ndjson_schema, stdout);
			rc = EXIT_OK;
		} else if (a.schema || argc - first < 2) {
			rc = a.schema ? options_usage_error(&spec, "--json-schema stands alone")
				      : options_usage_error(&spec, "%s is missing",
							    first == argc ? "a recording" : "OUT");
		} else {
			rc = with_paths(&a, argv + first, argc - first);
		}
	}
	options_release(&spec, &a);
	return rc;
}
