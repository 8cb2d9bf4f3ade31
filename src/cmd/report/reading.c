/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/reading.h"

#include <poll.h>
#include <stdio.h>

#include "cmd/report/counts.h"
#include "cmd/report/longest.h"
#include "cmd/report/names.h"
#include "cmd/report/time.h"

/* ---- events ---- */

static void tell(struct reading *r)
{
	if (!r->is_quiet)
		diag_tell(&r->diag);
}

/* For a table the limit counts rows, not events. */
static bool is_over(const struct reading *r)
{
	if (r->row)
		return r->lines >= r->most;
	return !r->analysis.row && selection_is_over(&r->selection);
}

/* Losses before an event that is left out are reported before the next one that is printed. */
static void missed(struct reading *r, struct recording *from)
{
	struct losses *const l = &r->losses;

	if (from->lost) {
		l->first_ns = l->places++ ? l->first_ns : from->ns;
		l->last_ns = from->ns;
		l->is_cycles |= from->is_cycles;
		l->placed += from->lost == RECORDED_LOST_SOME ? 0 : from->lost;
		if (r->analysis.row)
			analysis_lost(&r->analysis);
	}
	recording_lost(from, l->untold);
	l->untold = from->lost;
}

static void analyse(struct reading *r, struct recording *from)
{
	r->first_ns = r->selection.count == 1 ? from->ns : r->first_ns;
	r->last_ns = from->ns;
	analysis_feed(&r->analysis, from);
}

static bool is_in_row(const struct reading *r, struct recording *from)
{
	const struct report_analysis *const row = r->analysis.row;

	return !row->holds || row->holds(r->analysis.state, from, r->row->names, r->row->depth);
}

static int take(struct reading *r, struct recording *from)
{
	if (r->row) {
		r->lines++;
		return recording_print(from);
	}
	if (r->analysis.row)
		analyse(r, from);
	else if (r->asked->arguments->count)
		from->kind->count++;
	else
		return recording_print(from);
	return 0;
}

static int events(struct reading *r)
{
	struct recording *from;
	int rc = 0;

	while (!rc && !*r->interrupted && !is_over(r) &&
	       (from = recordings_next(r->recordings, &r->diag))) {
		if (!(++r->events % 65536) && r->go_on && !r->go_on(r->arg, r->events))
			break;
		if (from->lost | r->losses.untold)
			missed(r, from);
		if (!selection_passes(&r->selection, from) || (r->row && !is_in_row(r, from)))
			continue;
		r->losses.untold = 0;
		rc = take(r, from);
	}
	return rc;
}

/* As the traces grow. */
static int follow(struct reading *r)
{
	int rc = 0;

	while (!rc && !*r->interrupted && !is_over(r)) {
		rc = events(r);
		if (!rc)
			rc = recordings_flush(r->recordings);
		tell(r);
		if (!rc && !*r->interrupted && !is_over(r))
			poll(NULL, 0, 100);
		recordings_refresh(r->recordings, &r->diag);
	}
	return rc;
}

/* ---- the end ---- */

static void tell_places(const struct reading *r, u64 all)
{
	const struct losses *const l = &r->losses;
	const struct arguments *const a = r->asked->arguments;
	const bool as_recorded = recordings_options(r->recordings)->style;
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, ", at %" PRIu64 " place%s, ", l->places, plural(l->places));
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

static void tell_losses(const struct reading *r, const struct recording_loss *loss)
{
	fprintf(stderr, "pantrace report: the tracer lost %llu events",
		(unsigned long long)loss->events);
	if (loss->packets)
		fprintf(stderr, ", and %llu packets that were overwritten before they were read",
			(unsigned long long)loss->packets);
	if (r->losses.places && !r->losses.is_cycles)
		tell_places(r, loss->events);
	fputc('\n', stderr);
}

static enum exit_code end(struct reading *r, int rc)
{
	struct recording_loss loss = recordings_loss(r->recordings, &r->diag);

	loss.damaged += r->diag.errors;
	tell(r);
	if (rc && rc != -EPIPE)
		complain("report", "cannot write: %s", strerror(-rc));
	if ((loss.events || loss.packets) && !r->is_quiet)
		tell_losses(r, &loss);
	if (loss.damaged || (rc && rc != -EPIPE))
		return EXIT_FAILED;
	return loss.events || loss.packets || loss.gaps ? EXIT_LOST : EXIT_OK;
}

/* ---- recordings ---- */

/* Refuses options that only CTF traces support. */
static int fixed_check(struct reading *r)
{
	const struct arguments *a = r->asked->arguments;
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

static int is_cycles(struct recording *r, void *arg)
{
	return r->is_cycles;
}

/* Refuses tables of times that are none. */
static int times_check(struct reading *r, const char *path)
{
	if (!r->analysis.row || r->analysis.row->needs_no_times ||
	    !recordings_each(r->recordings, is_cycles, NULL))
		return 0;
	recording_refuse_cycles(path, &r->diag);
	return -ENODATA;
}

static int has_locals(struct recording *r, void *arg)
{
	return r->reader->unplaced && !(r->reader->unplaced(r) & PLACE_LOCALS);
}

/* Refuses --locals where nothing was recorded that variables can be read from. */
static int locals_check(struct reading *r)
{
	if (!r->asked->arguments->locals || recordings_each(r->recordings, has_locals, NULL))
		return 0;
	diag_error(&r->diag, NO_SPAN,
		   "--locals: no sample has the registers and the stack of its program");
	diag_hint(&r->diag, "`pantrace record --call-graph dwarf` records them");
	return -ENODATA;
}

static int add_paths(struct reading *r, char **paths)
{
	const char *const first = *paths;
	int rc = 0;

	for (; *paths && !rc; paths++)
		rc = recordings_add(r->recordings, *paths, &r->diag);
	if (!rc)
		rc = recordings_open(r->recordings, &r->diag);
	return rc ?: fixed_check(r) ?: times_check(r, first) ?: locals_check(r);
}

/* Fields that the table uses, in addition to those in conditions. */
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

static void check_names(struct reading *r)
{
	struct string_list fields = {0};
	struct arena arena = {0};

	fields_of_keys(r->asked->arguments, &arena, &fields);
	report_names_check(r->recordings, r->selection.where.items, r->selection.where.len, &fields,
			   &r->diag);
	free(fields.items);
	arena_release(&arena);
}

static enum exit_code read_all(struct reading *r, char **paths, struct report_table *ret)
{
	const struct arguments *const a = r->asked->arguments;
	bool is_text;
	int rc;

	if (add_paths(r, paths)) {
		tell(r);
		return EXIT_FAILED;
	}
	if (recordings_each(r->recordings, report_longest_has, NULL)) {
		rc = report_longest(r, &is_text);
		if (rc || is_text)
			return end(r, rc);
	}
	rc = selection_window(&r->selection, r->recordings, &report_spec, &r->diag);
	if (rc)
		return (enum exit_code)rc;
	analysis_machines(&r->analysis, r->recordings);
	rc = a->live ? follow(r) : events(r);
	if (!rc)
		rc = recordings_flush(r->recordings);
	if (!rc)
		check_names(r);
	if (r->row)
		return end(r, rc);
	if (r->analysis.row)
		analysis_finish(&r->analysis, ret, &r->diag);
	else if (a->count)
		report_counts_print(r->recordings, a->json);
	return end(r, rc);
}

static void print_value(void *arg, const struct type *t, const void *value, struct strbuf *out,
			struct json *j)
{
	value_add(arg, &(struct medium){out, j}, t, value);
}

enum exit_code reading_run(struct reading *r, const struct asked *asked, char **paths,
			   struct report_table *ret)
{
	const struct arguments *const a = asked->arguments;
	struct recordings_options what = {
		.print = {.format = asked->format,
			  .gmt = a->selection.utc,
			  .seconds = a->seconds,
			  .escape = a->on_terminal},
		.events = a->selection.events,
		.files = a->opening.files,
		.style = asked->style,
		.tool_order = asked->style && !asked->row,
		.clock = a->opening.clock,
		.tsc_hz = opening_tsc_hz(&a->opening),
		.live = a->live,
		.takes_text = true,
		.keeps_lines = r->row,
		.hold_ns = (s64)a->hold_ms * 1000000,
		.shows_inner = asked->format == CTF_FORMAT_BABELTRACE || a->count,
		.no_symbols = asked->format == CTF_FORMAT_BABELTRACE || a->opening.no_symbols,
	};

	r->asked = asked;
	r->selection.arguments = &a->selection;
	r->diag = (struct diag)DIAG_INIT;
	type_store_init(&r->types);
	r->values = (struct value_printer){.types = &r->types, .one_line = true};
	if (a->locals)
		what.locals = (struct recorded_values){&r->types, print_value, &r->values};
	r->recordings = recordings_new(&what);
	if (selection_conditions(&r->selection, &r->diag) ||
	    analysis_begin(&r->analysis, asked->row, &asked->request, &r->diag)) {
		tell(r);
		return EXIT_USAGE;
	}
	return read_all(r, paths, ret);
}

void reading_release(struct reading *r)
{
	analysis_release(&r->analysis);
	selection_release(&r->selection);
	recordings_release(r->recordings);
	value_printer_release(&r->values);
	type_store_release(&r->types);
	diag_release(&r->diag);
}
