/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace flame`: a recording's stacks as a flame graph. */
#include "cmd/flame/flame.h"

#include <signal.h>
#include <stdio.h>

#include "cmd/live.h"
#include "cmd/report/names.h"
#include "cmd/report/opening.h"
#include "cmd/report/selection.h"
#include "view/page/picture.h"

struct arguments {
	struct selection_arguments selection;
	struct opening_arguments opening;
	struct live_arguments live;
	struct picture_arguments picture;
	const char *root, *weight, *unit, *compare;
	bool icicle, counts, off_cpu, idle;
};

static const struct option_spec options[] = {
	{0, NULL, NULL, "The picture", OPTION_HEADING, 0},
	PICTURE_OPTIONS(offsetof(struct arguments, picture), "flame"),
	{0, "icicle", NULL, "of SVG: the root on top", OPTION_FLAG,
	 offsetof(struct arguments, icicle)},
	{0, NULL, NULL, "What is counted", OPTION_HEADING, 0},
	{0, "compare", "OLD",
	 "colour by the difference to this recording: red is more than before, blue less",
	 OPTION_STRING, offsetof(struct arguments, compare)},
	{0, "offcpu", NULL,
	 "time off the CPU: of sched_switch with stacks, how long each thread was away",
	 OPTION_FLAG, offsetof(struct arguments, off_cpu)},
	{0, "by", "comm|pid|tid|none", "what stands below the first function (comm)", OPTION_STRING,
	 offsetof(struct arguments, root)},
	{0, "weight", "FIELD", "add up this field (bytes) instead of the samples' periods",
	 OPTION_STRING, offsetof(struct arguments, weight)},
	{0, "count", NULL, "count samples, whatever their periods", OPTION_FLAG,
	 offsetof(struct arguments, counts)},
	{0, "unit", "WORD", "what is counted (ns of clocks, events, or the field)", OPTION_STRING,
	 offsetof(struct arguments, unit)},
	{0, NULL, NULL, "Recorded now, in place of a RECORDING", OPTION_HEADING, 0},
	LIVE_OPTIONS(offsetof(struct arguments, live)),
	{'F', "freq", "HZ", "samples a second on each CPU (999)", OPTION_STRING,
	 offsetof(struct arguments, live.frequency)},
	{0, "call-graph", "fp|dwarf[,BYTES]",
	 "how stacks are found: frame pointers, or debug information", OPTION_STRING,
	 offsetof(struct arguments, live.call_graph)},
	{0, "idle", NULL, "with what idle CPUs do (idle tasks are left out otherwise)", OPTION_FLAG,
	 offsetof(struct arguments, idle)},
	{0, NULL, NULL, "Which events", OPTION_HEADING, 0},
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{0, "utc", NULL, "--begin and --end are in UTC", OPTION_FLAG,
	 offsetof(struct arguments, selection.utc)},
	OPENING_OPTIONS(offsetof(struct arguments, opening)),
	{0},
};

static const struct command_spec spec = {
	.name = "flame",
	.synopsis = "[options] [RECORDING... | -- COMMAND...]",
	.summary = "draw stacks as a flame graph: of a recording, or recorded now",
	.command = "record this command, with what it starts, and draw it when it ends",
	.examples =
		"  pantrace flame                                # perf.data -> flame.html\n"
		"  pantrace flame -- make -j8                    # where this command's time goes\n"
		"  pantrace flame -p 181 -d 10 --text            # ten seconds of a process\n"
		"  pantrace flame --offcpu -p 181 -d 10          # where it waits\n"
		"  pantrace flame -e page-faults -- ./shop       # any event with its stacks\n"
		"  pantrace flame --text perf.data               # in the terminal\n"
		"  pantrace flame -o cpu.svg perf.data           # for a document\n"
		"  pantrace flame --compare before.data after.data -o change.html\n"
		"  pantrace flame -w 'comm == \"nginx\"' --by tid perf.data\n"
		"  pantrace flame stacks.folded\n"
		"  pantrace flame --weight alloc_space heap.pb.gz  # what go tool pprof reads\n",
	.details = "RECORDING is what report reads and has call chains: a perf.data (perf record "
		   "-g), a trace.dat with kernel_stack events, the text of perf script, folded "
		   "stacks, a profile of pprof; default perf.data.\n\n"
		   "The page is one file that needs nothing else: it opens from a disk or a "
		   "mail, searches, zooms, and shows the callers and callees of a function; ? "
		   "shows its keys. The same input gives the same bytes.\n\n"
		   "With a command, -p, -a or -d it records first: where time goes, or the event "
		   "that -e names; for the whole machine without idle tasks. The recording is "
		   "not kept.\n\n"
		   "--offcpu uses the stacks of sched:sched_switch, recorded on the whole "
		   "machine with -g. Waiting for a CPU counts as well as sleeping; -w "
		   "'prev_state != \"R\"' leaves out threads that were preempted.\n\n"
		   "A frame is as wide as its share of the whole. Samples count by their period: "
		   "time for clocks, events for others. The children of a frame are ordered by "
		   "name, not by time. Events without a stack, and events of other kinds than "
		   "the first, are left out and counted on standard error; -e chooses the kind.\n\n"
		   "Of a profile of pprof the values are drawn that it shows first; --weight names "
		   "others (alloc_space).\n\n"
		   "With --compare, widths are those of RECORDING. Colours compare shares, so "
		   "the two recordings may differ in length.\n\n"
		   "The exit code is 3 if the recording says that events were lost, and 1 if "
		   "something could not be read or written.",
	.options = options,
};

static void (*const forms[])(const struct flame *f, const struct flame_options *o,
			     struct strbuf *out) = {
	[PICTURE_PAGE] = flame_page, [PICTURE_SVG] = flame_svg, [PICTURE_TEXT] = flame_text};

struct drawing {
	const struct arguments *arguments;
	struct picture picture;
	enum stacks_root root;
	struct flame *flame;
	struct diag diag;
	struct live live;
	const char *asked[2]; /* the one event to be recorded, NULL */
	u64 taken, without_stack, without_weight, other_kinds, lost, idle, without_end;
	char *kind; /* of the events; see stack_feed */
	char *unit; /* of their weights; see stacks_unit() */
	bool is_live, has_periods, is_damaged, is_full, has_gaps;
};

/* ---- what is asked for ---- */

static int choose_root(struct drawing *d)
{
	static const char *const names[] = {[STACKS_COMM] = "comm",
					    [STACKS_PID] = "pid",
					    [STACKS_TID] = "tid",
					    [STACKS_NONE] = "none"};

	for (u32 i = 0; d->arguments->root && i < ARRAY_SIZE(names); i++)
		if (str_eq(d->arguments->root, names[i])) {
			d->root = (enum stacks_root)i;
			return 0;
		}
	return d->arguments->root
		       ? options_usage_error(&spec, "--by %s: it is comm, pid, tid or none",
					     d->arguments->root)
		       : 0;
}

/* The unit is printed in SVG and HTML: one or a few words are taken. */
static bool is_plain(const char *unit)
{
	for (const char *c = unit; *c; c++)
		if (!strchr(" _-./", *c) && !(*c >= '0' && *c <= '9') &&
		    !((*c | 32) >= 'a' && (*c | 32) <= 'z'))
			return false;
	return true;
}

static int check_unit(const char *unit)
{
	return unit && !is_plain(unit)
		       ? options_usage_error(&spec, "--unit: letters, digits and blanks, not '%s'",
					     unit)
		       : 0;
}

/* ---- recordings ---- */

/* Adds up both recordings, so that what was left out is told once. */
static void take_counts(struct drawing *d, const struct stack_feed *feed)
{
	const struct stacks *const s = &feed->stacks;

	d->taken += feed->side == FLAME_NEW ? s->taken : 0;
	d->without_stack += s->without_stack;
	d->without_weight += s->without_weight;
	d->other_kinds += s->other_kinds;
	d->has_periods |= s->is_sampled;
	d->is_full |= feed->is_full || s->is_full;
	d->idle += feed->idle;
	if (!d->kind && s->kind)
		d->kind = xstrdup(s->kind);
	if (!d->unit)
		d->unit = xstrdup(stacks_unit(s));
}

static void choose_tasks(const struct drawing *d, struct off_cpu *o)
{
	const struct pid_list *const pids = &d->arguments->live.pids;

	for (u32 i = 0; i < pids->count; i++)
		off_cpu_choose(o, pids->items[i]);
	if (d->live.pid && !d->arguments->live.all)
		off_cpu_choose(o, d->live.pid);
}

static void read_events(struct drawing *d, struct recordings *all, struct selection *s,
			enum flame_side side)
{
	const struct arguments *const a = d->arguments;
	struct stack_feed feed = {.flame = d->flame,
				  .side = side,
				  .skips_idle = d->is_live && !a->idle,
				  .stacks = {.root = d->root,
					     .weight = a->weight,
					     .counts = a->counts,
					     .kind = d->kind}};
	struct off_cpu off = {.feed = &feed};
	const char *weight_name = a->weight;
	const struct string_list weight = {&weight_name, weight_name != NULL};
	struct recording_loss loss;
	struct recording *r;

	choose_tasks(d, &off);
	while (!selection_is_over(s) && (r = recordings_next(all, &d->diag)))
		if (a->off_cpu)
			off_cpu_add(&off, r, selection_passes(s, r));
		else if (selection_passes(s, r))
			stack_feed_add(&feed, r);
	report_names_check(all, s->where.items, s->where.len, &weight, &d->diag);
	loss = recordings_loss(all, &d->diag);
	take_counts(d, &feed);
	d->without_end += off.open + off.cut;
	d->lost += loss.events + loss.packets;
	d->has_gaps |= loss.gaps;
	d->is_damaged |= loss.damaged || d->diag.errors;
	off_cpu_release(&off);
	stack_feed_release(&feed);
}

static int read_recordings(struct drawing *d, const char *const *paths, enum flame_side side)
{
	const struct arguments *const a = d->arguments;
	const struct recordings_options what = {
		.events = d->is_live ? (struct string_list){0} : a->selection.events,
		.files = a->opening.files,
		.clock = a->opening.clock,
		.tsc_hz = opening_tsc_hz(&a->opening),
		.no_symbols = a->opening.no_symbols,
		.recorded_times = selection_takes_recorded(&a->selection, paths),
	};
	struct selection s = {.arguments = &a->selection};
	struct recordings *all = recordings_new(&what);
	int rc = selection_open(&s, all, paths, &spec, &d->diag);

	if (!rc)
		read_events(d, all, &s, side);
	diag_tell(&d->diag);
	selection_release(&s);
	recordings_release(all);
	return rc;
}

/* ---- the end ---- */

/* As it is read below widths: a count is one of what the events are named after. */
static const char *unit_of(const struct drawing *d)
{
	static const char *const shorter[][2] = {{"nanoseconds", "ns"},
						 {"microseconds", "us"},
						 {"milliseconds", "ms"},
						 {"seconds", "s"}};
	const struct arguments *const a = d->arguments;
	const char *unit;

	if (a->unit || a->weight || a->off_cpu)
		return a->unit ?: a->weight ?: "ns";
	if (!d->has_periods)
		return "samples";
	unit = str_eq(d->unit, "count") ? d->kind : d->unit;
	for (size_t i = 0; i < ARRAY_SIZE(shorter); i++)
		if (str_eq(unit, shorter[i][0]))
			return shorter[i][1];
	return *unit && is_plain(unit) ? unit : "events";
}

static char *title_of(const struct drawing *d, const char *path)
{
	char *const name = d->is_live ? live_name(&d->live) : xstrdup(path);
	char *const title =
		xasprintf("%s of %s", d->arguments->off_cpu ? "Off-CPU time" : "Flame graph", name);

	free(name);
	return title;
}

static int write_picture(struct drawing *d, const char *path)
{
	const struct arguments *const a = d->arguments;
	char *title = a->picture.title ? NULL : title_of(d, path);
	struct flame_options o = {
		.title = a->picture.title ?: title,
		.unit = unit_of(d),
		.icicle = a->icicle,
		.min_width = 0.1,
	};
	struct strbuf out = STRBUF_INIT;
	int rc = picture_open(&d->picture);

	if (!rc) {
		o.columns = d->picture.columns;
		o.colours = d->picture.colours;
		flame_finish(d->flame);
		forms[d->picture.form](d->flame, &o, &out);
		rc = picture_write(&d->picture, &out);
	}
	strbuf_release(&out);
	free(title);
	return rc;
}

static enum exit_code told_end(struct drawing *d)
{
	if (d->without_stack)
		complain("flame", "%llu events without a stack are not in it",
			 (unsigned long long)d->without_stack);
	if (d->without_weight)
		complain("flame", "%llu events without %s are not in it",
			 (unsigned long long)d->without_weight, d->arguments->weight);
	if (d->other_kinds)
		complain("flame",
			 "%llu events of other kinds than %s are not in it; -e chooses the kind",
			 (unsigned long long)d->other_kinds, d->kind);
	if (d->idle)
		complain("flame", "%llu samples of idle tasks are not in it; --idle draws them",
			 (unsigned long long)d->idle);
	if (d->without_end)
		complain("flame",
			 "left out: %llu times that a thread left its CPU and was not "
			 "seen to come back",
			 (unsigned long long)d->without_end);
	if (d->lost && !d->is_live)
		complain("flame", "the tracer lost %llu events", (unsigned long long)d->lost);
	if (d->is_full)
		complain("flame", "the sum of all %s is too large for 64 bits", unit_of(d));
	if (d->is_damaged || d->is_full)
		return EXIT_FAILED;
	if (d->live.code)
		return (enum exit_code)d->live.code;
	return d->lost || d->has_gaps || d->live.has_lost ? EXIT_LOST : EXIT_OK;
}

/* No picture without samples: it would look like an idle machine. */
static int check_taken(const struct drawing *d)
{
	const bool has_events = d->without_stack || d->without_weight || d->other_kinds;

	if (d->taken)
		return EXIT_OK;
	complain("flame", "%s",
		 d->without_stack ? "no event has a stack: record with call chains, as perf record "
				    "-g does"
		 : has_events	  ? "no event has a stack and what is to be added up"
		 : d->idle	  ? "only idle tasks were sampled: --idle draws them"
				  : "no event was recorded");
	return EXIT_FAILED;
}

/* When threads leave their CPUs, and which threads they start. */
static const char *const off_cpu_events[] = {"sched:sched_switch", "sched:sched_process_fork",
					     NULL};

/* Refuses options that contradict: either a recording is drawn, or one is made. */
static int check_live(struct drawing *d, const char *const *paths)
{
	const struct arguments *const a = d->arguments;

	if (!d->is_live)
		return 0;
	if (*paths)
		return options_usage_error(&spec,
					   "a RECORDING, or a command, -p, -a, -d: choose one");
	if (a->selection.events.count > 1 || (a->off_cpu && a->selection.events.count))
		return options_usage_error(&spec, "only one event (-e) can be recorded and drawn");
	if (a->off_cpu && (a->live.frequency || a->weight || a->counts))
		return options_usage_error(&spec, "--offcpu is time: without %s",
					   a->live.frequency ? "-F"
					   : a->weight	     ? "--weight"
							     : "--count");
	if (a->selection.events.count) {
		d->asked[0] = a->selection.events.items[0];
		d->live.events = d->asked;
	}
	if (a->off_cpu)
		d->live.events = off_cpu_events;
	d->live.whole_machine = a->off_cpu;
	d->live.to_output = str_eq(d->picture.path, "-");
	return 0;
}

static int draw(struct drawing *d, const char *const *paths)
{
	static const char *const usual[] = {"perf.data", NULL};
	const char *const old[] = {d->arguments->compare, NULL};
	const char *const made[] = {d->live.path, NULL};
	int rc = picture_choose(&d->picture) ?: choose_root(d) ?: check_unit(d->arguments->unit);

	if (!rc)
		rc = check_live(d, paths);
	if (d->arguments->off_cpu)
		d->kind = xstrdup("sched:sched_switch");
	if (!rc && d->is_live)
		rc = live_record(&d->live, &spec);
	if (!rc && *old)
		rc = read_recordings(d, old, FLAME_OLD);
	paths = d->is_live ? made : *paths ? paths : usual;
	if (!rc)
		rc = read_recordings(d, paths, FLAME_NEW);
	if (!rc)
		rc = check_taken(d);
	if (!rc)
		rc = write_picture(d, *paths) ?: (int)told_end(d);
	return rc;
}

int cmd_flame(int argc, char **argv)
{
	struct arguments a = {0};
	struct drawing d = {.arguments = &a,
			    .picture = {.spec = &spec, .arguments = &a.picture},
			    .flame = flame_new(),
			    .diag = DIAG_INIT,
			    .live = {.arguments = &a.live, .stacks = true, .fd = -1}};
	int first, rc = options_command(&spec, &argc, argv, &d.live.command);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&spec, argc, argv, &a, &first);
	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		d.is_live = live_is_asked(&d.live);
		rc = draw(&d, (const char *const *)argv + first);
	}
	live_release(&d.live);
	flame_release(d.flame);
	free(d.kind);
	free(d.unit);
	diag_release(&d.diag);
	options_release(&spec, &a);
	return rc;
}
