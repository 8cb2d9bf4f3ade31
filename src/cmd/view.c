/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace view`: the picture that suits what is in a recording, by the command that draws it. */
#include "cmd/view.h"

#include "cmd/flame/flame.h"
#include "cmd/heatmap/heatmap.h"
#include "cmd/report/drawn.h"
#include "cmd/timeline/timeline.h"
#include "trace/spans.h"
#include "trace/states.h"
#include "view/page/picture.h"

#define LOOKED_AT 200000 /* events: what a recording has, is there by then */

/* The options that all pictures have; they are handed on. */
struct arguments {
	struct drawn_arguments drawn;
	struct picture_arguments picture;
	bool serve;
	u64 idle_ns;
};

static const struct option_spec options[] = {
	{0, NULL, NULL, "The picture", OPTION_HEADING, 0},
	PICTURE_OPTIONS(offsetof(struct arguments, picture), "timeline, flame or heatmap"),
	{0, "serve", NULL, "a time line: as timeline --serve does", OPTION_FLAG,
	 offsetof(struct arguments, serve)},
	{0, "idle", "SECONDS",
	 "with --serve: end when no page has been open for this long (default 300)", OPTION_SECONDS,
	 offsetof(struct arguments, idle_ns)},
	DRAWN_OPTIONS(offsetof(struct arguments, drawn)),
	{0},
};

static const struct command_spec spec = {
	.name = "view",
	.synopsis = "[options] [RECORDING...]",
	.summary = "draw a recording by the picture that suits it",
	.examples = "  pantrace view run.dat                         # writes timeline.html\n"
		    "  pantrace view -o cpu.html perf.data\n"
		    "  pantrace view --text run.dat                  # in the terminal\n",
	.details =
		"RECORDING is what report reads; default perf.data. Where switches, slices (system "
		"calls, interrupts, function graphs) or counters were recorded, it is drawn by "
		"`pantrace timeline`; else, where events have stacks, by `pantrace flame`; else by "
		"`pantrace heatmap`. Which one it is, and which others would be of use, is said. "
		"The first 200,000 events decide. Where events have stacks, the pages of time "
		"lines and heat maps draw the flame graph of what is selected, too.\n\n"
		"A time line whose page would exceed 50 MB is served to a browser on this machine, "
		"if the command runs on a terminal.\n\n"
		"The exit code is that of the command that draws.",
	.options = options,
};

/* In the order of preference. */
enum drawn_by { BY_TIMELINE, BY_FLAME, BY_HEATMAP, COMMANDS };

static const struct {
	char *name;
	int (*run)(int argc, char **argv);
	const char *why;
} commands[COMMANDS] = {
	{"timeline", cmd_timeline, "switches, slices or counters"},
	{"flame", cmd_flame, "stacks"},
	{"heatmap", cmd_heatmap, "events"},
};

static void look(struct drawn *d, bool ret_has[COMMANDS])
{
	struct recorded_stack stack = {0};
	struct recording *r;

	for (u32 n = 0; n < LOOKED_AT && (r = recordings_next(d->all, &d->diag)); n++) {
		if (!selection_passes(&d->selection, r))
			continue;
		ret_has[BY_HEATMAP] = true;
		ret_has[BY_TIMELINE] |= states_know(r->kind) || spans_know(r->kind);
		/* of other events than samples, where they were is not a stack */
		ret_has[BY_FLAME] |= recording_stack(r, &stack) &&
				     (r->kind->is_sample || stack.len > 1 || r->has_no_times);
		if (ret_has[BY_TIMELINE] && ret_has[BY_FLAME])
			break;
	}
	vector_free(&stack);
}

/* Returns 0, or an exit code (said). */
static int choose(const struct arguments *a, char *const *paths, enum drawn_by *ret)
{
	struct drawn d = {.spec = &spec, .arguments = &a->drawn, .diag = DIAG_INIT};
	bool has[COMMANDS] = {false};
	int rc = drawn_open(&d, paths);

	if (!rc)
		look(&d, has);
	if (!rc && !has[BY_HEATMAP]) /* else the command that draws tells it */
		diag_tell(&d.diag);
	if (!rc && !has[BY_HEATMAP]) {
		complain("view", "no event was recorded");
		rc = EXIT_FAILED;
	}
	for (*ret = 0; !rc && !has[*ret];)
		(*ret)++;
	if (!rc && a->serve && *ret != BY_TIMELINE)
		rc = options_usage_error(&spec,
					 "--serve is for time lines, and there are no %s in it",
					 commands[BY_TIMELINE].why);
	if (!rc)
		complain("view", "it has %s: drawn by `pantrace %s`", commands[*ret].why,
			 commands[*ret].name);
	for (u32 i = *ret + 1; !rc && i < COMMANDS; i++)
		if (has[i] && i != BY_HEATMAP)
			complain("view", "it also has %s: `pantrace %s` draws them",
				 commands[i].why, commands[i].name);
	drawn_release(&d);
	return rc;
}

int cmd_view(int argc, char **argv)
{
	struct arguments a = {0};
	enum drawn_by by;
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		rc = choose(&a, argv + first, &by);
		if (!rc) {
			argv[0] = commands[by].name;
			rc = commands[by].run(argc, argv);
		}
	}
	options_release(&spec, &a);
	return rc;
}
