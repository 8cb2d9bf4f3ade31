/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a single-purpose tool: its declaration becomes an option table, its options become getopt()
 * values. */
#include "cmd/run.h"
#include "cmd/tools.h"

struct tool_values {
	const char *duration, *output;
	bool json;
	/* One entry per option of the tool: the value, "" for a flag that is set, NULL for not
	 * given. */
	const char *given[32];
};

/* Rows that every tool has. */
static const struct option_spec common_options[] = {
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_STRING,
	 offsetof(struct tool_values, duration)},
	{'j', "json", NULL, "one JSON object per row", OPTION_FLAG,
	 offsetof(struct tool_values, json)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING,
	 offsetof(struct tool_values, output)},
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
			.offset = offsetof(struct tool_values, given) + i * sizeof(char *),
		};
	}
	memcpy(table + n, common_options, sizeof(common_options));
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

static const char *field_text(struct arena *a, const struct tool_spec *spec)
{
	struct strbuf sb = STRBUF_INIT;
	char *text;

	if (spec->fields.len)
		strbuf_addstr(&sb, "Columns:\n");
	for (size_t i = 0; i < spec->fields.len; i++)
		strbuf_addf(&sb, "  %-10s %s\n", spec->fields.items[i].name,
			    spec->fields.items[i].meaning);
	text = arena_strdup(a, sb.data);
	strbuf_release(&sb);
	return text;
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

/* One option or argument that was given. Appends "--name=value" for the script. 0 or an exit code.
 */
static int apply_option(const struct command_spec *command, const struct tool_option *o,
			const char *value, struct arena *a, struct run_request *r,
			const char **words)
{
	u64 number;

	switch (o->effect) {
	case TOOL_MATCH:
		return row_style_match(r->rows, o->column, value) ? EXIT_OK : EXIT_USAGE;
	case TOOL_SHOW:
		show_column(r->rows, o->column);
		break;
	case TOOL_LIMIT:
		if (parse_u64(value, &number) || !number)
			return options_usage_error(command, "--%s takes a number, not '%s'",
						   o->long_name, value);
		r->rows->limited_column = o->column;
		r->rows->limit = number;
		break;
	case TOOL_GETOPT:
		if (o->value && parse_u64(value, &number))
			return options_usage_error(command, "--%s takes a number, not '%s'",
						   o->long_name, value);
		break;
	case TOOL_COMMAND:
		break;
	}
	words[r->npositional++] = o->value ? arena_printf(a, "--%s=%s", o->long_name, value)
					   : arena_printf(a, "--%s", o->long_name);
	return EXIT_OK;
}

static int apply_arguments(const struct command_spec *command, const struct tool_spec *spec,
			   int argc, char **argv, int first, struct run_request *r)
{
	const struct tool_option *o = &spec->argument;

	if (first >= argc)
		return EXIT_OK;
	if (!o->long_name)
		return options_usage_error(command, "'%s' is one word too many", argv[first]);
	if (o->effect == TOOL_COMMAND) {
		r->words = argv + first;
		return EXIT_OK;
	}
	if (first + 1 < argc)
		return options_usage_error(command, "'%s' is one word too many", argv[first + 1]);
	return row_style_match(r->rows, o->column, argv[first]) ? EXIT_OK : EXIT_USAGE;
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

static int run_tool(struct arena *a, const struct embedded_tool *tool, const struct tool_spec *spec,
		    int argc, char **argv)
{
	const struct command_spec command = {
		.name = spec->name,
		.synopsis = spec->usage,
		.summary = spec->summary,
		.examples = example_text(a, spec),
		.details = field_text(a, spec),
		.options = option_table(a, spec),
		.stop_at_argument = spec->argument.effect == TOOL_COMMAND,
	};
	const char **words = arena_new_array(a, const char *, spec->options.len + 1);
	struct row_style style = {0};
	struct tool_values values = {0};
	struct run_request r = {
		.name = tool->name,
		.text = tool->text,
		.len = tool->len,
		.positional = words,
		.is_tool = true,
		.rows = &style,
	};
	int first, rc = options_parse(&command, argc, argv, &values, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	for (size_t i = 0; i < spec->hidden.len; i++)
		vector_push(&style.hidden, spec->hidden.items[i]);
	r.is_json = values.json;
	r.output = values.output;
	rc = apply_duration(&command, values.duration, &r);
	for (size_t i = 0; i < spec->options.len && !rc; i++)
		if (values.given[i])
			rc = apply_option(&command, &spec->options.items[i], values.given[i], a, &r,
					  words);
	if (!rc)
		rc = apply_arguments(&command, spec, argc, argv, first, &r);
	if (!rc)
		rc = run_script(&r);
	row_style_release(&style);
	return rc;
}

int cmd_tool(const struct embedded_tool *tool, int argc, char **argv)
{
	struct arena arena = ARENA_INIT;
	struct tool_spec spec;
	int rc = EXIT_FAILED;

	if (tool_parse(&arena, tool->text, &spec) ||
	    spec.options.len > ARRAY_SIZE(((struct tool_values *)0)->given))
		fprintf(stderr, "pantrace: the tool %s is malformed\n", tool->name);
	else
		rc = run_tool(&arena, tool, &spec, argc, argv);
	tool_spec_release(&spec);
	arena_release(&arena);
	return rc;
}
