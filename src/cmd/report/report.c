/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace report: what CTF traces say, ours and other people's. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/options.h"
#include "cmd/report/report.h"
#include "cmd/report/inputs.h"
#include "cmd/report/kernel.h"
#include "cmd/report/names.h"
#include "cmd/report/time.h"
#include "lang/predicate/recorded.h"
#include "trace/ctf/field.h"
#include "trace/ctf/print.h"
#include "trace/ctf/symbols.h"

struct arguments {
	struct string_list events, where;
	const char *format, *begin, *end, *kernel_clock;
	bool json, count, live, utc, seconds, no_symbols;
	u64 limit, hold_ms;
	struct string_list paths; /* of --files: where to look for objects */
};

static const struct option_spec options[] = {
	{'e', "event", "GLOB", "only events whose name matches, as in 'app:*'; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, events)},
	{'w', "where", "CONDITION",
	 "only events for which this holds, as between the slashes of a script; "
	 "FIELD=VALUE takes * and ?; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, where)},
	{'b', "begin", "TIME",
	 "from this time on: HH:MM:SS, YYYY-MM-DD HH:MM:SS, or seconds since the epoch",
	 OPTION_STRING, offsetof(struct arguments, begin)},
	{'E', "end", "TIME", "up to this time", OPTION_STRING, offsetof(struct arguments, end)},
	{'n', "limit", "N", "end after this many events", OPTION_U64,
	 offsetof(struct arguments, limit)},
	{'f', "format", "text|babeltrace|json|trace-cmd",
	 "text (the default), babeltrace (byte for byte what babeltrace2 prints) or json",
	 OPTION_STRING, offsetof(struct arguments, format)},
	{0, "json", NULL, "one JSON object a line", OPTION_FLAG, offsetof(struct arguments, json)},
	{'c', "count", NULL, "how many events there are of each kind", OPTION_FLAG,
	 offsetof(struct arguments, count)},
	{0, "utc", NULL, "times in UTC", OPTION_FLAG, offsetof(struct arguments, utc)},
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
		   "kernel events of a trace.dat",
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
		"on one time line\n",
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
		"A file is a trace.dat; a directory may hold some (NAME.dat). Alone it is printed "
		"in "
		"the kernel's own columns, with others (or with --json, --begin, --end) on their "
		"time line. For that it must be known when its events were: from trace-cmd's "
		"--date; "
		"from a CTF trace of the same machine with the same clock (x86-tsc for ours, mono "
		"for "
		"LTTng's); or, of the clocks mono, boot and tai, because it was recorded on this "
		"machine "
		"since that started.\n\n"
		"The exit code is 3 when the tracer says that events were lost, and 1 when "
		"something could not be read.",
	.options = options,
};

struct report {
	const struct arguments *arguments;
	struct ctf_set *set;
	struct ctf_printer *printer;
	struct ctf_symbols *symbols;
	struct diag diag;
	VECTOR(struct report_kernel *) kernels;
	VECTOR(const struct expr *) where;
	struct report_selection selection;
	enum report_style style;
	s64 begin_ns, end_ns;
	u64 printed;
	struct hashmap counts;
	bool hides_objects;
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

/* The recording whose next event is the oldest of all and not younger than this; NULL: none. */
static struct report_kernel *kernel_before(struct report *r, s64 until_ns, s64 *ret_ns)
{
	struct report_kernel *best = NULL;

	for (size_t i = 0; i < r->kernels.len; i++) {
		s64 ns;

		if (!report_kernel_time(r->kernels.items[i], &ns) || ns > until_ns)
			continue;
		best = r->kernels.items[i];
		until_ns = *ret_ns = ns;
	}
	return best;
}

static int window(struct report *r)
{
	struct ctf_event first;
	s64 day;

	r->begin_ns = INT64_MIN;
	r->end_ns = INT64_MAX;
	if (ctf_set_next(r->set, &first, &r->diag) > 0)
		day = first.ns;
	else if (!kernel_before(r, INT64_MAX, &day))
		day = (s64)time(NULL) * 1000000000;
	if (r->arguments->begin &&
	    report_time_parse(r->arguments->begin, r->arguments->utc, day, &r->begin_ns))
		return options_usage_error(&spec, "'%s' is no time", r->arguments->begin);
	if (r->arguments->end &&
	    report_time_parse(r->arguments->end, r->arguments->utc, day, &r->end_ns))
		return options_usage_error(&spec, "'%s' is no time", r->arguments->end);
	return 0;
}

static int conditions(struct report *r)
{
	for (u32 i = 0; i < r->arguments->where.count; i++) {
		const struct expr *e = predicate_recorded(&r->diag, r->arguments->where.items[i]);

		if (!e)
			return -EINVAL;
		vector_push(&r->where, e);
	}
	r->selection.where = r->where.items;
	r->selection.nr_where = r->where.len;
	return 0;
}

static int format_parse(const struct report *r, enum ctf_format *ret)
{
	const struct arguments *const a = r->arguments;
	static const char *const names[] = {"text", "babeltrace", "json"};

	*ret = a->json ? CTF_FORMAT_JSON : CTF_FORMAT_TEXT;
	if (a->json && a->format && !str_eq(a->format, "json") && !str_eq(a->format, "trace-cmd"))
		return options_usage_error(&spec, "--json and -f %s are two formats; choose one",
					   a->format);
	if (r->style == REPORT_TRACE_CMD)
		return 0;
	if (a->format && str_eq(a->format, "trace-cmd"))
		return options_usage_error(
			&spec,
			"-f trace-cmd is for one trace.dat alone, without a time line's options");
	for (size_t i = 0; a->format && i < ARRAY_SIZE(names); i++) {
		if (!str_eq(a->format, names[i]))
			continue;
		*ret = (enum ctf_format)i;
		return 0;
	}
	return a->format
		       ? options_usage_error(&spec, "unknown format '%s': text, babeltrace or json",
					     a->format)
		       : 0;
}

/* ---- events ---- */

static void tell(struct report *r)
{
	diag_tell(&r->diag);
}

static void count(struct report *r, const char *name, u64 n)
{
	void **at = hashmap_put(&r->counts, name, strlen(name) + 1, NULL);

	*at = (void *)((uintptr_t)*at + n);
}

static void count_kernel(void *arg, const char *name, u64 n)
{
	count(arg, name, n);
}

/* Word of loaded objects is for symbols; people who want to see it ask for it. */
static bool is_for_us(const struct report *r, const struct ctf_event *event)
{
	return r->hides_objects && event->stream->trace->is_ours && event->class->stream_id == 1;
}

/* The script's variables are what contexts of events are called so. */
static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	static const char *const contexts[][2] = {
		{"comm", "procname"}, {"pid", "vpid"}, {"tid", "vtid"}, {"cpu", "cpu_id"}};
	const struct ctf_event *const event = arg;
	struct field_value v = ctf_event_field(event, name);

	for (size_t i = 0; !v.kind && !only_field && i < ARRAY_SIZE(contexts); i++)
		if (str_eq(name, contexts[i][0]))
			v = ctf_event_field(event, contexts[i][1]);
	return v;
}

static bool passes(struct report *r, const struct ctf_event *event)
{
	if (event->ns < r->begin_ns || event->ns > r->end_ns || !ctf_print_wants(r->printer, event))
		return false;
	for (size_t i = 0; i < r->where.len; i++)
		if (!predicate_holds(r->where.items[i], look_up, (void *)(uintptr_t)event))
			return false;
	return true;
}

static bool enough(const struct report *r)
{
	return r->arguments->limit && r->printed >= r->arguments->limit;
}

static int kernel_event(struct report *r, struct report_kernel *k, s64 ns)
{
	if (ns < r->begin_ns || ns > r->end_ns) {
		report_kernel_skip(k);
		return 0;
	}
	r->printed++;
	return report_kernel_next(k, r->arguments->count ? NULL : r->printer);
}

/* Those that are not younger. */
static int kernel_events(struct report *r, s64 until_ns)
{
	struct report_kernel *kernel;
	int rc = 0;
	s64 ns;

	while (!rc && !interrupted && !enough(r) && (kernel = kernel_before(r, until_ns, &ns)))
		rc = kernel_event(r, kernel, ns);
	return rc;
}

/* Up to the end of what is there. 0, or what a write said. */
static int events(struct report *r)
{
	const bool all = !r->arguments->begin && !r->arguments->end &&
			 !r->arguments->events.count && !r->where.len;
	struct ctf_event event;
	int rc = 0;

	while (!rc && !interrupted) {
		const bool has = ctf_set_next(r->set, &event, &r->diag) > 0;
		struct ctf_cursor c;

		rc = kernel_events(r, has ? event.ns : INT64_MAX);
		if (!has || rc)
			break;
		c = ctf_event_cursor(&event);
		if (is_for_us(r, &event) || (!all && !passes(r, &event))) {
			ctf_set_skip(r->set, &event, &r->diag);
			continue;
		}
		if (enough(r))
			return 0;
		r->printed++;
		if (r->arguments->count) {
			count(r, event.class->name, 1);
			ctf_set_skip(r->set, &event, &r->diag);
			continue;
		}
		rc = ctf_print(r->printer, &event, &c);
		ctf_set_done(r->set, &event, &c, &r->diag);
	}
	return rc;
}

static int follow(struct report *r)
{
	int rc = 0;

	while (!rc && !interrupted && !enough(r)) {
		rc = events(r);
		if (!rc)
			rc = ctf_print_flush(r->printer);
		tell(r);
		if (!rc && !interrupted && !enough(r))
			poll(NULL, 0, 100);
		ctf_set_refresh(r->set, &r->diag);
	}
	return rc;
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

	for (size_t i = 0; i < r->kernels.len; i++)
		report_kernel_counts(r->kernels.items[i], count_kernel, r);
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
	struct ctf_loss loss = ctf_set_loss(r->set);
	bool gaps = false;

	for (size_t i = 0; i < r->kernels.len; i++)
		loss.events += report_kernel_lost(r->kernels.items[i], &r->diag, &gaps);
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
	return loss.events || loss.packets || gaps ? EXIT_LOST : EXIT_OK;
}

static void address(void *arg, struct ctf_trace *trace, s64 ns, u64 value, struct strbuf *out)
{
	ctf_symbols_put(arg, trace, ns, value, out);
}

/* ---- traces ---- */

/* What only CTF has. */
static int kernels_check(struct report *r)
{
	const struct arguments *a = r->arguments;
	const char *what = a->live					  ? "--live"
			   : a->format && str_eq(a->format, "babeltrace") ? "--format babeltrace"
									  : NULL;

	if (!what || !r->kernels.len)
		return 0;
	diag_error(&r->diag, NO_SPAN, "%s is for CTF traces, and there is a trace.dat among these",
		   what);
	return -EINVAL;
}

/* The recordings of the kernel last: their place on the time line may depend on the others. */
static int add_paths(struct report *r, char **paths, bool is_json)
{
	const struct report_kernel_options how = {
		.style = r->style,
		.selection = &r->selection,
		.raw = is_json,
		.clock = r->arguments->kernel_clock,
		.set = r->set,
	};
	struct report_recordings recordings = {0};
	int rc = 0;

	for (; *paths && !rc; paths++)
		rc = report_input_add(*paths, r->style != REPORT_TIME_LINE, r->set, &recordings,
				      &r->diag);
	for (size_t i = 0; i < recordings.paths.len && !rc; i++) {
		struct report_kernel *k;

		rc = report_kernel_open(recordings.paths.items[i], &how, &r->diag, &k);
		if (!rc)
			vector_push(&r->kernels, k);
	}
	report_recordings_release(&recordings);
	return rc ? rc : kernels_check(r);
}

static void check_names(struct report *r)
{
	struct event_table **tables = xreallocarray(NULL, r->kernels.len + 1, sizeof(*tables));

	for (size_t i = 0; i < r->kernels.len; i++)
		tables[i] = report_kernel_table(r->kernels.items[i]);
	report_names_check(&(struct report_names){.set = r->set,
						  .kernels = tables,
						  .nr_kernels = r->kernels.len},
			   &r->selection, &r->diag);
	free(tables);
}

static enum exit_code run(struct report *r, char **paths)
{
	struct ctf_print_options print = {
		.gmt = r->arguments->utc,
		.seconds = r->arguments->seconds,
		.escape = isatty(STDOUT_FILENO),
		.events = r->arguments->events.items,
		.nr_events = r->arguments->events.count,
	};
	int rc = format_parse(r, &print.format);

	if (rc)
		return (enum exit_code)rc;
	if (conditions(r)) {
		tell(r);
		return EXIT_USAGE;
	}
	if (add_paths(r, paths, print.format == CTF_FORMAT_JSON)) {
		tell(r);
		return EXIT_FAILED;
	}
	rc = window(r);
	if (rc)
		return (enum exit_code)rc;
	if (print.format != CTF_FORMAT_BABELTRACE && !r->arguments->no_symbols) {
		r->symbols = ctf_symbols_new(r->arguments->paths.items, r->arguments->paths.count);
		print.address = address;
		print.arg = r->symbols;
	}
	r->hides_objects =
		print.format != CTF_FORMAT_BABELTRACE && !print.nr_events && !r->arguments->count;
	r->printer = ctf_printer_new(&print, STDOUT_FILENO);
	rc = r->arguments->live ? follow(r) : events(r);
	if (!rc)
		rc = ctf_print_flush(r->printer);
	if (!rc)
		check_names(r);
	if (r->arguments->count)
		counts_print(r);
	ctf_printer_release(r->printer);
	return end(r, rc);
}

/*
 * A trace.dat alone is printed as the kernel would, unless a time line is asked for; so is one that
 * was to be and is not there.
 */
static enum report_style style_of(const struct arguments *a, char **paths)
{
	const bool trace_cmd = a->format && str_eq(a->format, "trace-cmd");

	if (paths[1] || !(report_kernel_is(*paths) || (trace_cmd && access(*paths, R_OK))) ||
	    a->json || a->begin || a->end || a->utc || a->seconds || a->kernel_clock || a->live ||
	    (a->format && !trace_cmd))
		return REPORT_TIME_LINE;
	return trace_cmd ? REPORT_TRACE_CMD : REPORT_COLUMNS;
}

static int report(const struct arguments *a, char **paths)
{
	struct report r = {.arguments = a,
			   .diag = DIAG_INIT,
			   .selection = {.events = a->events},
			   .style = style_of(a, paths)};
	const struct sigaction action = {.sa_handler = on_signal};
	int rc;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r.set = ctf_set_new(
		&(struct ctf_options){.live = a->live, .hold_ns = (s64)a->hold_ms * 1000000});
	rc = run(&r, paths);
	vector_free(&r.where);
	for (size_t i = 0; i < r.kernels.len; i++)
		report_kernel_close(r.kernels.items[i]);
	vector_free(&r.kernels);
	hashmap_release(&r.counts);
	ctf_symbols_release(r.symbols);
	ctf_set_release(r.set);
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
