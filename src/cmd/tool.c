/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a single-purpose tool: its declaration becomes an option table, its options become getopt()
 * values. */
#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/foreign.h"
#include "cmd/run.h"
#include "cmd/tool_count.h"
#include "cmd/tools.h"
#include "kernel/event_name.h"
#include "kernel/sandbox.h"
#include "view/heatmap.h"
#include "view/width.h"

struct tool_values {
	const char *duration, *output;
	bool json, keep_privileges;
	struct tool_given given;
};

/* Rows that every tool has. */
static const struct option_spec common_options[] = {
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_STRING,
	 offsetof(struct tool_values, duration)},
	{'j', "json", NULL, "one JSON object per row", OPTION_FLAG,
	 offsetof(struct tool_values, json)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING,
	 offsetof(struct tool_values, output)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG,
	 offsetof(struct tool_values, keep_privileges)},
};

static struct option_spec *option_table(struct arena *a, const struct tool_spec *spec)
{
	struct option_spec *table = arena_new_array(
		a, struct option_spec, spec->options.len + ARRAY_SIZE(common_options) + 1);
	u32 n = 0;

	for (size_t i = 0; i < spec->options.len; i++) {
		const struct tool_option *o = &spec->options.items[i];

		table[n++] = (struct option_spec){
			.short_name = o->short_name,
			.long_name = o->long_name,
			.value = o->value,
			.help = o->help,
			.kind = o->value ? OPTION_STRING : OPTION_PRESENT,
			.offset = offsetof(struct tool_values, given.options) + i * sizeof(char *),
		};
	}
	memcpy(table + n, common_options, sizeof(common_options));
	for (u32 i = n; i < n + ARRAY_SIZE(common_options); i++)
		for (u32 k = 0; k < n; k++)
			if (table[k].short_name == table[i].short_name)
				table[i].short_name = 0;
	return table;
}

static const char *example_text(struct arena *a, const struct tool_spec *spec)
{
	struct strbuf sb = STRBUF_INIT;
	char *text;

	for (size_t i = 0; i < spec->examples.len; i++)
		strbuf_addf(&sb, "  pantrace %-34s # %s\n", spec->examples.items[i].name,
			    spec->examples.items[i].meaning);
	text = arena_strdup(a, sb.data);
	strbuf_release(&sb);
	return text;
}

static const struct option_field *field_table(struct arena *a, const struct tool_spec *spec)
{
	struct option_field *table = arena_new_array(a, struct option_field, spec->fields.len + 1);

	for (size_t i = 0; i < spec->fields.len; i++)
		table[i] = (struct option_field){spec->fields.items[i].name,
						 spec->fields.items[i].meaning};
	return table;
}

static void show_column(struct row_style *style, const char *column)
{
	for (size_t i = 0; i < style->hidden.len; i++)
		if (str_eq(style->hidden.items[i], column)) {
			style->hidden.items[i] = vector_last(&style->hidden);
			style->hidden.len--;
			return;
		}
}

static int apply_duration(const struct command_spec *command, const char *text,
			  struct run_request *r)
{
	double seconds;

	if (!text)
		return EXIT_OK;
	if (parse_double(text, &seconds) || seconds <= 0 || seconds > 1e9)
		return options_usage_error(command, "-d takes a number of seconds, not '%s'", text);
	r->duration_ns = (u64)(seconds * 1e9);
	return EXIT_OK;
}

/* Rising numbers, separated by blanks or commas; brought into one spelling. */
static const char *number_list(struct arena *a, const char *text)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long last = 0;
	const char *result;

	for (const char *p = text + strspn(text, " ,"); *p; p += strspn(p, " ,")) {
		char *end;
		unsigned long long n = strtoull(p, &end, 10);

		if (end == p || !strchr(" ,", *end) || (sb.len && n <= last)) {
			strbuf_release(&sb);
			return NULL;
		}
		strbuf_addf(&sb, "%s%llu", sb.len ? " " : "", n);
		last = n;
		p = end;
	}
	result = sb.len ? arena_strdup(a, sb.data) : NULL;
	strbuf_release(&sb);
	return result;
}

static bool is_name(const char *s, const char *further)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_./:-+@,", *s) && !strchr(further, *s))
			return false;
	return true;
}

/* "1.5" seconds as milliseconds, which an interval probe takes. */
static const char *milliseconds(struct arena *a, const char *text)
{
	double seconds;

	if (parse_double(text, &seconds) || seconds < 0.001 || seconds > 1e6)
		return NULL;
	return arena_printf(a, "%llu", (unsigned long long)(seconds * 1000 + 0.5));
}

/* "vda", "/dev/vda" or "254,0" as the kernel numbers devices: 12 bits of major, 20 of minor. */
static const char *device_number(struct arena *a, const char *text)
{
	unsigned int major, minor;
	char *data = NULL;
	size_t len;
	int used = 0;

	if (str_starts(text, "/dev/"))
		text += strlen("/dev/");
	if (sscanf(text, "%u%*[,:]%u%n", &major, &minor, &used) == 2 && !text[used])
		return arena_printf(a, "%u", major << 20 | minor);
	if (!*text || strchr(text, '/') ||
	    file_read(arena_printf(a, "/sys/class/block/%s/dev", text), 64, &data, &len))
		return NULL;
	used = sscanf(data, "%u:%u", &major, &minor);
	free(data);
	return used == 2 ? arena_printf(a, "%u", major << 20 | minor) : NULL;
}

static const char *glob_expression(struct arena *a, const char *glob)
{
	struct strbuf sb = STRBUF_INIT;
	const char *result;

	strbuf_addch(&sb, '^');
	for (; *glob; glob++) {
		if (*glob == '*')
			strbuf_addstr(&sb, ".*");
		else if (*glob == '?')
			strbuf_addch(&sb, '.');
		else if (isalnum((unsigned char)*glob))
			strbuf_addch(&sb, *glob);
		else
			strbuf_addf(&sb, "[%c]", *glob);
	}
	strbuf_addch(&sb, '$');
	result = arena_strdup(a, sb.data);
	strbuf_release(&sb);
	return result;
}

struct tool_heatmap {
	const char *path;
	int fd; /* 0 = none is asked for */
	enum heatmap_format format;
};

/* What is being run, for the functions below. */
struct tool_run {
	const struct command_spec *command;
	struct arena *arena;
	struct run_request *request;
	const char **words; /* getopt() values */
	const char *script;
	const char *title; /* the command line */
	struct tool_heatmap *heatmap;
};

/* "MICROSECONDS", as the usage has it. */
static const char *argument_name(struct arena *a, const struct tool_option *o)
{
	char *name = arena_strdup(a, o->long_name);

	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return name;
}

static int refuse(const struct tool_run *t, const struct tool_option *o, const char *what,
		  const char *value)
{
	const char *name =
		o->help ? arena_printf(t->arena, "--%s", o->long_name) : argument_name(t->arena, o);
	struct strbuf shown = STRBUF_INIT;
	int rc;

	escape_line(&shown, value, strlen(value));
	rc = options_usage_error(t->command, "%s takes %s, not '%s'", name, what, shown.data);
	strbuf_release(&shown);
	return rc;
}

/* An expression that rows must match; glob: as a pattern with * and ?. */
static int apply_match(const struct tool_run *t, const struct tool_option *o, const char *value)
{
	const char *why = row_style_match(t->request->rows, o->column, value);

	if (!why)
		return EXIT_OK;
	return refuse(t, o, arena_printf(t->arena, "a regular expression (%s)", why), value);
}

static int apply_number(const struct tool_run *t, const struct tool_option *o, const char *value)
{
	u64 number;

	if (parse_u64(value, &number))
		return refuse(t, o, "a number", value);
	if (number < o->least)
		return refuse(t, o,
			      arena_printf(t->arena, "a number from %" PRIu64 " on", o->least),
			      value);
	return EXIT_OK;
}

/* "tracepoint:sched:sched_switch", "sched/sched_switch" -> "sched:sched_switch". */
static int apply_event(const struct tool_run *t, const struct tool_option *o, const char **value)
{
	char *name = arena_strdup(t->arena, event_name_bare(*value)), *slash = strchr(name, '/');

	if (slash)
		*slash = ':';
	if (!is_name(name, "") || !strchr(name, ':'))
		return refuse(t, o, "a tracepoint, SYSTEM:EVENT", *value);
	*value = name;
	return EXIT_OK;
}

/* The file is made before anything is traced: nobody waits an hour to be told that it cannot be
 * written. */
static int open_heatmap(const struct tool_run *t, const struct tool_option *o, const char *path)
{
	struct tool_heatmap *h = t->heatmap;

	if (!heatmap_format_of(path, &h->format))
		return refuse(t, o, "a file whose name ends in .svg or .html", path);
	h->path = path;
	h->fd = foreign_create(path, 0644);
	if (h->fd < 0) {
		fprintf(stderr, "pantrace %s: cannot write %s: %s%s\n", t->command->name, path,
			strerror(-h->fd),
			h->fd == -ELOOP ? " (a symbolic link; name the file itself)" : "");
		h->fd = 0;
		return EXIT_FAILED;
	}
	t->request->rows->heatmap = heatmap_new(t->title, o->column);
	t->request->rows->heatmap_from_ns = clock_now_ns(CLOCK_REALTIME);
	return EXIT_OK;
}

static int close_heatmap(const struct tool_run *t, int rc)
{
	struct tool_heatmap *h = t->heatmap;
	int err;

	if (!h->fd)
		return rc;
	err = heatmap_write(t->request->rows->heatmap, h->fd, h->format);
	if (close(h->fd) < 0 && !err)
		err = -errno;
	heatmap_free(t->request->rows->heatmap);
	if (!err)
		return rc;
	fprintf(stderr, "pantrace %s: cannot write %s: %s\n", t->command->name, h->path,
		strerror(-err));
	return EXIT_FAILED;
}

/* "pantrace iolatency -d loop0 1 10" */
static const char *command_line(struct arena *a, int argc, char **argv)
{
	const char *line = "pantrace";

	for (int i = 0; i < argc; i++)
		line = arena_printf(a, "%s %s", line, argv[i]);
	return line;
}

/* One option or argument that was given; *value is brought into the form that the script takes.
 * Appends "--name=value" for getopt(). 0 or an exit code. */
static int apply(const struct tool_run *t, const struct tool_option *o, const char **value)
{
	struct run_request *r = t->request;
	const char *why;
	char *word, *save;
	u64 number;
	int rc;

	switch (o->effect) {
	case TOOL_MATCH:
		return apply_match(t, o, *value);
	case TOOL_SHOW:
		for (word = strtok_r(arena_strdup(t->arena, o->column), " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			show_column(r->rows, word);
		break;
	case TOOL_LIMIT:
		if (parse_u64(*value, &number) || !number)
			return refuse(t, o, "a number", *value);
		r->rows->limited_column = o->column;
		r->rows->limit = number;
		break;
	case TOOL_GETOPT:
	case TOOL_NUMBER:
		rc = o->value ? apply_number(t, o, *value) : EXIT_OK;
		if (rc)
			return rc;
		break;
	case TOOL_PID:
	case TOOL_THREAD:
		if (parse_u64(*value, &number) || !number || number > 0x400000) /* PID_MAX_LIMIT */
			return refuse(t, o,
				      o->effect == TOOL_PID ? "the number of a process"
							    : "the number of a thread",
				      *value);
		break;
	case TOOL_EVENT:
		rc = apply_event(t, o, value);
		if (rc)
			return rc;
		break;
	case TOOL_COUNT:
		if (parse_u64(*value, &number) || !number)
			return refuse(t, o, "a number", *value);
		break;
	case TOOL_NAME:
	case TOOL_FIELD:
		if (!**value || !is_name(*value, ""))
			return refuse(t, o, "a name", *value);
		break;
	case TOOL_PROBES:
	case TOOL_EVENTS:
		if (!**value || !is_name(*value, "*?[]~$"))
			return refuse(t, o, "names of functions", *value);
		break;
	case TOOL_NUMBERS:
		why = *value;
		*value = number_list(t->arena, why);
		if (!*value)
			return refuse(t, o, "rising numbers", why);
		break;
	case TOOL_SECONDS:
		why = *value;
		*value = milliseconds(t->arena, why);
		if (!*value)
			return refuse(t, o, "a number of seconds", why);
		break;
	case TOOL_FILTER:
		if (!tool_filter(t->arena, *value, &why))
			return options_usage_error(t->command, "filter '%s': %s", *value, why);
		return EXIT_OK;
	case TOOL_GLOB:
		return apply_match(t, o, glob_expression(t->arena, *value));
	case TOOL_DEVICE:
		why = *value;
		*value = device_number(t->arena, why);
		if (!*value)
			return refuse(t, o, "the name of a disk", why);
		break;
	case TOOL_HEATMAP:
		return open_heatmap(t, o, *value);
	case TOOL_DURATION:
		return apply_duration(t->command, *value, r);
	case TOOL_TEXT:
	case TOOL_LIST:
	case TOOL_FORMAT:
	case TOOL_COMMAND:
		break;
	}
	if (o->help && strstr(t->script, arena_printf(t->arena, "getopt(\"%s\"", o->long_name)))
		t->words[r->nnamed++] =
			o->value ? arena_printf(t->arena, "--%s=%s", o->long_name, *value)
				 : arena_printf(t->arena, "--%s", o->long_name);
	return EXIT_OK;
}

static const char *default_value(const struct tool_option *o)
{
	return o->effect == TOOL_NUMBERS || o->effect == TOOL_NUMBER || o->effect == TOOL_SECONDS
		       ? o->column
		       : NULL;
}

static int apply_options(const struct tool_run *t, const struct tool_spec *spec,
			 struct tool_given *given)
{
	int rc = EXIT_OK;

	for (size_t i = 0; i < spec->options.len && !rc; i++) {
		if (!given->options[i])
			given->options[i] = default_value(&spec->options.items[i]);
		if (given->options[i])
			rc = apply(t, &spec->options.items[i], &given->options[i]);
	}
	return rc;
}

static int apply_arguments(const struct tool_run *t, const struct tool_spec *spec, int argc,
			   char **argv, int first, struct tool_given *given)
{
	int rc = EXIT_OK;

	for (size_t i = 0; i < spec->arguments.len && !rc; i++) {
		const struct tool_option *o = &spec->arguments.items[i];

		if (first < argc && o->effect == TOOL_COMMAND) {
			t->request->words = argv + first;
			given->has_command = true;
			return EXIT_OK;
		}
		if (first >= argc && !o->is_optional && o->effect != TOOL_COMMAND &&
		    o->effect != TOOL_MATCH)
			return options_usage_error(t->command, "%s is missing",
						   argument_name(t->arena, o));
		given->arguments[i] = first < argc ? argv[first++] : default_value(o);
		if (given->arguments[i])
			rc = apply(t, o, &given->arguments[i]);
	}
	if (!rc && first < argc)
		return options_usage_error(t->command, "'%s' is one word too many", argv[first]);
	return rc;
}

/* The option with this effect if it was given. */
static bool is_given(const struct tool_spec *spec, const struct tool_given *given,
		     enum tool_effect effect)
{
	for (size_t i = 0; i < spec->options.len; i++)
		if (spec->options.items[i].effect == effect && given->options[i])
			return true;
	return false;
}

/* Does it print by the clock? */
static bool has_interval(const struct tool_spec *spec)
{
	for (size_t i = 0; i < spec->options.len; i++)
		if (spec->options.items[i].effect == TOOL_SECONDS)
			return true;
	for (size_t i = 0; i < spec->arguments.len; i++)
		if (spec->arguments.items[i].effect == TOOL_SECONDS)
			return true;
	return false;
}

static bool takes_command(const struct tool_spec *spec)
{
	return spec->arguments.len && vector_last(&spec->arguments).effect == TOOL_COMMAND;
}

/* The text of an option or argument that was given; NULL = none. */
static const char *given_text(const struct tool_spec *spec, const struct tool_given *given,
			      const char *name)
{
	for (size_t i = 0; i < spec->options.len; i++)
		if (str_eq(spec->options.items[i].long_name, name))
			return given->options[i];
	for (size_t i = 0; i < spec->arguments.len; i++)
		if (str_eq(spec->arguments.items[i].long_name, name))
			return given->arguments[i];
	return NULL;
}

/* -p: what is traced ends with the process. */
static int follow_process(const struct tool_run *t, const struct tool_spec *spec,
			  const struct tool_given *given)
{
	const char *text = given_text(spec, given, "pid");
	u64 pid;

	if (!text)
		return EXIT_OK;
	if (parse_u64(text, &pid) || !pid || pid > INT32_MAX)
		return options_usage_error(t->command, "-p takes a process, not '%s'", text);
	t->request->ends_with = (pid_t)pid;
	return EXIT_OK;
}

static int count_by_tracer(const struct command_spec *command, const struct tool_spec *spec,
			   const struct tool_values *values)
{
	const struct tool_given *g = &values->given;
	const char *interval = given_text(spec, g, "interval"), *top = given_text(spec, g, "top");
	const struct count_request request = {
		.functions = given_text(spec, g, "functions"),
		.pid = given_text(spec, g, "pid"),
		.duration = values->duration,
		.output = values->output,
		.interval_ns = interval ? strtoull(interval, NULL, 10) * 1000000 : 0,
		.top = top ? strtoull(top, NULL, 0) : 0,
		.timestamp = given_text(spec, g, "timestamp") != NULL,
		.is_json = values->json,
		.keep_privileges = values->keep_privileges,
	};

	if (given_text(spec, g, "user"))
		return options_usage_error(
			command, "-F counts functions of the kernel, not those of a file (-u)");
	return tool_count(command, &request);
}

/* Asked for, or without being asked: where nothing is asked that only a program in the kernel does
 * exactly (-p). */
static bool counts_by_tracer(const struct tool_spec *spec, const struct tool_given *g)
{
	for (size_t i = 0; i < spec->options.len; i++)
		if (str_eq(spec->options.items[i].long_name, "function-tracer"))
			return g->options[i] ||
			       (!given_text(spec, g, "user") && !given_text(spec, g, "pid") &&
				tool_count_is_better(given_text(spec, g, "functions")));
	return false;
}

static int run_tool(struct arena *a, const struct embedded_tool *tool, const struct tool_spec *spec,
		    int argc, char **argv)
{
	const struct command_spec command = {
		.name = spec->name,
		.synopsis = arena_printf(a, "%s [-- COMMAND [ARGUMENT...]]", spec->usage),
		.summary = spec->summary,
		.examples = example_text(a, spec),
		.fields = field_table(a, spec),
		.options = option_table(a, spec),
		.command = strstr(tool->text, "COMMAND_ONLY") ? COMMAND_TRACED : COMMAND_BESIDE,
		.fits_terminal = true,
		.stop_at_argument = takes_command(spec),
	};
	const char **words = arena_new_array(a, const char *, spec->options.len + 1);
	struct row_style style = {0};
	struct tool_values values = {0};
	struct run_request r = {
		.name = tool->name, .named = words, .is_tool = true, .rows = &style};
	struct tool_heatmap heatmap = {0};
	const struct tool_run t = {.command = &command,
				   .arena = a,
				   .request = &r,
				   .words = words,
				   .script = tool->text,
				   .title = command_line(a, argc, argv),
				   .heatmap = &heatmap};
	const int words_end = options_end(argc, argv);
	int first, rc = options_parse(&command, words_end, argv, &values, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (words_end + 1 == argc)
		return options_usage_error(&command, "a command is missing behind '--'");
	if (words_end < argc) {
		r.words = argv + words_end + 1;
		values.given.has_command = true;
	}
	for (size_t i = 0; i < spec->hidden.len; i++)
		vector_push(&style.hidden, spec->hidden.items[i]);
	r.is_json = values.json;
	r.keep_privileges = values.keep_privileges;
	r.output = values.output;
	rc = apply_duration(&command, values.duration, &r);
	if (!rc)
		rc = apply_options(&t, spec, &values.given);
	if (!rc)
		rc = apply_arguments(&t, spec, words_end, argv, first, &values.given);
	if (!rc)
		rc = follow_process(&t, spec, &values.given);
	/* As with the originals: who says how long is in no hurry to see, and rows written together
	 * are cheap. */
	if (r.duration_ns && !has_interval(spec))
		r.buffering = OUTPUT_FULL;
	if (!rc && (is_given(spec, &values.given, TOOL_LIST) ||
		    is_given(spec, &values.given, TOOL_FORMAT))) {
		rc = tool_list_events(a, spec, values.given.arguments[0],
				      is_given(spec, &values.given, TOOL_FORMAT));
	} else if (!rc && spec->arguments.len && spec->arguments.items[0].effect == TOOL_EVENTS &&
		   !values.given.arguments[0]) {
		rc = options_usage_error(&command, "%s is missing", "TRACEPOINT");
	} else if (!rc && counts_by_tracer(spec, &values.given)) {
		rc = count_by_tracer(&command, spec, &values);
	} else if (!rc && !(rc = tool_check(spec, &values.given))) {
		if (isatty(STDERR_FILENO))
			r.announcement = tool_announcement(
				a, spec, &values.given, r.words ? r.words[0] : NULL, r.duration_ns);
		style.width = values.json || values.output ? 0 : terminal_width(STDOUT_FILENO);
		r.text = tool_text(a, spec, &values.given, tool->text);
		r.len = r.text ? strlen(r.text) : 0;
		rc = r.text ? tool_check_need(a, spec) : EXIT_FAILED;
		if (!rc)
			rc = run_script(&r);
	}
	rc = close_heatmap(&t, rc);
	row_style_release(&style);
	return rc;
}

int cmd_tool(const struct embedded_tool *tool, int argc, char **argv)
{
	struct arena arena = ARENA_INIT;
	struct tool_spec spec;
	int rc = EXIT_FAILED;

	if (tool_parse(&arena, tool->text, &spec) ||
	    spec.options.len > ARRAY_SIZE(((struct tool_given *)0)->options) ||
	    spec.arguments.len > ARRAY_SIZE(((struct tool_given *)0)->arguments))
		fprintf(stderr, "pantrace: the tool %s is malformed\n", tool->name);
	else
		rc = run_tool(&arena, tool, &spec, argc, argv);
	tool_spec_release(&spec);
	arena_release(&arena);
	return rc;
}
