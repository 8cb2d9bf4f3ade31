/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace report: what CTF traces say, ours and other people's. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/options.h"
#include "cmd/report.h"
#include "cmd/report_dat.h"
#include "trace/ctf_filter.h"
#include "trace/ctf_print.h"
#include "trace/ctf_symbols.h"

struct arguments {
	struct string_list events, where;
	const char *format, *begin, *end;
	bool json, count, live, utc, seconds, no_symbols;
	u64 limit, hold_ms;
	struct string_list paths; /* of --files: where to look for objects */
};

static const struct option_spec options[] = {
	{'e', "event", "GLOB", "only events whose name matches, as in 'app:*'; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, events)},
	{'w', "where", "FIELD=VALUE",
	 "only events whose field is so: = and != take globs, < <= > >= numbers; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, where)},
	{'b', "begin", "TIME",
	 "from this time on: HH:MM:SS, YYYY-MM-DD HH:MM:SS, or seconds since the epoch",
	 OPTION_STRING, offsetof(struct arguments, begin)},
	{'E', "end", "TIME", "up to this time", OPTION_STRING, offsetof(struct arguments, end)},
	{'n', "limit", "N", "end after this many events", OPTION_U64,
	 offsetof(struct arguments, limit)},
	{'f', "format", "FORMAT",
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
	{0, "no-symbols", NULL, "addresses stay numbers", OPTION_FLAG,
	 offsetof(struct arguments, no_symbols)},
	{0},
};

static const struct command_spec spec = {
	.name = "report",
	.synopsis = "[options] DIRECTORY...",
	.summary = "print CTF traces: what pantrace records of instrumented programs, and LTTng's",
	.examples =
		"pantrace report trace                          # every event, by time, of all "
		"processes in it\n"
		"pantrace report -e 'shop:*' -w 'seconds>=0.5' trace  # some of them\n"
		"pantrace report --count trace                  # how many of each kind\n"
		"pantrace report --json trace | jq .fields      # for programs\n"
		"pantrace report --live trace                   # as it is being recorded\n"
		"pantrace report host1/trace host2/trace        # two machines on one time line\n"
		"pantrace report ~/lttng-traces/auto-20260101-120000\n"
		"pantrace report -e 'sched:*' trace.dat          # kernel events that trace-cmd "
		"recorded (-n, -c, -f trace-cmd)\n",
	.details = "A trace is a directory with a file named metadata (CTF 1.8); directories are "
		   "searched for them. Files may be compressed: "
		   "ring_0.zst, ring_0.gz. A stream that is damaged is read up to the damage, "
		   "which is named; the others are read to their end.\n\n"
		   "Addresses (ip, callstack_user) get names when the trace says which files were "
		   "loaded where, and the files, or their debug files, "
		   "are found: under --files DIRECTORY, under /usr/lib/debug/.build-id, or at "
		   "their own path, with the same build-id.\n\n"
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
	VECTOR(struct ctf_condition) where;
	s64 begin_ns, end_ns;
	u64 printed;
	struct hashmap counts;
	bool hides_objects;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

/* ---- what is asked for ---- */

/* "56.789": all nine digits count, which a double would not keep of seconds since the epoch. */
static int seconds_parse(const char *text, s64 *ret)
{
	u64 seconds, unit = 100000000, rest = 0;
	char *end;

	errno = 0;
	seconds = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno || seconds > INT64_MAX / 1000000000)
		return -EINVAL;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			rest += (u64)(*end - '0') * unit;
	*ret = (s64)(seconds * 1000000000 + rest);
	return *end ? -EINVAL : 0;
}

/* "12:34:56.789" is of the day of the first event. */
static int time_parse(const char *text, bool utc, s64 day_of_ns, s64 *ret)
{
	const time_t day = (time_t)(day_of_ns / 1000000000);
	const char *colon = strrchr(text, ':');
	struct tm tm = {0};
	s64 seconds;
	int end = 0;

	if (seconds_parse(colon ? colon + 1 : text, &seconds))
		return -EINVAL;
	if (!colon) {
		*ret = seconds;
		return 0;
	}
	if (!(utc ? gmtime_r(&day, &tm) : localtime_r(&day, &tm)))
		return -EINVAL;
	if (sscanf(text, "%d-%d-%d%*[ T]%d:%d:%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &end) == 5 &&
	    end) {
		tm.tm_year -= 1900;
		tm.tm_mon--;
	} else if (sscanf(text, "%d:%d:%n", &tm.tm_hour, &tm.tm_min, &end) != 2 || !end) {
		return -EINVAL;
	}
	if (text + end != colon + 1)
		return -EINVAL;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	*ret = (s64)(utc ? timegm(&tm) : mktime(&tm)) * 1000000000 + seconds;
	return 0;
}

static int window(struct report *r)
{
	struct ctf_event first;
	s64 day;

	r->begin_ns = INT64_MIN;
	r->end_ns = INT64_MAX;
	day = ctf_set_next(r->set, &first, &r->diag) > 0 ? first.ns : (s64)time(NULL) * 1000000000;
	if (r->arguments->begin &&
	    time_parse(r->arguments->begin, r->arguments->utc, day, &r->begin_ns))
		return options_usage_error(&spec, "'%s' is no time", r->arguments->begin);
	if (r->arguments->end && time_parse(r->arguments->end, r->arguments->utc, day, &r->end_ns))
		return options_usage_error(&spec, "'%s' is no time", r->arguments->end);
	return 0;
}

static int conditions(struct report *r)
{
	for (u32 i = 0; i < r->arguments->where.count; i++) {
		struct ctf_condition one;

		if (ctf_condition_parse(r->arguments->where.items[i], &one))
			return options_usage_error(&spec,
						   "'%s' is not FIELD=VALUE, nor FIELD<NUMBER",
						   r->arguments->where.items[i]);
		vector_push(&r->where, one);
	}
	return 0;
}

static int format_parse(const struct arguments *a, enum ctf_format *ret)
{
	static const char *const names[] = {"text", "babeltrace", "json"};

	*ret = a->json ? CTF_FORMAT_JSON : CTF_FORMAT_TEXT;
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
	diag_print(&r->diag, stderr, isatty(STDERR_FILENO) && !getenv("NO_COLOR"));
}

static void count(struct report *r, const char *name)
{
	void **at = hashmap_put(&r->counts, name, strlen(name) + 1, NULL);

	*at = (void *)((uintptr_t)*at + 1);
}

/* Word of loaded objects is for symbols; people who want to see it ask for it. */
static bool is_for_us(const struct report *r, const struct ctf_event *event)
{
	return r->hides_objects && event->stream->trace->is_ours && event->class->stream_id == 1;
}

static bool passes(struct report *r, const struct ctf_event *event)
{
	if (event->ns < r->begin_ns || event->ns > r->end_ns || !ctf_print_wants(r->printer, event))
		return false;
	for (size_t i = 0; i < r->where.len; i++)
		if (!ctf_condition_holds(&r->where.items[i], event))
			return false;
	return true;
}

/* Up to the end of what is there. 0, or what a write said. */
static int events(struct report *r)
{
	const bool all = !r->arguments->begin && !r->arguments->end &&
			 !r->arguments->events.count && !r->where.len;
	struct ctf_event event;
	int rc = 0;

	while (!rc && !interrupted && ctf_set_next(r->set, &event, &r->diag) > 0) {
		struct ctf_cursor c = ctf_event_cursor(&event);

		if (is_for_us(r, &event) || (!all && !passes(r, &event))) {
			ctf_set_skip(r->set, &event, &r->diag);
			continue;
		}
		if (r->arguments->limit && r->printed == r->arguments->limit)
			return 0;
		r->printed++;
		if (r->arguments->count) {
			count(r, event.class->name);
			ctf_set_skip(r->set, &event, &r->diag);
			continue;
		}
		rc = ctf_print(r->printer, &event, &c);
		ctf_set_done(r->set, &event, &c, &r->diag);
	}
	return rc;
}

static bool enough(const struct report *r)
{
	return r->arguments->limit && r->printed >= r->arguments->limit;
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
	struct hashmap_entry *rows = xreallocarray(NULL, r->counts.len + 1, sizeof(*rows));
	struct strbuf out = STRBUF_INIT;

	if (r->counts.len)
		memcpy(rows, r->counts.entries, r->counts.len * sizeof(*rows));
	qsort(rows, r->counts.len, sizeof(*rows), by_count);
	for (size_t i = 0; i < r->counts.len; i++) {
		strbuf_reset(&out);
		if (r->arguments->json) {
			strbuf_addstr(&out, "{\"event\":\"");
			escape_json(&out, rows[i].key, rows[i].key_len - 1);
			strbuf_addf(&out, "\",\"count\":%zu}\n", (size_t)(uintptr_t)rows[i].value);
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
	const struct ctf_loss loss = ctf_set_loss(r->set);

	tell(r);
	if (rc && rc != -EPIPE)
		fprintf(stderr, "pantrace report: cannot write: %s\n", strerror(-rc));
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
	return loss.events || loss.packets ? EXIT_LOST : EXIT_OK;
}

static void address(void *arg, struct ctf_trace *trace, s64 ns, u64 value, struct strbuf *out)
{
	ctf_symbols_put(arg, trace, ns, value, out);
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
	int rc = format_parse(r->arguments, &print.format);

	if (rc)
		return (enum exit_code)rc;
	for (; *paths && !rc; paths++)
		rc = ctf_set_add(r->set, *paths, &r->diag);
	if (rc) {
		tell(r);
		return EXIT_FAILED;
	}
	rc = conditions(r);
	if (!rc)
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
	if (r->arguments->count)
		counts_print(r);
	ctf_printer_release(r->printer);
	return end(r, rc);
}

int cmd_report(int argc, char **argv)
{
	struct arguments a = {.hold_ms = 1000};
	struct report r = {.arguments = &a, .diag = DIAG_INIT};
	const struct sigaction action = {.sa_handler = on_signal};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first == argc)
		return options_usage_error(&spec, "which trace? The directory is missing");
	signal(SIGPIPE, SIG_IGN);
	if (report_dat_is(argv[first]))
		return report_dat(argv[first],
				  &(struct report_dat_options){
					  .events = a.events,
					  .limit = a.limit,
					  .count = a.count,
					  .trace_cmd = a.format && str_eq(a.format, "trace-cmd")});
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r.set = ctf_set_new(
		&(struct ctf_options){.live = a.live, .hold_ns = (s64)a.hold_ms * 1000000});
	rc = run(&r, argv + first);
	for (size_t i = 0; i < r.where.len; i++)
		ctf_condition_release(&r.where.items[i]);
	vector_free(&r.where);
	hashmap_release(&r.counts);
	ctf_symbols_release(r.symbols);
	ctf_set_release(r.set);
	diag_release(&r.diag);
	return rc;
}
