/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace flame`: a recording's stacks as a flame graph. */
#include "cmd/flame/flame.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "cmd/report/names.h"
#include "cmd/report/selection.h"

struct arguments {
	struct selection_arguments selection;
	const char *output, *root, *weight, *title, *unit, *compare;
	bool svg, text, icicle, counts, no_symbols;
	struct string_list places;
};

static const struct option_spec options[] = {
	{0, NULL, NULL, "The picture", OPTION_HEADING, 0},
	{'o', "output", "FILE",
	 "write it here: .svg is SVG, .txt text, anything else a page; '-' is standard output "
	 "(default: flame.html)",
	 OPTION_STRING, offsetof(struct arguments, output)},
	{0, "svg", NULL, "SVG, for documents", OPTION_FLAG, offsetof(struct arguments, svg)},
	{0, "text", NULL, "a tree for the terminal, on standard output", OPTION_FLAG,
	 offsetof(struct arguments, text)},
	{0, "icicle", NULL, "of SVG: the root on top", OPTION_FLAG,
	 offsetof(struct arguments, icicle)},
	{0, "title", "TEXT", "over the picture", OPTION_STRING, offsetof(struct arguments, title)},
	{0, NULL, NULL, "What is counted", OPTION_HEADING, 0},
	{0, "compare", "OLD",
	 "colour by the difference to this recording: red is more than before, blue less",
	 OPTION_STRING, offsetof(struct arguments, compare)},
	{0, "by", "comm|pid|tid|none", "what stands below the first function (comm)", OPTION_STRING,
	 offsetof(struct arguments, root)},
	{0, "weight", "FIELD", "add up this field (bytes) instead of the samples' periods",
	 OPTION_STRING, offsetof(struct arguments, weight)},
	{0, "count", NULL, "count samples, whatever their periods", OPTION_FLAG,
	 offsetof(struct arguments, counts)},
	{0, "unit", "WORD", "what is counted (ns of clocks, events, or the field)", OPTION_STRING,
	 offsetof(struct arguments, unit)},
	{0, NULL, NULL, "Which events", OPTION_HEADING, 0},
	SELECTION_OPTIONS(offsetof(struct arguments, selection)),
	{0, "utc", NULL, "--begin and --end are in UTC", OPTION_FLAG,
	 offsetof(struct arguments, selection.utc)},
	{0, "files", "DIRECTORY",
	 "look for the traced programs' files here too, by build-id and by path; may be repeated",
	 OPTION_LIST, offsetof(struct arguments, places)},
	{0, "no-symbols", NULL, "addresses stay numbers", OPTION_FLAG,
	 offsetof(struct arguments, no_symbols)},
	{0},
};

static const struct command_spec spec = {
	.name = "flame",
	.synopsis = "[options] [RECORDING...]",
	.summary = "draw the stacks of a recording as a flame graph",
	.examples = "  pantrace flame                                # perf.data -> flame.html\n"
		    "  pantrace flame --text perf.data               # in the terminal\n"
		    "  pantrace flame -o cpu.svg perf.data           # for a document\n"
		    "  pantrace flame --compare before.data after.data -o change.html\n"
		    "  pantrace flame -w 'comm == \"nginx\"' --by tid perf.data\n"
		    "  pantrace flame -e page-faults stacks.folded\n",
	.details =
		"RECORDING is what report reads and has call chains: a perf.data (perf record -g), "
		"a trace.dat with kernel_stack events, the text of perf script, folded stacks; "
		"default perf.data.\n\n"
		"The page is one file that needs nothing else: it opens from a disk or a mail, "
		"searches, zooms, and shows the callers and callees of a function; press ? for its "
		"keys. The same input gives the same bytes.\n\n"
		"A frame is as wide as its part of the whole. A sample counts as much as its "
		"period says: time for clocks, events for others. Frames of one parent stand in "
		"the order of their names, not of time. Events without a stack, and events of "
		"other kinds than the first, are left out and counted on standard error; -e "
		"chooses the kind.\n\n"
		"With --compare, widths are those of RECORDING. Colours compare shares, so the two "
		"need not be equally long.\n\n"
		"The exit code is 3 when the recording says that events were lost, and 1 when "
		"something could not be read or written.",
	.options = options,
};

enum form { FORM_PAGE, FORM_SVG, FORM_TEXT };

static const struct {
	const char *suffix;
	void (*draw)(const struct flame *f, const struct flame_options *o, struct strbuf *out);
} forms[] = {
	[FORM_PAGE] = {".html", flame_page},
	[FORM_SVG] = {".svg", flame_svg},
	[FORM_TEXT] = {".txt", flame_text},
};

struct drawing {
	const struct arguments *arguments;
	const char *output;
	enum form form;
	enum flame_root root;
	struct flame *flame;
	struct diag diag;
	u64 taken, without_stack, without_weight, other_kinds, lost;
	char *kind; /* of the events; see stack_feed */
	bool has_periods, is_damaged, is_full, has_gaps;
};

/* ---- what is asked for ---- */

static int choose_form(struct drawing *d)
{
	const struct arguments *const a = d->arguments;

	if (a->svg && a->text)
		return options_usage_error(&spec, "--svg and --text are two pictures; choose one");
	d->output = a->output ?: a->text ? "-" : a->svg ? "flame.svg" : "flame.html";
	for (u32 i = 0; i < ARRAY_SIZE(forms); i++)
		if (str_ends(d->output, forms[i].suffix))
			d->form = (enum form)i;
	if (a->svg || a->text)
		d->form = a->svg ? FORM_SVG : FORM_TEXT;
	if (d->form == FORM_PAGE && str_eq(d->output, "-") && isatty(STDOUT_FILENO))
		return options_usage_error(&spec, "a page is not for a terminal: write it to a "
						  "file, or use --text");
	return 0;
}

static int choose_root(struct drawing *d)
{
	static const char *const names[] = {
		[ROOT_COMM] = "comm", [ROOT_PID] = "pid", [ROOT_TID] = "tid", [ROOT_NONE] = "none"};

	for (u32 i = 0; d->arguments->root && i < ARRAY_SIZE(names); i++)
		if (str_eq(d->arguments->root, names[i])) {
			d->root = (enum flame_root)i;
			return 0;
		}
	return d->arguments->root
		       ? options_usage_error(&spec, "--by %s: it is comm, pid, tid or none",
					     d->arguments->root)
		       : 0;
}

/* It stands in SVG and HTML: a word, or a few. */
static int check_unit(const char *unit)
{
	for (const char *c = unit; c && *c; c++)
		if (!strchr(" _-./", *c) && !(*c >= '0' && *c <= '9') &&
		    !((*c | 32) >= 'a' && (*c | 32) <= 'z'))
			return options_usage_error(&spec,
						   "--unit: letters, digits and blanks, not "
						   "'%s'",
						   unit);
	return 0;
}

static void choose_text_shape(struct flame_options *o, int fd)
{
	const char *colours = getenv("COLORTERM");
	struct winsize size;

	if (!isatty(fd))
		return;
	if (!ioctl(fd, TIOCGWINSZ, &size))
		o->columns = size.ws_col;
	if (terminal_is_coloured(fd))
		o->colours = colours && (str_eq(colours, "truecolor") || str_eq(colours, "24bit"))
				     ? FLAME_24_BIT
				     : FLAME_256;
}

/* ---- recordings ---- */

static void read_events(struct drawing *d, struct recordings *all, struct selection *s,
			enum flame_side side)
{
	struct stack_feed feed = {.flame = d->flame,
				  .side = side,
				  .root = d->root,
				  .weight = d->arguments->weight,
				  .counts = d->arguments->counts,
				  .kind = d->kind};
	const struct string_list weight = {(const char **)&feed.weight, feed.weight != NULL};
	struct recording_loss loss;
	struct recording *r;

	while (!selection_is_over(s) && (r = recordings_next(all, &d->diag)))
		if (selection_passes(s, r))
			stack_feed_add(&feed, r);
	report_names_check(all, s->where.items, s->where.len, &weight, &d->diag);
	loss = recordings_loss(all, &d->diag);
	d->taken += side == FLAME_NEW ? feed.taken : 0;
	d->without_stack += feed.without_stack;
	d->without_weight += feed.without_weight;
	d->other_kinds += feed.other_kinds;
	d->has_periods |= feed.has_periods;
	if (!d->kind && feed.kind)
		d->kind = xstrdup(feed.kind);
	d->lost += loss.events + loss.packets;
	d->has_gaps |= loss.gaps;
	d->is_damaged |= loss.damaged || d->diag.errors;
	d->is_full |= feed.is_full;
	stack_feed_release(&feed);
}

static int read_recordings(struct drawing *d, const char *const *paths, enum flame_side side)
{
	const struct arguments *const a = d->arguments;
	const struct recordings_options what = {
		.events = a->selection.events,
		.files = a->places,
		.no_symbols = a->no_symbols,
		.style = paths[1] || a->selection.begin || a->selection.end ? NULL : "",
	};
	struct selection s = {.arguments = &a->selection};
	struct recordings *all = recordings_new(&what);
	int rc = selection_conditions(&s, &d->diag) ? EXIT_USAGE : 0;

	for (; !rc && *paths; paths++)
		rc = recordings_add(all, *paths, &d->diag) ? EXIT_FAILED : 0;
	if (!rc && recordings_open(all, &d->diag))
		rc = EXIT_FAILED;
	if (!rc)
		rc = selection_window(&s, all, &spec);
	if (!rc)
		read_events(d, all, &s, side);
	diag_tell(&d->diag);
	selection_release(&s);
	recordings_release(all);
	return rc;
}

/* ---- the end ---- */

static const char *unit_of(const struct drawing *d)
{
	const struct arguments *const a = d->arguments;

	if (a->unit || a->weight)
		return a->unit ?: a->weight;
	if (!d->has_periods)
		return "samples";
	return str_starts(d->kind, "cpu-clock") || str_starts(d->kind, "task-clock") ? "ns"
	       : str_eq(d->kind, "stack")					     ? "samples"
										     : "events";
}

static int write_picture(struct drawing *d, const char *path)
{
	const struct arguments *const a = d->arguments;
	char *title = a->title ? NULL : xasprintf("Flame graph of %s", path);
	struct flame_options o = {
		.title = a->title ?: title,
		.unit = unit_of(d),
		.icicle = a->icicle,
		.min_width = 0.1,
	};
	struct strbuf out = STRBUF_INIT;
	struct new_file file;
	int rc = new_file_open(&file, d->output, true);

	if (!rc) {
		choose_text_shape(&o, file.fd);
		flame_finish(d->flame);
		forms[d->form].draw(d->flame, &o, &out);
		rc = write_all(file.fd, out.data, out.len) ?: new_file_keep(&file);
		new_file_drop(&file);
	}
	if (rc && rc != -EPIPE)
		complain("flame", "%s: %s", str_eq(d->output, "-") ? "standard output" : d->output,
			 strerror(-rc));
	strbuf_release(&out);
	free(title);
	return rc && rc != -EPIPE ? EXIT_FAILED : EXIT_OK;
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
	if (d->lost)
		complain("flame", "the tracer lost %llu events", (unsigned long long)d->lost);
	if (d->is_full)
		complain("flame", "the sum of %s is too large for 64 bits", d->arguments->weight);
	if (d->is_damaged || d->is_full)
		return EXIT_FAILED;
	return d->lost || d->has_gaps ? EXIT_LOST : EXIT_OK;
}

/* An empty picture would look like an idle machine. */
static int check_taken(const struct drawing *d)
{
	if (d->taken)
		return EXIT_OK;
	complain("flame", "no event has a stack%s",
		 d->without_stack ? ": record with call chains, as perf record -g does" : "");
	return EXIT_FAILED;
}

static int draw(struct drawing *d, const char *const *paths)
{
	const char *const old[] = {d->arguments->compare, NULL};
	int rc = choose_form(d) ?: choose_root(d) ?: check_unit(d->arguments->unit);

	if (!rc && *old)
		rc = read_recordings(d, old, FLAME_OLD);
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
	static const char *const usual[] = {"perf.data", NULL};
	struct arguments a = {0};
	struct drawing d = {.arguments = &a, .flame = flame_new(), .diag = DIAG_INIT};
	int first, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = draw(&d, first == argc ? usual : (const char *const *)argv + first);
	}
	flame_release(d.flame);
	free(d.kind);
	diag_release(&d.diag);
	options_release(&spec, &a);
	return rc;
}
