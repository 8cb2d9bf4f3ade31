/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a single-purpose tool: its declaration becomes an option table, its options become getopt()
 * values. */
#include <unistd.h>

#include "cmd/tools/count.h"
#include "cmd/tools/options.h"
#include "kernel/sandbox/sandbox.h"
#include "view/width.h"

struct tool_values {
	struct run_config run;
	const char *engine;
	struct tool_given given;
};

/* Rows that every tool has. */
static const struct option_spec common_options[] = {
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 offsetof(struct tool_values, run.duration_ns)},
	{'j', "json", NULL, "one JSON object per row", OPTION_FLAG,
	 offsetof(struct tool_values, run.is_json)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING,
	 offsetof(struct tool_values, run.output)},
	{0, "from", "FILE", "from this recording of its events instead of live (may be repeated)",
	 OPTION_LIST, offsetof(struct tool_values, run.from)},
	{0, "engine", "kernel|user",
	 "where it runs: in the kernel (the default), or in pantrace, over events of a trace "
	 "buffer, where bpf(2) is refused",
	 OPTION_STRING, offsetof(struct tool_values, engine)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG,
	 offsetof(struct tool_values, run.keep_privileges)},
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

/* "pantrace iolatency -d loop0 1 10" */
static const char *command_line(struct arena *a, int argc, char **argv)
{
	const char *line = "pantrace";

	for (int i = 0; i < argc; i++)
		line = arena_printf(a, "%s %s", line, argv[i]);
	return line;
}

static int choose_engine(const struct tool_run *t, const char *engine)
{
	t->request->in_user_space = engine && str_eq(engine, "user");
	if (engine && !t->request->in_user_space && !str_eq(engine, "kernel"))
		return options_usage_error(t->command, "--engine is kernel or user, not '%s'",
					   engine);
	if (t->request->in_user_space && t->request->from.count)
		return options_usage_error(t->command, "--from reads a recording, --engine user a "
						       "trace buffer; choose one");
	return EXIT_OK;
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

/* Does it print reports at an interval? */
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
	const char *value;

	tool_find_option(spec, given, name, &value);
	return value;
}

/* -p: what is traced ends with the process. */
static int follow_process(const struct tool_run *t, const struct tool_spec *spec,
			  const struct tool_given *given)
{
	const char *text = given_text(spec, given, "pid");

	if (text && parse_value(OPTION_PID, text, &t->request->ends_with))
		return options_usage_error(t->command, "-p takes a process, not '%s'", text);
	if (t->request->from.count) /* which may have ended long ago */
		t->request->ends_with = 0;
	return EXIT_OK;
}

static int count_by_tracer(const struct command_spec *command, const struct tool_spec *spec,
			   const struct tool_given *g, const struct run_config *r)
{
	const char *interval = given_text(spec, g, "interval"), *top = given_text(spec, g, "top");
	struct count_request request = {
		.functions = given_text(spec, g, "functions"),
		.common = {.pid = r->ends_with,
			   .duration_ns = r->duration_ns,
			   .output = r->output,
			   .json = r->is_json,
			   .keep_privileges = r->keep_privileges},
		.interval_ns = interval ? strtoull(interval, NULL, 10) * 1000000 : 0,
		.top = top ? strtoull(top, NULL, 0) : 0,
		.timestamp = given_text(spec, g, "timestamp") != NULL,
	};

	if (given_text(spec, g, "user"))
		return options_usage_error(
			command, "-F counts functions of the kernel, not those of a file (-u)");
	return tool_count(command, &request);
}

/* With -F, or by default if nothing is asked that only BPF does exactly (-p). */
static bool counts_by_tracer(const struct tool_spec *spec, const struct tool_given *g)
{
	const char *asked;

	if (!tool_find_option(spec, g, "function-tracer", &asked))
		return false;
	return asked || (!given_text(spec, g, "user") && !given_text(spec, g, "pid") &&
			 tool_count_is_better(given_text(spec, g, "functions")));
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
	struct tool_values values = {.run = {.name = tool->name,
					     .input = {.named = words},
					     .is_tool = true,
					     .rows = &style}};
	struct run_config *const r = &values.run;
	struct tool_heatmap heatmap = {0};
	const struct tool_run t = {.command = &command,
				   .arena = a,
				   .request = r,
				   .words = words,
				   .script = tool->text,
				   .title = command_line(a, argc, argv),
				   .heatmap = &heatmap};
	int first, rc = options_command(&command, &argc, argv, &r->words);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&command, argc, argv, &values, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	values.given.has_command = r->words != NULL;
	for (size_t i = 0; i < spec->hidden.len; i++)
		vector_push(&style.hidden, spec->hidden.items[i]);
	rc = tool_apply_options(&t, spec, &values.given);
	if (!rc)
		rc = tool_apply_arguments(&t, spec, argc, argv, first, &values.given);
	if (!rc)
		rc = follow_process(&t, spec, &values.given);
	if (!rc)
		rc = choose_engine(&t, values.engine);
	/*
	 * As with the original tools: with a duration nobody waits for single rows, and rows
	 * written together are cheap.
	 */
	if (r->duration_ns && !has_interval(spec))
		r->buffering = OUTPUT_FULL;
	if (!rc && (is_given(spec, &values.given, TOOL_LIST) ||
		    is_given(spec, &values.given, TOOL_FORMAT))) {
		rc = tool_list_events(a, spec, values.given.arguments[0],
				      is_given(spec, &values.given, TOOL_FORMAT));
	} else if (!rc && spec->arguments.len && spec->arguments.items[0].effect == TOOL_EVENTS &&
		   !values.given.arguments[0]) {
		rc = options_usage_error(&command, "%s is missing", "TRACEPOINT");
	} else if (!rc && r->from.count && r->words) {
		rc = options_usage_error(&command, "--from reads a recording: no command runs");
	} else if (!rc && !r->from.count && !values.engine &&
		   counts_by_tracer(spec, &values.given)) {
		rc = count_by_tracer(&command, spec, &values.given, r);
	} else if (!rc && (r->from.count || !(rc = tool_check(spec, &values.given)))) {
		if (isatty(STDERR_FILENO) && !r->from.count)
			r->announcement =
				tool_announcement(a, spec, &values.given,
						  r->words ? r->words[0] : NULL, r->duration_ns);
		style.width = r->is_json || r->output ? 0 : terminal_width(STDOUT_FILENO);
		r->text = tool_text(a, spec, &values.given, tool->text);
		r->len = r->text ? strlen(r->text) : 0;
		rc = !r->text				 ? EXIT_FAILED
		     : r->from.count || r->in_user_space ? EXIT_OK
							 : tool_check_need(a, spec);
		if (!rc)
			rc = run_script(r);
	}
	rc = tool_close_heatmap(&t, rc);
	free(r->from.items);
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
		complain(NULL, "the tool %s is malformed", tool->name);
	else
		rc = run_tool(&arena, tool, &spec, argc, argv);
	tool_spec_release(&spec);
	arena_release(&arena);
	return rc;
}
