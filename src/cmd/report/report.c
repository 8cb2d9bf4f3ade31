/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace report: what recordings hold, as lines and as tables. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/report/report.h"
#include "cmd/report/counts.h"
#include "cmd/report/names.h"
#include "cmd/report/options.h"
#include "cmd/report/time.h"
#include "view/pager.h"

/* Where events are missing. */
struct losses {
	u64 places;
	s64 first_ns, last_ns; /* of the events behind them */
	u64 untold; /* before events that were not wanted */
	u64 placed; /* all of those that were counted */
};

struct report {
	const struct arguments *arguments;
	struct recordings *recordings;
	struct diag diag;
	struct selection selection;
	struct analysis analysis;
	struct losses losses;
	s64 first_ns, last_ns; /* of events that were looked at */
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

/* ---- events ---- */

static void tell(struct report *r)
{
	diag_tell(&r->diag);
}

/* Of a table the limit is one of rows. */
static bool is_over(const struct report *r)
{
	return !r->analysis.row && selection_is_over(&r->selection);
}

/* What is missing before an event that is not wanted is missing before the next one that is. */
static void missed(struct report *r, struct recording *from)
{
	struct losses *const l = &r->losses;

	if (from->lost) {
		l->first_ns = l->places++ ? l->first_ns : from->ns;
		l->last_ns = from->ns;
		l->placed += from->lost == RECORDED_LOST_SOME ? 0 : from->lost;
		if (r->analysis.row)
			analysis_lost(&r->analysis);
	}
	recording_lost(from, l->untold);
	l->untold = from->lost;
}

static void analyse(struct report *r, struct recording *from)
{
	r->first_ns = r->selection.count == 1 ? from->ns : r->first_ns;
	r->last_ns = from->ns;
	analysis_feed(&r->analysis, from);
}

/* Up to the end of what is there. 0, or what a write said. */
static int events(struct report *r)
{
	const bool analyses = r->analysis.row, counts = r->arguments->count;
	struct recording *from;
	int rc = 0;

	while (!rc && !interrupted && !is_over(r) &&
	       (from = recordings_next(r->recordings, &r->diag))) {
		if (from->lost | r->losses.untold)
			missed(r, from);
		if (!selection_passes(&r->selection, from))
			continue;
		r->losses.untold = 0;
		if (analyses)
			analyse(r, from);
		else if (counts)
			from->kind->count++;
		else
			rc = recording_print(from);
	}
	return rc;
}

static int follow(struct report *r)
{
	int rc = 0;

	while (!rc && !interrupted && !is_over(r)) {
		rc = events(r);
		if (!rc)
			rc = recordings_flush(r->recordings);
		tell(r);
		if (!rc && !interrupted && !is_over(r))
			poll(NULL, 0, 100);
		recordings_refresh(r->recordings, &r->diag);
	}
	return rc;
}

static void tell_places(const struct report *r, u64 all)
{
	const struct losses *const l = &r->losses;
	const struct arguments *const a = r->arguments;
	const bool as_recorded = recordings_options(r->recordings)->style;
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, ", at %" PRIu64 " place%s, ", l->places, l->places == 1 ? "" : "s");
	report_time_text(l->first_ns, a->selection.utc, as_recorded, &text);
	if (l->places > 1) {
		strbuf_addstr(&text, " to ");
		report_time_text(l->last_ns, a->selection.utc, as_recorded, &text);
	}
	if (all > l->placed)
		strbuf_addf(&text, "; where %" PRIu64 " of them were is not recorded",
			    all - l->placed);
	fputs(text.data, stderr);
	strbuf_release(&text);
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
		if (r->losses.places)
			tell_places(r, loss.events);
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

/* Fields that a table is made of, besides those of conditions. */
static void fields_of_keys(const struct arguments *a, struct arena *arena, struct string_list *ret)
{
	const char *const lists[] = {a->top, a->sum};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const char *at = lists[i]; at && *at;) {
			const char *const end = strchrnul(at, ',');
			const char *const word = arena_strndup(arena, at, (size_t)(end - at));

			if (!analysis_is_key(word)) {
				ret->items = xreallocarray(ret->items, ret->count + 1,
							   sizeof(*ret->items));
				ret->items[ret->count++] = word;
			}
			at = *end ? end + 1 : end;
		}
}

static void check_names(struct report *r)
{
	struct string_list fields = {0};
	struct arena arena = {0};

	fields_of_keys(r->arguments, &arena, &fields);
	report_names_check(r->recordings, r->selection.where.items, r->selection.where.len, &fields,
			   &r->diag);
	free(fields.items);
	arena_release(&arena);
}

/* Of a table *ret_table, which is empty if nothing can be said. */
static enum exit_code run(struct report *r, char **paths, struct report_table *ret_table)
{
	int rc;

	if (add_paths(r, paths)) {
		tell(r);
		return EXIT_FAILED;
	}
	rc = selection_window(&r->selection, r->recordings, &report_spec);
	if (rc)
		return (enum exit_code)rc;
	rc = r->arguments->live ? follow(r) : events(r);
	if (!rc)
		rc = recordings_flush(r->recordings);
	if (!rc)
		check_names(r);
	if (r->analysis.row)
		analysis_finish(&r->analysis, ret_table, &r->diag);
	else if (r->arguments->count)
		report_counts_print(r->recordings, r->arguments->json);
	return end(r, rc);
}

static enum exit_code one(const struct asked *asked, char **paths, struct report *r,
			  struct report_table *ret_table)
{
	const struct arguments *const a = asked->arguments;
	const struct recordings_options what = {
		.print = {.format = asked->format,
			  .gmt = a->selection.utc,
			  .seconds = a->seconds,
			  .escape = a->on_terminal},
		.events = a->selection.events,
		.files = a->paths,
		.style = asked->style,
		.clock = a->kernel_clock,
		.live = a->live,
		.hold_ns = (s64)a->hold_ms * 1000000,
		.shows_inner = asked->format == CTF_FORMAT_BABELTRACE || a->count,
		.no_symbols = asked->format == CTF_FORMAT_BABELTRACE || a->no_symbols,
	};

	*r = (struct report){
		.arguments = a, .selection = {.arguments = &a->selection}, .diag = DIAG_INIT};
	r->recordings = recordings_new(&what);
	if (selection_conditions(&r->selection, &r->diag) ||
	    analysis_begin(&r->analysis, asked->row, &asked->request, &r->diag)) {
		tell(r);
		return EXIT_USAGE;
	}
	return run(r, paths, ret_table);
}

static void release(struct report *r)
{
	analysis_release(&r->analysis);
	selection_release(&r->selection);
	recordings_release(r->recordings);
	diag_release(&r->diag);
}

/* ---- tables ---- */

static int print_table(const struct asked *asked, struct report *r, const struct report_table *t)
{
	const struct arguments *const a = asked->arguments;
	const struct table_style style = {
		.format = a->json || (a->format && str_eq(a->format, "json")) ? TABLE_JSON
			  : a->format && str_eq(a->format, "csv")	      ? TABLE_CSV
									      : TABLE_TEXT,
		.limit = a->selection.limit,
		.utc = a->selection.utc,
		.as_recorded = asked->style,
	};
	struct strbuf out = STRBUF_INIT;
	int rc;

	table_print(t, &style, &out);
	if (r && style.format == TABLE_TEXT && asked->row->text)
		asked->row->text(r->analysis.state, &style, &out);
	rc = write_all(STDOUT_FILENO, out.data, out.len);
	strbuf_release(&out);
	if (rc && rc != -EPIPE)
		complain("report", "cannot write: %s", strerror(-rc));
	return rc && rc != -EPIPE ? EXIT_FAILED : 0;
}

static double seconds_of(const struct report *r)
{
	return (double)(r->last_ns - r->first_ns) / 1e9;
}

/* Without keys they are chosen by what is recorded. */
static bool has_same_keys(const struct report_table tables[2])
{
	bool same = tables[0].nr_keys == tables[1].nr_keys;

	for (u32 i = 0; same && i < tables[0].nr_keys; i++)
		same = str_eq(tables[0].keys[i], tables[1].keys[i]);
	return same;
}

static int compare(const struct asked *asked, char **paths)
{
	struct report_table tables[2] = {0}, result = {0};
	struct report reports[2];
	double seconds[2];
	int rc[2], written = 0;

	for (u32 i = 0; i < 2; i++) {
		rc[i] = one(asked, (char *[]){paths[i], NULL}, &reports[i], &tables[i]);
		seconds[i] = seconds_of(&reports[i]);
	}
	if (tables[0].columns && tables[1].columns && !has_same_keys(tables)) {
		complain("report", "samples and other events have different tables; "
				   "--top KEY,... says which");
		written = EXIT_FAILED;
	} else if (tables[0].columns && tables[1].columns) {
		table_compare(&tables[0], &tables[1], seconds, &result);
		written = print_table(asked, NULL, &result);
		table_release(&result);
	}
	for (u32 i = 0; i < 2; i++) {
		table_release(&tables[i]);
		release(&reports[i]);
	}
	/* what failed before what was lost */
	return written ?: rc[0] == EXIT_OK || rc[1] == EXIT_FAILED ? rc[1] : rc[0];
}

static int report(const struct arguments *a, char **paths, struct pager *pager)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct report_table table = {0};
	struct asked asked;
	struct report r;
	int rc = report_ask(a, paths, &asked);

	if (rc)
		return rc;
	if (!a->no_pager && !a->live)
		pager_begin(pager);
	if (!pager->pid)
		sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (a->compare)
		return compare(&asked, paths);
	rc = one(&asked, paths, &r, &table);
	if (table.columns)
		rc = print_table(&asked, &r, &table) ?: rc;
	table_release(&table);
	release(&r);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct arguments a = {.hold_ms = 1000, .on_terminal = isatty(STDOUT_FILENO)};
	struct pager pager = {0};
	struct arena arena = {0};
	int first, rc;

	report_join_words(&arena, &argc, argv);
	rc = options_parse(&report_spec, argc, argv, &a, &first);
	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = first == argc ? options_usage_error(&report_spec,
							 "which trace? The directory is missing")
				   : report(&a, argv + first, &pager);
		pager_end(&pager);
	}
	options_release(&report_spec, &a);
	arena_release(&arena);
	return rc;
}
