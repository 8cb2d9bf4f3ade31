/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace convert: recordings as files of other programs. */
#include "cmd/convert/convert.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/strbuf.h"
#include "cmd/report/names.h"
#include "cmd/report/selection.h"
#include "trace/writers/writer.h"

struct arguments {
	struct selection_arguments selection;
	const char *to, *kernel_clock;
	struct string_list fields, places;
	bool force, no_symbols, schema;
};

static const struct option_spec options[] = {
	{0, "to", "FORMAT", "the format; otherwise OUT's suffix says it", OPTION_STRING,
	 offsetof(struct arguments, to)},
	{0, "force", NULL, "replace OUT if it is there", OPTION_FLAG,
	 offsetof(struct arguments, force)},
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{0, "utc", NULL, "--begin and --end are in UTC", OPTION_FLAG,
	 offsetof(struct arguments, selection.utc)},
	{0, "field", "NAME", "csv: a column for this field; may be repeated", OPTION_LIST,
	 offsetof(struct arguments, fields)},
	{0, "files", "DIRECTORY",
	 "look for the traced programs' files here too, by build-id and by path; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, places)},
	{0, "kernel-clock", "NAME",
	 "a trace.dat was recorded with this clock (mono, boot, tai, x86-tsc), whatever it says",
	 OPTION_STRING, offsetof(struct arguments, kernel_clock)},
	{0, "no-symbols", NULL, "addresses stay numbers", OPTION_FLAG,
	 offsetof(struct arguments, no_symbols)},
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
		"pantrace convert -e cpu-clock perf.data cpu.folded   # see also: pantrace flame\n"
		"pantrace convert -e cpu-clock perf.data cpu.pb.gz    # go tool pprof cpu.pb.gz\n",
	.details =
		"IN is what report reads: a CTF trace, a trace.dat, a perf.data, or a directory "
		"with some of these; several are put on one time line. Alone it may be text, "
		"too: what perf script or trace-cmd report has printed, or folded stacks. OUT "
		"'-' is standard "
		"output. An OUT that is there is not replaced without --force, and is not there "
		"before it is whole. A further suffix .gz compresses it.\n\n"
		"Formats and their suffixes:\n\n"
		"ndjson (.ndjson, .jsonl): the objects of report --json, one a line.\n\n"
		"csv (.csv): a table with a line of names: time_ns, cpu, pid, tid, comm, event, "
		"then the fields that --field names, or, without it, all of them as JSON in one "
		"column.\n\n"
		"chrome (.json): the Trace Event Format, for ui.perfetto.dev and "
		"chrome://tracing: who ran on each CPU, system calls, interrupts and work as "
		"slices, wake-ups as arrows, frequencies as counters, all else as instants of "
		"their thread, with their fields. Times count from the first event.\n\n"
		"perfetto (.pftrace, .perfetto-trace): the same as Perfetto's protobuf, with full "
		"times, call chains, files and build-ids.\n\n"
		"folded (.folded, .collapsed): call chains and their weights, as flamegraph.pl "
		"reads them: the periods of samples, or how many events. Of several kinds of "
		"events only those of the first that has call chains; -e chooses.\n\n"
		"speedscope (.speedscope.json): the same for speedscope.app, sample by sample.\n\n"
		"pprof (.pb.gz, .pprof): the same for go tool pprof, with addresses and "
		"build-ids.\n\n"
		"What a format cannot carry is left out, and counted on standard error. Times are "
		"nanoseconds since 1970; those of a single recording of which nobody knows when "
		"its clock began stay as they are, which is said.\n\n"
		"The exit code is 3 when the recording says that events were lost, and 1 when "
		"something could not be read, what could is in OUT then, or not be written, "
		"then there is no OUT.",
	.options = options,
};

struct convert {
	const struct arguments *arguments;
	const char *out;
	const struct trace_format *format;
	struct recordings *all;
	struct selection selection;
	struct new_file file;
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
	else if (c->arguments->fields.count && !str_eq(c->format->name, "csv"))
		rc = options_usage_error(&spec, "--field is for csv, and this is %s",
					 c->format->name);
	strbuf_release(&names);
	writer->is_packed &= !c->format || !c->format->is_packed;
	return rc;
}

static enum exit_code cannot_write(const struct convert *c, int rc)
{
	complain("convert", "%s: %s", str_eq(c->out, "-") ? "cannot write the output" : c->out,
		 rc == -EEXIST ? "it is there; --force replaces it" : strerror(-rc));
	return EXIT_FAILED;
}

static int open_out(struct convert *c)
{
	int rc = new_file_open(&c->file, c->out, c->arguments->force);

	if (rc)
		return cannot_write(c, rc);
	if (!(c->format->is_binary || c->format->is_packed) || !isatty(c->file.fd))
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

	while (!rc && !selection_is_over(&c->selection) && (r = recordings_next(c->all, &c->diag)))
		if (selection_passes(&c->selection, r))
			rc = trace_writer_event(w, r);
	return rc ? rc : trace_writer_end(w);
}

static enum exit_code told_end(struct convert *c, const struct trace_writer *w)
{
	const struct recording_loss loss = recordings_loss(c->all, &c->diag);
	const bool is_damaged = loss.damaged || c->diag.errors;

	trace_writer_gaps(w, &c->diag);
	report_names_check(c->all, c->selection.where.items, c->selection.where.len, NULL,
			   &c->diag);
	diag_tell(&c->diag);
	if (loss.events || loss.packets)
		complain("convert", "the tracer lost %" PRIu64 " events and %" PRIu64 " packets",
			 loss.events, loss.packets);
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
		rc = new_file_keep(&c->file);
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
	rc = selection_window(&c->selection, c->all, &spec) ?: open_out(c);
	return rc ? (enum exit_code)rc : convert(c, writer);
}

static int with_paths(const struct arguments *a, char **paths, int count)
{
	const struct recordings_options what = {
		.print = {.format = CTF_FORMAT_JSON},
		.events = a->selection.events,
		.files = a->places,
		.clock = a->kernel_clock,
		.recorded_times = count == 2,
		.no_symbols = a->no_symbols,
	};
	struct convert c = {.arguments = a,
			    .out = paths[count - 1],
			    .selection = {.arguments = &a->selection},
			    .file = {.fd = -1, .directory = -1},
			    .diag = DIAG_INIT};
	struct trace_writer_options writer = {.fields = a->fields};
	int rc = choose_format(&c, &writer);

	if (rc)
		return rc;
	writer.all = c.all = recordings_new(&what);
	rc = (int)run(&c, paths, count - 1, &writer);
	selection_release(&c.selection);
	new_file_drop(&c.file);
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
