/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace timeline`: what threads and CPUs did, and when. */
#include "cmd/timeline/timeline.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/flame/flame.h"
#include "cmd/report/drawn.h"
#include "cmd/timeline/serve.h"
#include "trace/spans.h"
#include "trace/states.h"
#include "view/page/picture.h"
#include "view/server/server.h"
#include "view/sink.h"
#include "view/timeline/timeline.h"

#define PAGE_MOST (50u << 20) /* bytes: larger ones take browsers long to open */

struct arguments {
	struct drawn_arguments drawn;
	struct picture_arguments picture;
	bool serve;
	u64 idle_ns;
};

static const struct option_spec options[] = {
	{0, NULL, NULL, "The picture", OPTION_HEADING, 0},
	PICTURE_OPTIONS(offsetof(struct arguments, picture), "timeline"),
	{0, "serve", NULL,
	 "show it to a browser on this machine, which loads what is looked at, instead of writing "
	 "a file; the address is printed, Ctrl-C ends",
	 OPTION_FLAG, offsetof(struct arguments, serve)},
	{0, "idle", "SECONDS",
	 "with --serve: end when no page has been open for this long (default 300)", OPTION_SECONDS,
	 offsetof(struct arguments, idle_ns)},
	PICTURE_JSON_OPTION(offsetof(struct arguments, picture), "the states and slices"),
	DRAWN_OPTIONS(offsetof(struct arguments, drawn)),
	{0},
};

static const struct option_field fields[] = {
	{"time_ns", "when it begins: since the epoch, or as recorded"},
	{"duration_ns", "how long it lasts; without an end, up to the last event"},
	{"what", "\"state\" of a thread, or \"slice\""},
	{"name", "of the state (running, runnable, preempted, sleeping, blocked, stopped, ended), "
		 "or of the slice"},
	{"row", "the thread with its number, or the CPU"},
	{"tid", "the thread's number; 0 = the slice is of a CPU"},
	{"cpu", "where it begins; null = not known"},
	{"depth", "of slices: how many are around it"},
	{"ended", "false: when it ended is not known"},
	{0},
};

static const struct command_spec spec = {
	.name = "timeline",
	.synopsis = "[options] [RECORDING...]",
	.summary = "draw what threads and CPUs did, and when",
	.examples =
		"  pantrace record -e 'sched:sched_switch,sched:sched_wak*' -o run.dat -- make\n"
		"  pantrace timeline -o run.html run.dat\n"
		"  pantrace timeline -b 12:34:56 -E 12:34:57 -o second.html run.dat\n"
		"  pantrace timeline --text run.dat              # in the terminal\n"
		"  pantrace timeline --serve long.dat            # too large for one page\n",
	.details = "RECORDING is what report reads; default perf.data.\n\n"
		   "CPUs and threads are rows. Context switches and wake-ups show when a thread "
		   "is running, runnable (woken, or preempted), sleeping, blocked "
		   "(uninterruptible) or stopped. Virtual CPUs of Xen are shown as threads. "
		   "System calls, interrupts, function graphs, exits and work items are nested "
		   "slices; other events are marks. States whose end is unknown, because the "
		   "recording ended or events were lost, are paler and are in no sum. So are "
		   "threads of processes that were not recorded, which appear only in switches "
		   "from and to the recorded ones.\n\n"
		   "The page zooms from the whole down to nanoseconds, by keys (? shows them), "
		   "wheel and touch. Its search takes conditions as report -w does (comm == "
		   "\"make\" && cpu != 0; also fields, if the page has them); so does its filter "
		   "of rows (comm, tid and pid of threads, cpu of CPUs). The critical path of a "
		   "wake-up leads back to the thread that caused it, to what woke that thread, "
		   "and so on, to an interrupt or the start of the recording.\n\n"
		   "With up to 200,000 events the page also has their fields and stacks: Flame "
		   "graph draws the stacks of the selected slice or thread, of the time between "
		   "the markers, or of what is in view.\n\n"
		   "A page larger than 50 MB is not written; on a terminal it is served, as with "
		   "--serve: only from 127.0.0.1, at an address with a random part, without "
		   "which nothing is sent. After `ssh -L PORT:127.0.0.1:PORT HOST` the same "
		   "address opens on another machine, too. A served page also links to the flame "
		   "graph and the heat map of the same selection. It shows counters where it has "
		   "events, and no fields.\n\n"
		   "The exit code is 3 if the recording says that events were lost, and 1 if "
		   "something could not be read or written.",
	.fields = fields,
	.options = options,
};

struct drawing {
	const struct arguments *arguments;
	char *const *words; /* the command line */
	struct drawn from;
	struct picture picture;
	struct timeline *timeline;
	struct states states;
	struct spans spans;
	/* of each event its fields and its stack; none above DRAWN_DETAILS_MOST */
	VECTOR(struct strbuf) texts;
	VECTOR(u32) stacks;
	struct flame *flame;
	struct stack_feed feed;
	struct strbuf name;
};

/* ---- events ---- */

/* recorded_kind.role */
enum { NOT_ASKED, SWITCH_OR_WAKEUP, SLICE_OR_COUNTER, MARK };

static u8 role_of(const struct recorded_kind *k)
{
	return states_know(k) ? SWITCH_OR_WAKEUP : spans_know(k) ? SLICE_OR_COUNTER : MARK;
}

static void add_states(struct drawing *d, struct recording *r, u32 host, s64 cpu)
{
	struct state_change changes[STATE_CHANGES];
	s64 woken;
	const size_t n = states_feed(&d->states, r, host, cpu, changes, &woken);

	for (size_t i = 0; i < n; i++) {
		const u32 thread = timeline_thread(d->timeline, host, changes[i].tid);

		timeline_name_thread(d->timeline, thread, -1, changes[i].comm,
				     changes[i].comm_size);
		timeline_state(d->timeline, thread, changes[i].state, changes[i].is_cut);
	}
	if (woken)
		timeline_wakeup(d->timeline, timeline_thread(d->timeline, host, woken));
}

static void add_item(struct drawing *d, const struct span_item *i)
{
	struct timeline *const t = d->timeline;
	const struct span_track *const on = &i->track;

	if (i->kind == ITEM_COUNTER) {
		strbuf_reset(&d->name);
		strbuf_addf(&d->name, on->id < 0 ? "%s" : "%s %" PRId64, i->name, on->id);
		timeline_counter(t, timeline_name(t, d->name.data, d->name.len), i->value);
	} else if ((i->kind == ITEM_SLICE || i->kind == ITEM_UNFINISHED) &&
		   on->kind != TRACK_NONE) {
		const struct timeline_lane lane =
			on->kind == TRACK_THREAD
				? (struct timeline_lane){TIMELINE_THREAD,
							 timeline_thread(t, on->host, on->id)}
				: (struct timeline_lane){TIMELINE_CPU,
							 timeline_cpu(t, on->host, on->id)};

		timeline_slice(t, lane, (u32)i->begun, i->kind == ITEM_UNFINISHED,
			       timeline_name(t, i->name, i->name_size));
	}
}

static void release_details(struct drawing *d)
{
	for (size_t i = 0; i < d->texts.len; i++)
		strbuf_release(&d->texts.items[i]);
	vector_free(&d->texts);
	vector_free(&d->stacks);
	stack_feed_release(&d->feed);
	flame_release(d->flame);
	d->flame = NULL;
}

static void add_stack(struct drawing *d, struct recording *r)
{
	const u64 before = d->feed.stacks.taken;

	d->feed.stacks.kind = r->kind->name; /* of every kind: the page tells them apart */
	stack_feed_add(&d->feed, r);
	vector_push(&d->stacks,
		    d->feed.stacks.taken != before ? flame_last(d->flame) : TIMELINE_NONE);
}

static void add_details(struct drawing *d, struct recording *r, u32 event)
{
	struct strbuf text = STRBUF_INIT;

	if (event == DRAWN_DETAILS_MOST)
		release_details(d);
	if (event >= DRAWN_DETAILS_MOST || d->picture.form != PICTURE_PAGE)
		return;
	drawn_add_fields(r, &text);
	vector_push(&d->texts, text);
	add_stack(d, r);
}

static void add_event(struct drawing *d, struct recording *r)
{
	struct timeline *const t = d->timeline;
	const struct recorded_place place = recording_place(r);
	const u32 host = spans_host(&d->spans, place.host ?: "");
	const s64 tid = place.tid >= 0 ? place.tid : place.pid;
	const u32 thread = tid > 0 ? timeline_thread(t, host, tid) : TIMELINE_NONE;
	struct span_item items[SPAN_ITEMS];
	u32 event;

	if (!r->kind->role)
		r->kind->role = role_of(r->kind);
	if (thread != TIMELINE_NONE)
		timeline_name_thread(t, thread, place.pid, place.comm, place.comm_size);
	event = timeline_event(t, r->ns, timeline_kind(t, r->kind->name, r->kind->role == MARK),
			       thread,
			       place.cpu >= 0 ? timeline_cpu(t, host, place.cpu) : TIMELINE_NONE);
	d->spans.event = event;
	add_details(d, r, event);
	if (r->lost) {
		states_lost(&d->states);
		spans_lost(&d->spans);
		timeline_lost(t);
	}
	if (r->kind->role == SWITCH_OR_WAKEUP)
		add_states(d, r, host, place.cpu);
	else if (r->kind->role == SLICE_OR_COUNTER)
		for (size_t n = spans_items(&d->spans, r, &place, items), i = 0; i < n; i++)
			add_item(d, &items[i]);
}

/* ---- recordings ---- */

static void read_events(struct drawing *d)
{
	struct span_item item;
	struct recording *r;

	spans_host(&d->spans, ""); /* number 0 */
	while (timeline_events(d->timeline) < TIMELINE_EVENTS_MOST && (r = drawn_next(&d->from)))
		add_event(d, r);
	while (spans_rest(&d->spans, &item))
		add_item(d, &item);
	hashmap_each (&d->spans.hosts, e)
		timeline_name_host(d->timeline, (u32)(uintptr_t)e->value - 1, e->key);
	drawn_end(&d->from, NULL);
}

/* ---- output ---- */

struct json_cpu {
	s64 number;
};

static void add_cpu(const void *arg, struct json *j)
{
	const struct json_cpu *const cpu = arg;

	if (cpu->number < 0)
		json_null(j);
	else
		json_s64(j, cpu->number);
}

struct interval {
	struct timeline_lane lane;
	u32 begin, end, depth;
	bool is_cut;
	const char *what, *name;
	size_t len;
};

static void add_interval(const struct timeline *t, struct sink *to, const struct interval *i)
{
	const s64 ns = timeline_ns(t, i->begin);
	struct json_cpu cpu = {-1};
	struct strbuf row = STRBUF_INIT;
	size_t n;
	const bool is_thread = i->lane.row == TIMELINE_THREAD;
	const u32 at = is_thread ? timeline_event_cpu(t, i->begin) : i->lane.index;

	if (at != TIMELINE_NONE)
		cpu.number = timeline_cpus(t, &n)[at].number;
	timeline_row_text(t, i->lane, &row);
	sink_row(to, SINK_NUMBER(ns), SINK_NUMBER(timeline_ns(t, i->end) - ns), SINK_TEXT(i->what),
		 SINK_STRING(i->name, i->len), SINK_STRING(row.data, row.len),
		 SINK_NUMBER(is_thread ? timeline_threads(t, &n)[i->lane.index].tid : 0),
		 SINK_PARTS(add_cpu, &cpu), SINK_NUMBER(i->depth), SINK_BOOL(!i->is_cut));
	strbuf_release(&row);
}

static void write_json(const struct timeline *t, const struct timeline_options *o,
		       struct strbuf *out)
{
	static const struct sink_column columns[] = {{.key = "time_ns"}, {.key = "duration_ns"},
						     {.key = "what"},	 {.key = "name"},
						     {.key = "row"},	 {.key = "tid"},
						     {.key = "cpu"},	 {.key = "depth"},
						     {.key = "ended"},	 {0}};
	struct sink s = {.format = &sink_as_json, .columns = columns, .out = out};
	size_t nr_threads, nr_slices, n;
	const struct timeline_slice *slices = timeline_slices(t, &nr_slices);

	timeline_threads(t, &nr_threads);
	for (u32 thread = 0; thread < nr_threads; thread++) {
		const struct timeline_lane lane = {TIMELINE_THREAD, thread};
		const struct timeline_span *const spans = timeline_spans(t, lane, &n);

		for (size_t i = 0; i < n; i++) {
			const char *const state = timeline_state_text(spans[i].what);

			if (spans[i].what != THREAD_UNKNOWN)
				add_interval(t, &s,
					     &(struct interval){lane, spans[i].begin, spans[i].end,
								0, spans[i].is_cut, "state", state,
								strlen(state)});
		}
	}
	for (size_t i = 0; i < nr_slices; i++) {
		struct interval v = {slices[i].lane,  slices[i].begin,	slices[i].end,
				     slices[i].depth, slices[i].is_cut, "slice"};

		v.name = timeline_name_text(t, slices[i].name, &v.len);
		add_interval(t, &s, &v);
	}
}

static bool is_too_large(const struct drawing *d, const struct strbuf *out)
{
	return d->picture.form == PICTURE_PAGE && out->len > PAGE_MOST;
}

static int refuse(const struct strbuf *out)
{
	complain("timeline",
		 "the page would have %zu MB, more than %u: --serve shows it to a browser on this "
		 "machine; or choose a part of the time with --begin and --end, or some events "
		 "with -e",
		 out->len >> 20, PAGE_MOST >> 20);
	return EXIT_FAILED;
}

/* Off a terminal nobody may be there to look at what is served. */
static bool is_looked_at(const struct arguments *a)
{
	return !a->picture.output && isatty(STDERR_FILENO);
}

static int write_picture(struct drawing *d, struct timeline_options *o)
{
	static void (*const forms[])(const struct timeline *t, const struct timeline_options *o,
				     struct strbuf *out) = {[PICTURE_PAGE] = timeline_page,
							    [PICTURE_SVG] = timeline_svg,
							    [PICTURE_TEXT] = timeline_text,
							    [PICTURE_JSON] = write_json};
	const struct arguments *const a = d->arguments;
	struct strbuf out = STRBUF_INIT;
	bool is_served = a->serve;
	int rc = is_served ? 0 : picture_open(&d->picture);

	if (!rc && !is_served) {
		o->columns = d->picture.columns;
		o->colours = d->picture.colours;
		forms[d->picture.form](d->timeline, o, &out);
		is_served = is_too_large(d, &out) && is_looked_at(a);
		if (!is_too_large(d, &out)) {
			rc = picture_write(&d->picture, &out);
		} else {
			picture_drop(&d->picture);
			rc = is_served ? 0 : refuse(&out);
		}
	}
	strbuf_release(&out);
	return is_served ? timeline_serve(d->timeline, o, a->idle_ns, d->words) : rc;
}

/* What is not certain in the picture. */
static void say_uncertain(const struct timeline *t)
{
	u64 most_ns;
	const size_t partial = timeline_partial(t), moved = timeline_moved(t, &most_ns);

	if (partial)
		complain("timeline",
			 "of %zu thread%s only some switches %s recorded: what they did is not "
			 "certain, and in no sum",
			 partial, plural(partial), was_were(partial));
	if (moved)
		complain("timeline",
			 "%zu event%s %s recorded after later ones: drawn at the time "
			 "of those, up to %" PRIu64 " ns too late",
			 moved, plural(moved), is_are(moved), most_ns);
}

static int draw(struct drawing *d)
{
	const bool has_stacks = d->flame && d->feed.stacks.taken;
	struct strbuf files = STRBUF_INIT;
	enum exit_code code;
	char *title;
	int rc;

	if (!timeline_events(d->timeline)) {
		if (!d->from.is_damaged) /* else it is said */
			complain("timeline", "no event was recorded");
		return EXIT_FAILED;
	}
	timeline_finish(d->timeline);
	if (has_stacks)
		flame_finish(d->flame);
	say_uncertain(d->timeline);
	code = drawn_code(&d->from);
	title = xasprintf("Time line: %s", *d->from.paths);
	drawn_add_files(&d->from, &files);
	rc = write_picture(d,
			   &(struct timeline_options){.title = d->picture.arguments->title ?: title,
						      .files = files.data,
						      .is_unplaced = d->from.is_unplaced,
						      .texts = d->texts.items,
						      .flame = has_stacks ? d->flame : NULL,
						      .stacks = d->stacks.items});
	strbuf_release(&files);
	free(title);
	return rc ?: (int)code;
}

/* 0, or an exit code (said). */
static int choose(struct drawing *d)
{
	const struct picture_arguments *const p = &d->arguments->picture;

	if (d->arguments->serve && (p->json || p->svg || p->text || p->output))
		return options_usage_error(&spec, "--serve writes nothing: choose it, or a file");
	return picture_choose(&d->picture);
}

int cmd_timeline(int argc, char **argv)
{
	struct arguments a = {.idle_ns = SERVER_IDLE_NS};
	struct drawing d = {
		.arguments = &a,
		.words = argv,
		.from = {.spec = &spec,
			 .arguments = &a.drawn,
			 .diag = DIAG_INIT,
			 .needs_times = true},
		.picture = {.spec = &spec, .arguments = &a.picture},
		.spans = {.without_fields = true},
		.name = STRBUF_INIT,
	};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = choose(&d) ?: drawn_open(&d.from, argv + first);
		if (!rc) {
			d.timeline = timeline_new();
			d.flame = flame_new();
			d.feed = (struct stack_feed){
				.flame = d.flame, .stacks = {.counts = true, .only_calls = true}};
			read_events(&d);
			rc = draw(&d);
		}
	}
	release_details(&d);
	timeline_release(d.timeline);
	states_release(&d.states);
	spans_release(&d.spans);
	strbuf_release(&d.name);
	drawn_release(&d.from);
	options_release(&spec, &a);
	return rc;
}
