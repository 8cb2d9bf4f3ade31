/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace heatmap`: latencies, values, parts of the second, or the use of CPUs over time. */
#include "cmd/heatmap/heatmap.h"

#include <signal.h>
#include <stdio.h>

#include "cmd/flame/flame.h"
#include "cmd/report/analysis.h"
#include "cmd/report/drawn.h"
#include "cmd/report/pairs.h"
#include "cmd/report/time.h"
#include "view/heat/heat.h"
#include "view/heatmap.h"
#include "view/page/picture.h"
#include "view/sink.h"

#define CPUS_MOST 4096

struct arguments {
	struct drawn_arguments drawn;
	struct picture_arguments picture;
	const char *latency, *value, *unit;
	bool offset, cpu;
	u64 interval_ns;
};

static const struct option_spec options[] = {
	{0, NULL, NULL, "What is drawn", OPTION_HEADING, 0},
	{0, "latency", "FROM,TO[,KEY]",
	 "the time from one event to the next of another with the same KEY (same thread, if not "
	 "said); as report has it",
	 OPTION_STRING, offsetof(struct arguments, latency)},
	{0, "value", "FIELD", "this field of the events", OPTION_STRING,
	 offsetof(struct arguments, value)},
	{0, "offset", NULL, "when in its second each event was (the default)", OPTION_FLAG,
	 offsetof(struct arguments, offset)},
	{0, "cpu", NULL, "how much each CPU was used; from sched:sched_switch", OPTION_FLAG,
	 offsetof(struct arguments, cpu)},
	{'i', "interval", "SECONDS", "width of a column (default: about 120 columns)",
	 OPTION_SECONDS, offsetof(struct arguments, interval_ns)},
	{0, "unit", "ns|us|ms|s|bytes|WORD", "of --value", OPTION_STRING,
	 offsetof(struct arguments, unit)},
	{0, NULL, NULL, "The picture", OPTION_HEADING, 0},
	PICTURE_OPTIONS(offsetof(struct arguments, picture), "heatmap"),
	PICTURE_JSON_OPTION(offsetof(struct arguments, picture), "the cells"),
	DRAWN_OPTIONS(offsetof(struct arguments, drawn)),
	{0},
};

static const struct option_field fields[] = {
	{"time_ns", "when the cell's column begins: since the epoch, or as recorded"},
	{"duration_ns", "how long the column lasts"},
	{"row", "the row's lower edge: nanoseconds, the field's value, or the CPU's number"},
	{"row_end", "the row's upper edge; not in it"},
	{"count", "how many events; with --cpu nanoseconds in use"},
	{0},
};

static const struct command_spec spec = {
	.name = "heatmap",
	.synopsis = "[options] [RECORDING...]",
	.summary = "draw latencies, values, or the use of CPUs over time",
	.examples =
		"  pantrace heatmap --latency block_rq_issue,block_rq_complete,sector trace.dat\n"
		"  pantrace heatmap --latency 'sched_wakeup, sched_switch, pid=next_pid' "
		"trace.dat\n"
		"  pantrace heatmap --value bytes_req --unit bytes -e kmalloc trace.dat\n"
		"  pantrace heatmap perf.data                    # FlameScope: when in its second\n"
		"  pantrace heatmap --cpu --text trace.dat       # in the terminal\n",
	.details = "RECORDING is what report reads; default perf.data.\n\n"
		   "Time goes to the right. The axis of latencies and values is logarithmic, "
		   "with four rows for each power of two. The colour of a cell follows the "
		   "square root of its count, so that rare outliers are visible; with --cpu it "
		   "shows how busy the CPU was. Every event is in a cell, and the sum of all "
		   "cells is shown.\n\n"
		   "In the page the arrow keys go from cell to cell; Shift with arrow keys, or "
		   "the pointer, selects a range. The page shows its sum, its events (of at most "
		   "200,000 in all; for --latency the second event), and the `pantrace report` "
		   "command that prints all of its time. If events have stacks, it also has the "
		   "flame graph of the range.\n\n"
		   "--cpu: a CPU is busy while a thread other than the idle one runs; what ran "
		   "before the first switch counts from the first event on.\n\n"
		   "The exit code is 3 if the recording says that events were lost, and 1 if "
		   "something could not be read or written.",
	.fields = fields,
	.options = options,
};

/* The task that runs on a CPU. */
struct cpu {
	bool is_known, is_busy;
	s64 since_ns;
};

struct drawing {
	const struct arguments *arguments;
	struct drawn from;
	struct picture picture;
	struct heat *heat;
	enum heat_rows rows;
	struct pairs *pairs; /* of --latency */
	struct flame *flame; /* the stacks of events; of --cpu none */
	struct stack_feed feed;
	VECTOR(struct strbuf) texts; /* of each point its event; none above DRAWN_DETAILS_MOST */
	VECTOR(struct cpu) cpus;
	s64 first_ns, last_ns, loss_ns; /* of events; loss: the last place where some are missing */
	u64 taken, without_value, points;
	bool has_events;
};

/* ---- events ---- */

static void release_texts(struct drawing *d)
{
	for (size_t i = 0; i < d->texts.len; i++)
		strbuf_release(&d->texts.items[i]);
	vector_free(&d->texts);
}

/* "12:34:56.123456789  1.02 ms  make-713 [001] EVENT: FIELD=VALUE ..." */
static void add_text(struct drawing *d, struct recording *r, const u64 *value)
{
	const struct recorded_place place = recording_place(r);
	struct strbuf text = STRBUF_INIT;

	report_time_text(r->ns, false, r->is_unplaced, &text);
	strbuf_addstr(&text, "  ");
	if (value) {
		heatmap_add_value(&text, d->pairs ? "ns" : d->arguments->unit ?: "", *value);
		strbuf_addstr(&text, "  ");
	}
	if (place.comm)
		strbuf_add(&text, place.comm, place.comm_size);
	if (place.tid >= 0 || place.pid >= 0)
		strbuf_addf(&text, "-%" PRId64, place.tid >= 0 ? place.tid : place.pid);
	if (place.cpu >= 0)
		strbuf_addf(&text, " [%03" PRId64 "]", place.cpu);
	strbuf_addf(&text, " %s:", r->kind->name);
	drawn_add_fields(r, &text);
	vector_push(&d->texts, text);
}

/* An event with its value, or NULL: in its part of the second. */
static void add_point(struct drawing *d, struct recording *r, const u64 *value)
{
	const u64 before = d->feed.stacks.taken;

	if (d->picture.form == PICTURE_PAGE) {
		stack_feed_add(&d->feed, r); /* for the page's flame graph of what is chosen */
		if (d->points < DRAWN_DETAILS_MOST)
			add_text(d, r, value);
		else
			release_texts(d);
	}
	heat_add(d->heat, r->ns, value ? *value : 0, 1,
		 d->feed.stacks.taken != before ? flame_last(d->flame) : HEAT_NO_STACK);
	d->points++;
}

static void add_latency(struct drawing *d, struct recording *r)
{
	s64 took;

	if (!r->kind->role)
		r->kind->role = (u8)pairs_role(d->pairs, r->kind);
	if (r->kind->role == PAIR_NO_ROLE ||
	    !pairs_feed(d->pairs, r, (enum pair_role)r->kind->role, &took))
		return;
	add_point(d, r, &(u64){(u64)took});
	d->taken++;
}

static void add_value(struct drawing *d, struct recording *r)
{
	const struct field_value v = r->reader->value(r, d->arguments->value, true);
	const bool is_negative = v.is_signed && (s64)v.integer < 0;

	if (v.kind == FIELD_INTEGER && !is_negative)
		add_point(d, r, &v.integer);
	else if (v.kind == FIELD_DECIMAL && v.decimal >= 0 && v.decimal < 0x1p64)
		add_point(d, r, &(u64){(u64)v.decimal});
	else
		d->without_value++;
	d->taken += v.kind != FIELD_NONE;
}

static void add_offset(struct drawing *d, struct recording *r)
{
	add_point(d, r, NULL);
	d->taken++;
}

static void add_switch(struct drawing *d, struct recording *r)
{
	static const char *const prev[] = {"prev_pid", "prev_tid", NULL}, *const next[] = {
										  "next_pid",
										  "next_tid", NULL};
	const s64 number = recording_place(r).cpu;
	struct cpu *c;

	if (!str_eq(r->kind->short_name ?: r->kind->name, "sched_switch"))
		return;
	d->taken++;
	if (number < 0 || number >= CPUS_MOST) {
		d->without_value++;
		return;
	}
	while ((s64)d->cpus.len <= number)
		vector_push(&d->cpus, (struct cpu){0});
	c = &d->cpus.items[number];
	if (!c->is_known || c->since_ns < d->loss_ns) {
		c->since_ns = MAX(d->first_ns, d->loss_ns);
		c->is_busy = analysis_number(r, prev);
	}
	if (c->is_busy)
		heat_add(d->heat, c->since_ns, (u64)number, (u64)(r->ns - c->since_ns),
			 HEAT_NO_STACK);
	*c = (struct cpu){true, analysis_number(r, next), r->ns};
}

/* The task that runs at the end counts up to the last event. */
static void end_cpus(struct drawing *d)
{
	for (u32 i = 0; i < d->cpus.len; i++) {
		const struct cpu *const c = &d->cpus.items[i];

		if (c->is_known && c->since_ns >= d->loss_ns)
			heat_add(d->heat, c->since_ns, i,
				 c->is_busy ? (u64)(d->last_ns - c->since_ns) : 0, HEAT_NO_STACK);
	}
}

static void add_event(struct drawing *d, struct recording *r)
{
	const struct arguments *const a = d->arguments;

	if (!d->has_events)
		d->first_ns = d->loss_ns = r->ns;
	d->has_events = true;
	d->last_ns = MAX(d->last_ns, r->ns);
	if (r->lost) {
		d->loss_ns = r->ns;
		if (d->pairs)
			pairs_lost(d->pairs);
	}
	if (d->pairs)
		add_latency(d, r);
	else if (a->value)
		add_value(d, r);
	else if (a->cpu)
		add_switch(d, r);
	else
		add_offset(d, r);
}

static void read_events(struct drawing *d)
{
	const char *field = d->arguments->value;
	const struct string_list asked = {&field, field != NULL};
	struct recording *r;

	while ((r = drawn_next(&d->from)))
		add_event(d, r);
	if (d->arguments->cpu)
		end_cpus(d);
	if (d->pairs && d->has_events)
		pairs_check(d->pairs, &d->from.diag);
	drawn_end(&d->from, &asked);
}

/* ---- the picture ---- */

static void write_json(const struct heat *h, const struct heat_options *o, struct strbuf *out)
{
	static const struct sink_column columns[] = {{.key = "time_ns"}, {.key = "duration_ns"},
						     {.key = "row"},	 {.key = "row_end"},
						     {.key = "count"},	 {0}};
	struct sink s = {.format = &sink_as_json, .columns = columns, .out = out};
	const struct heat_grid *const g = heat_grid(h);

	for (u32 column = 0; column < g->columns; column++)
		for (u32 row = 0; row < g->rows; row++) {
			const u64 count = g->counts[(size_t)column * g->rows + row];

			if (count)
				sink_row(&s, SINK_NUMBER(g->begin_ns + (s64)(column * g->step_ns)),
					 SINK_NUMBER(g->step_ns),
					 SINK_NUMBER(heat_row_begin(h, row)),
					 SINK_NUMBER(heat_row_begin(h, row + 1)),
					 SINK_NUMBER(count));
		}
}

static char *title_of(const struct drawing *d, const char *path)
{
	const struct arguments *const a = d->arguments;

	if (d->pairs)
		return xasprintf("From %s to %s: %s", d->pairs->ends[PAIR_FROM].event,
				 d->pairs->ends[PAIR_TO].event, path);
	return a->value ? xasprintf("%s: %s", a->value, path)
	       : a->cpu ? xasprintf("CPUs in use: %s", path)
			: xasprintf("When in its second: %s", path);
}

static int write_picture(struct drawing *d)
{
	static void (*const forms[])(const struct heat *h, const struct heat_options *o,
				     struct strbuf *out) = {[PICTURE_PAGE] = heat_page,
							    [PICTURE_SVG] = heat_svg,
							    [PICTURE_TEXT] = heat_text,
							    [PICTURE_JSON] = write_json};
	const struct arguments *const a = d->arguments;
	char *const title = title_of(d, *d->from.paths);
	struct strbuf out = STRBUF_INIT, files = STRBUF_INIT;
	int rc;

	drawn_add_files(&d->from, &files);
	if (d->flame)
		flame_finish(d->flame);
	rc = picture_open(&d->picture);
	if (!rc) {
		forms[d->picture.form](
			d->heat,
			&(struct heat_options){.title = a->picture.title ?: title,
					       .unit = d->pairs ? "ns" : a->unit ?: "",
					       .counted = a->cpu ? "ns" : "events",
					       .files = files.data,
					       .is_unplaced = d->from.is_unplaced,
					       .flame = d->feed.stacks.taken ? d->flame : NULL,
					       .stacks_of = d->feed.stacks.kind,
					       .texts = d->texts.items,
					       .columns = d->picture.columns,
					       .colours = d->picture.colours},
			&out);
		rc = picture_write(&d->picture, &out);
	}
	strbuf_release(&out);
	strbuf_release(&files);
	free(title);
	return rc;
}

static void tell_left_out(const struct drawing *d)
{
	const struct pairs *const p = d->pairs;
	const struct stacks *const s = &d->feed.stacks;

	if (p && (p->open || p->cut || p->again || p->unbegun))
		complain("heatmap",
			 "not in it: %llu begun and not ended, %llu begun again before they ended, "
			 "%llu ended that did not begin",
			 (unsigned long long)(p->open + p->cut), (unsigned long long)p->again,
			 (unsigned long long)p->unbegun);
	if (d->without_value)
		complain("heatmap", "%llu events without %s are not in it",
			 (unsigned long long)d->without_value,
			 d->arguments->value ?: "a known CPU");
	if (d->flame && s->taken && s->without_stack + s->other_kinds)
		complain("heatmap",
			 "%llu events have no part in flame graphs: without a stack, or "
			 "of other kinds than %s",
			 (unsigned long long)(s->without_stack + s->other_kinds), s->kind);
}

/* No picture without events: it would look as if nothing had happened. */
static int check_taken(const struct drawing *d)
{
	if (d->pairs ? d->pairs->ended : d->taken > d->without_value)
		return 0;
	if (d->from.is_damaged)
		return EXIT_FAILED; /* said */
	complain("heatmap", d->pairs		  ? "no pair of these events was recorded"
			    : d->arguments->value ? "no event has such a value"
			    : d->arguments->cpu ? "no sched_switch was recorded: `pantrace record "
						  "-e sched:sched_switch` records it"
						: "no event was recorded");
	return EXIT_FAILED;
}

static int draw(struct drawing *d)
{
	int rc = check_taken(d);

	if (!rc && heat_finish(d->heat, d->arguments->interval_ns)) {
		complain("heatmap",
			 "more than %d columns: make them longer with --interval, or "
			 "choose a part with --begin and --end",
			 HEAT_COLUMNS_MOST);
		return EXIT_USAGE;
	}
	if (!rc)
		rc = write_picture(d);
	if (rc)
		return rc;
	tell_left_out(d);
	return drawn_code(&d->from);
}

/* ---- what is asked for ---- */

static int choose(struct drawing *d)
{
	const struct arguments *const a = d->arguments;

	if ((a->latency != NULL) + (a->value != NULL) + a->offset + a->cpu > 1)
		return options_usage_error(&spec, "--latency, --value, --offset and --cpu are "
						  "different pictures; choose one");
	if (a->unit && !a->value)
		return options_usage_error(&spec, "--unit is of --value");
	d->rows = a->latency || a->value ? HEAT_VALUES : a->cpu ? HEAT_CPUS : HEAT_OFFSETS;
	if (d->rows == HEAT_OFFSETS && a->interval_ns)
		return options_usage_error(&spec, "--offset has a column for each second: without "
						  "--interval");
	if (a->latency) {
		d->pairs = pairs_new(a->latency, &d->from.diag);
		if (!d->pairs) {
			diag_tell(&d->from.diag);
			return EXIT_USAGE;
		}
	}
	if (d->rows != HEAT_CPUS) {
		d->flame = flame_new();
		d->feed = (struct stack_feed){.flame = d->flame,
					      .stacks = {.counts = true, .only_calls = true}};
	}
	d->heat = heat_new(d->rows);
	return picture_choose(&d->picture);
}

int cmd_heatmap(int argc, char **argv)
{
	struct arguments a = {0};
	struct drawing d = {
		.arguments = &a,
		.from = {.spec = &spec,
			 .arguments = &a.drawn,
			 .diag = DIAG_INIT,
			 .needs_times = true},
		.picture = {.spec = &spec, .arguments = &a.picture},
	};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = choose(&d) ?: drawn_open(&d.from, argv + first);
		if (!rc) {
			read_events(&d);
			rc = draw(&d);
		}
	}
	release_texts(&d);
	stack_feed_release(&d.feed);
	heat_release(d.heat);
	flame_release(d.flame);
	pairs_release(d.pairs);
	vector_free(&d.cpus);
	drawn_release(&d.from);
	options_release(&spec, &a);
	return rc;
}
