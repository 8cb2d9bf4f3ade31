/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace report: what CTF traces say, ours and other people's. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/options.h"
#include "cmd/report/report.h"
#include "cmd/report/names.h"
#include "cmd/report/selection.h"
#include "trace/recording.h"

struct arguments {
	struct selection_arguments selection;
	const char *format, *kernel_clock;
	bool json, count, live, seconds, no_symbols;
	u64 hold_ms;
	struct string_list paths; /* of --files: where to look for objects */
};

static const struct option_spec options[] = {
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{'f', "format", "text|babeltrace|json|trace-cmd|perf",
	 "text (the default), babeltrace (byte for byte what babeltrace2 prints), json; of one "
	 "file alone: trace-cmd, perf (as these print their own)",
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
	{0},
};

static const struct command_spec spec = {
	.name = "report",
	.synopsis = "[options] DIRECTORY|FILE...",
	.summary = "print CTF traces: what pantrace records of instrumented programs, and LTTng's; "
		   "a trace.dat of trace-cmd; a perf.data",
	.examples =
		"pantrace report trace                          # every event, by time, of all "
		"processes in it\n"
		"pantrace report -e 'shop:*' -w 'seconds>=0.5' trace  # some of them\n"
		"pantrace report -w 'prev_comm ~ \"make*\" && cpu == 1' trace.dat   # and of the "
		"kernel\n"
		"pantrace report --count trace                  # how many of each kind\n"
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
		"A file is a trace.dat or a perf.data, also what perf record wrote to a pipe; a "
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
		"The exit code is 3 when the tracer says that events were lost, and 1 when "
		"something could not be read.",
	.options = options,
};

struct report {
	const struct arguments *arguments;
	struct recordings *recordings;
	struct diag diag;
	struct selection selection;
	struct hashmap counts;
};

static volatile sig_atomic_t interrupted;

/* Nobody reads what is still to be printed. */
static void on_alarm(int number)
{
	_exit(EXIT_LOST);
}

static void on_signal(int number)
{
	interrupted = 1;
	signal(SIGALRM, on_alarm);
	alarm(1);
}

/* ---- what is asked for ---- */

/*
 * A file alone is printed as the tool that it is of would, unless a time line is asked for; so is
 * one that was to be and is not there.
 */
static const char *style_of(const struct arguments *a, char **paths)
{
	const bool has_style = a->format && recording_is_style(a->format);

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
		return options_usage_error(&spec, "--json and -f %s are two formats; choose one",
					   a->format);
	if (style || !a->format)
		return 0;
	if (has_style)
		return options_usage_error(
			&spec, "-f %s is for one %s alone, without a time line's options",
			a->format, recording_is_style(a->format));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!str_eq(a->format, names[i]))
			continue;
		*ret = (enum ctf_format)i;
		return 0;
	}
	return options_usage_error(&spec, "unknown format '%s': text, babeltrace or json",
				   a->format);
}

/* ---- events ---- */

static void tell(struct report *r)
{
	diag_tell(&r->diag);
}

/* Up to the end of what is there. 0, or what a write said. */
static int events(struct report *r)
{
	const bool counts = r->arguments->count;
	struct recording *from;
	int rc = 0;

	while (!rc && !interrupted && !selection_is_over(&r->selection) &&
	       (from = recordings_next(r->recordings, &r->diag))) {
		if (!selection_passes(&r->selection, from))
			continue;
		if (counts)
			from->kind->count++;
		else
			rc = recording_print(from);
	}
	return rc;
}

static int follow(struct report *r)
{
	int rc = 0;

	while (!rc && !interrupted && !selection_is_over(&r->selection)) {
		rc = events(r);
		if (!rc)
			rc = recordings_flush(r->recordings);
		tell(r);
		if (!rc && !interrupted && !selection_is_over(&r->selection))
			poll(NULL, 0, 100);
		recordings_refresh(r->recordings, &r->diag);
	}
	return rc;
}

/* Several kinds may have one name: in traces of several programs. */
static void count(void *arg, struct recorded_kind *k)
{
	struct report *const r = arg;
	void **at;

	if (!k->count)
		return;
	at = hashmap_put(&r->counts, k->name, strlen(k->name) + 1, NULL);
	*at = (void *)((uintptr_t)*at + k->count);
}

static int by_count(const void *a, const void *b)
{
	const struct hashmap_entry *x = a, *y = b;

	if (x->value != y->value)
		return (uintptr_t)x->value < (uintptr_t)y->value ? 1 : -1;
	return strcmp(x->key, y->key);
}

static void counts_print(struct report *r)
{
	struct strbuf out = STRBUF_INIT;
	struct json j = JSON_INIT(&out);
	struct hashmap_entry *rows;

	recordings_each_kind(r->recordings, count, r);
	rows = xreallocarray(NULL, r->counts.len + 1, sizeof(*rows));
	if (r->counts.len)
		memcpy(rows, r->counts.entries, r->counts.len * sizeof(*rows));
	qsort(rows, r->counts.len, sizeof(*rows), by_count);
	for (size_t i = 0; i < r->counts.len; i++) {
		strbuf_reset(&out);
		if (r->arguments->json) {
			json_object(&j);
			json_member_string(&j, "event", rows[i].key, rows[i].key_len - 1);
			json_member_u64(&j, "count", (uintptr_t)rows[i].value);
			json_end(&j, '}');
			json_end_line(&j);
		} else {
			strbuf_addf(&out, "%10zu  ", (size_t)(uintptr_t)rows[i].value);
			escape_line(&out, rows[i].key, rows[i].key_len - 1);
			strbuf_addch(&out, '\n');
		}
		fwrite(out.data, 1, out.len, stdout);
	}
	strbuf_release(&out);
	free(rows);
}

static enum exit_code end(struct report *r, int rc)
{
	struct recording_loss loss = recordings_loss(r->recordings, &r->diag);

	loss.damaged += r->diag.errors;
	tell(r);
	if (rc && rc != -EPIPE)
		complain("report", "cannot write: %s", strerror(-rc));
	if (loss.events || loss.packets) {
		fprintf(stderr, "pantrace report: the tracer lost %llu events",
			(unsigned long long)loss.events);
		if (loss.packets)
			fprintf(stderr,
				", and %llu packets that were overwritten before they were read",
				(unsigned long long)loss.packets);
		fputc('\n', stderr);
	}
	if (loss.damaged || (rc && rc != -EPIPE))
		return EXIT_FAILED;
	return loss.events || loss.packets || loss.gaps ? EXIT_LOST : EXIT_OK;
}

/* ---- recordings ---- */

/* What only CTF has. */
static int fixed_check(struct report *r)
{
	const struct arguments *a = r->arguments;
	const struct recording *fixed = recordings_fixed(r->recordings);
	const char *what = a->live					  ? "--live"
			   : a->format && str_eq(a->format, "babeltrace") ? "--format babeltrace"
									  : NULL;

	if (!what || !fixed)
		return 0;
	diag_error(&r->diag, NO_SPAN, "%s is for CTF traces, and there is a %s among these", what,
		   fixed->reader->name);
	return -EINVAL;
}

static int add_paths(struct report *r, char **paths)
{
	int rc = 0;

	for (; *paths && !rc; paths++)
		rc = recordings_add(r->recordings, *paths, &r->diag);
	if (!rc)
		rc = recordings_open(r->recordings, &r->diag);
	return rc ? rc : fixed_check(r);
}

static enum exit_code run(struct report *r, char **paths)
{
	int rc;

	if (add_paths(r, paths)) {
		tell(r);
		return EXIT_FAILED;
	}
	rc = selection_window(&r->selection, r->recordings, &spec);
	if (rc)
		return (enum exit_code)rc;
	rc = r->arguments->live ? follow(r) : events(r);
	if (!rc)
		rc = recordings_flush(r->recordings);
	if (!rc)
		report_names_check(r->recordings, r->selection.where.items, r->selection.where.len,
				   &r->diag);
	if (r->arguments->count)
		counts_print(r);
	return end(r, rc);
}

static int report(const struct arguments *a, char **paths)
{
	struct report r = {
		.arguments = a, .selection = {.arguments = &a->selection}, .diag = DIAG_INIT};
	struct recordings_options what = {
		.print = {.gmt = a->selection.utc,
			  .seconds = a->seconds,
			  .escape = isatty(STDOUT_FILENO)},
		.events = a->selection.events,
		.files = a->paths,
		.style = style_of(a, paths),
		.clock = a->kernel_clock,
		.live = a->live,
		.hold_ns = (s64)a->hold_ms * 1000000,
	};
	const struct sigaction action = {.sa_handler = on_signal};
	int rc = format_parse(a, what.style, &what.print.format);

	if (rc)
		return rc;
	what.shows_inner = what.print.format == CTF_FORMAT_BABELTRACE || a->count;
	what.no_symbols = what.print.format == CTF_FORMAT_BABELTRACE || a->no_symbols;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r.recordings = recordings_new(&what);
	if (selection_conditions(&r.selection, &r.diag)) {
		tell(&r);
		rc = EXIT_USAGE;
	} else {
		rc = run(&r, paths);
	}
	selection_release(&r.selection);
	hashmap_release(&r.counts);
	recordings_release(r.recordings);
	diag_release(&r.diag);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct arguments a = {.hold_ms = 1000};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = first == argc
			     ? options_usage_error(&spec, "which trace? The directory is missing")
			     : report(&a, argv + first);
	}
	options_release(&spec, &a);
	return rc;
}
