/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/hist/hist.h"

#include <stdio.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/options.h"
#include "base/process.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/sandbox/sandbox.h"
#include "probe/definition/definition.h"

#define O(field) offsetof(struct hist_options, field)
static const struct option_spec hist_table[] = {
	{0, NULL, NULL, "What to count", OPTION_HEADING, 0},
	{'k', "keys", "FIELDS", "count by these fields, as keys= of a specification", OPTION_STRING,
	 O(keys)},
	{'v', "vals", "FIELDS", "sum these fields up, as vals=", OPTION_STRING, O(values)},
	{'f', "filter", "FILTER", "only these events, as 'if FILTER'", OPTION_STRING, O(filter)},
	{'e', "event", "DEFINITION",
	 "make this dynamic event first: 'p:NAME FUNCTION FIELD=%di VARIABLE...' (may be repeated)",
	 OPTION_LIST, O(definitions)},
	{'p', "pid", "PID", "only events of this process", OPTION_PID, O(config.ends_with)},
	{0, "size", "ENTRIES", "room for so many keys (default 2048)", OPTION_STRING, O(size)},
	{0, NULL, NULL, "Latency between two events", OPTION_HEADING, 0},
	{0, "from", "EVENT", "from this event ...", OPTION_STRING, O(from)},
	{0, "to", "EVENT",
	 "... to this one, whose fields can be keys, beside `latency` in microseconds",
	 OPTION_STRING, O(to)},
	{'m', "match", "FIELD[=FIELD]",
	 "that has the same number in this field (of the first and of the second event)",
	 OPTION_STRING, O(match)},
	{0, NULL, NULL, "Reports", OPTION_HEADING, 0},
	{'s', "sort", "FIELDS",
	 "order of the rows: FIELD[.descending],..., as sort=", OPTION_STRING, O(sort)},
	{'t', "top", "COUNT", "only the last rows in this order", OPTION_U64, O(top)},
	{'i', "interval", "SECONDS", "a report each interval", OPTION_SECONDS, O(interval_ns)},
	{'c', "clear", NULL, "start again from zero after each report", OPTION_FLAG, O(clear)},
	{'d', "duration", "SECONDS", "end by itself after this time", OPTION_SECONDS,
	 O(config.duration_ns)},
	{'K', "kernel-layout", NULL, "print as the kernel's hist files do", OPTION_FLAG,
	 O(as_kernel)},
	{'j', "json", NULL, "one JSON object per report", OPTION_FLAG, O(config.is_json)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG, O(config.keep_privileges)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING, O(config.output)},
	{0, NULL, NULL, "Running", OPTION_HEADING, 0},
	{'n', "name", "NAME",
	 "can be controlled under this name: pantrace hist show|pause|continue|clear|stop NAME",
	 OPTION_STRING, O(name)},
	{0, "engine", "kernel|bpf|auto",
	 "kernel (histogram triggers), bpf, or auto (default: kernel where it has them)",
	 OPTION_STRING, O(engine)},
	{0},
};

static const struct command_spec hist_command = {
	.name = "hist",
	.synopsis = "[options] EVENT keys=FIELD[.FORM],...[:vals=FIELD,...][:sort=FIELD][:size=N] "
		    "[if FILTER] [-- COMMAND]",
	.summary = "Counts and sums by keys in the kernel, as its histogram triggers do, with or "
		   "without them.",
	.examples =
		"  pantrace hist syscalls:sys_enter_read keys=common_pid.execname:vals=count   "
		" bytes asked for, by process\n"
		"  pantrace hist raw_syscalls:sys_enter keys=id.syscall -d 5                   "
		" system calls, for 5 seconds\n"
		"  pantrace hist kmem:kmalloc "
		"keys=call_site.sym:vals=bytes_alloc:sort=bytes_alloc.descending\n"
		"  pantrace hist block:block_rq_issue keys=bytes.log2 if 'dev == 0x800000'     "
		" sizes as powers of two\n"
		"  pantrace hist --from sched:sched_waking --to sched:sched_switch -m "
		"pid=next_pid keys=latency.log2\n"
		"  pantrace hist -e 'p:reads vfs_read size=%dx' reads keys=size.buckets=4096   "
		" a dynamic event\n"
		"  pantrace hist -e 'p:pays ./shop:pay sum buyer->id' pays keys=id vals=sum      "
		" variables by name\n"
		"  pantrace hist sched:sched_process_exec keys=filename -- make                "
		" while a command runs\n",
	.details = "A specification is that of the kernel's triggers "
		   "(Documentation/trace/histogram.rst): parts with colons or blanks between them. "
		   "Keys are up to three fields of the event, common_pid, cpu, common_timestamp, "
		   "stacktrace. Forms of keys: .hex .sym .sym-offset .log2 .buckets=N .execname "
		   ".syscall .usecs, .string (the string that a pointer of the process points to); "
		   "of values: .hex .percent .graph. name=NAME joins the histograms of several "
		   "events. pause: starts paused (-n).",
	.options = hist_table,
	.command = COMMAND_BESIDE,
	.fits_terminal = true,
};

/* ---- the command line ---- */

/* Words that continue the specification before them. */
static bool is_part(const char *word)
{
	static const char *const begins[] = {
		"hist", "key", "val", "sort=", "size=", "name=", "pause", "if ", ":"};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (str_starts(word, begins[i]) &&
		    (begins[i][0] != 'h' || word[4] == ':' || !word[4]) &&
		    (begins[i][0] != 'p' || !word[5] || word[5] == ':') &&
		    ((begins[i][0] != 'k' && begins[i][0] != 'v') || strchr(word, '=')))
			return true;
	return str_eq(word, "if");
}

/* Adds the options to every specification that does not set the same part itself. */
static void add_options(const struct hist_options *o, struct strbuf *text)
{
	const struct {
		const char *word, *value;
	} parts[] = {{"keys=", o->keys},
		     {"vals=", o->values},
		     {"size=", o->size},
		     {"sort=", o->sort},
		     {"if ", o->filter}};
	const bool filtered = strstr(text->data, " if ") != NULL;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].value && !filtered)
			strbuf_addf(text, " %s%s", parts[i].word, parts[i].value);
}

static int add_spec(struct hist_run *run, struct strbuf *text)
{
	struct hist_spec s;
	int err;

	add_options(run->o, text);
	err = hist_spec_parse(run->arena, run->diag, arena_strdup(run->arena, text->data), true,
			      &s);
	if (!err)
		vector_push(&run->specs, s);
	strbuf_reset(text);
	return err;
}

/* argv[first..last) */
static int parse_specs(struct hist_run *run, char **argv, int first, int last)
{
	struct strbuf text = STRBUF_INIT;
	bool in_filter = false;
	int err = 0;

	if (run->o->to)
		strbuf_addstr(&text, run->o->to);
	for (int i = first; i < last && !err; i++) {
		if (text.len && !in_filter && !is_part(argv[i]))
			err = add_spec(run, &text);
		if (text.len)
			strbuf_addch(&text, ' ');
		strbuf_addstr(&text, argv[i]);
		in_filter = str_eq(argv[i], "if") || (in_filter && !strchr(argv[i], ':'));
	}
	if (!err && text.len)
		err = add_spec(run, &text);
	if (!err && !run->specs.len) { /* '' */
		diag_error(run->diag, NO_SPAN, "an event and keys are missing");
		diag_hint(run->diag, "`pantrace hist --help` has examples");
		err = -EINVAL;
	}
	strbuf_release(&text);
	return err;
}

static int parse_latency(struct hist_run *run)
{
	const struct hist_options *o = run->o;
	struct hist_latency *l = &run->latency;
	char *from, *match;

	if (!o->from && !o->to && !o->match)
		return EXIT_OK;
	if (!o->from || !o->to || !o->match)
		return options_usage_error(&hist_command,
					   "--from, --to and --match belong together");
	from = arena_strdup(run->arena, event_name_bare(o->from));
	l->from_at = (struct span){0, (u32)strlen(from),
				   diag_add_source(run->diag, "--from", o->from, strlen(o->from))};
	l->from_event = from;
	if (strpbrk(from, ":/")) {
		l->from_system = from;
		from = strpbrk(from, ":/");
		*from++ = '\0';
		l->from_event = from;
	}
	match = arena_strdup(run->arena, o->match);
	l->match_at =
		(struct span){0, (u32)strlen(match),
			      diag_add_source(run->diag, "--match", o->match, strlen(o->match))};
	l->from_field = l->to_field = match;
	if (strchr(match, '=')) {
		match = strchr(match, '=');
		*match++ = '\0';
		l->to_field = match;
	}
	return EXIT_OK;
}

/* *ret_kernel: whether the kernel's triggers are used. */
static int choose_engine(struct hist_run *run, const char *word, bool *ret_kernel)
{
	const char *why;

	*ret_kernel = hist_kernel_can(run, &why) && !(word && str_eq(word, "bpf"));
	if (*ret_kernel || !word || !str_eq(word, "kernel"))
		return 0;
	diag_error(run->diag, NO_SPAN, "the kernel's histogram triggers cannot do this: %s", why);
	diag_hint(run->diag, "--engine bpf counts with a BPF program");
	diag_code(run->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

/* Variables by name become fetch arguments first, as the kernel's own probes have them. */
static int define_for_bpf(struct hist_run *run, const struct definition_request *r,
			  struct hist_definition *ret)
{
	char *translated;
	int err = definition_translate(run->kernel, run->diag, r, &translated);

	if (err >= 0)
		err = hist_definition_parse(
			run->arena, run->diag, run->types,
			translated ? arena_strdup(run->arena, translated) : r->text, true, ret);
	free(translated);
	return err;
}

static int make_definitions(struct hist_run *run, bool kernel)
{
	const struct string_list *definitions = &run->o->definitions;
	int err = 0;

	run->definitions =
		arena_new_array(run->arena, struct hist_definition, definitions->count + 1);
	if (kernel)
		run->events = dynamic_events_new(run->kernel, run->diag);
	for (u32 i = 0; i < definitions->count && !err; i++) {
		struct hist_definition *definition = &run->definitions[run->ndefinitions++];
		struct definition_request request = {.text = definitions->items[i],
						     .pid = run->o->config.ends_with};
		struct definition_result made = {0};

		err = hist_definition_parse(run->arena, run->diag, run->types, request.text, false,
					    definition);
		request.is_user = definition->is_user;
		if (!err && !kernel)
			err = define_for_bpf(run, &request, definition);
		if (err || !kernel)
			continue;
		err = definition_make(run->kernel, run->diag, run->events, &request, &made);
		if (!err && made.count > 1) {
			diag_error(run->diag, NO_SPAN, "'%s' is %u events, a histogram is of one",
				   request.text, made.count);
			diag_hint(run->diag,
				  "name one function, or --engine bpf counts all of them together");
			err = -EINVAL;
		}
		definition_result_release(&made);
	}
	return err;
}

static void say_what(const struct hist_run *run)
{
	if (!isatty(STDERR_FILENO))
		return;
	fputs("Tracing ", stderr);
	for (size_t i = 0; i < run->specs.len; i++)
		fprintf(stderr, "%s%s%s%s", i ? ", " : "",
			run->specs.items[i].system ? run->specs.items[i].system : "",
			run->specs.items[i].system ? ":" : "", run->specs.items[i].event);
	if (run->latency.from_event)
		fprintf(stderr, "from %s", run->latency.from_event);
	fputs(". Ctrl-C to end.\n", stderr);
}

static int run_hist(struct hist_run *run)
{
	const struct hist_options *o = run->o;
	int code = EXIT_FAILED;
	bool kernel;
	int err = choose_engine(run, o->engine, &kernel);

	if (!err)
		err = make_definitions(run, kernel);
	for (size_t i = 0; i < run->specs.len && !err; i++)
		err = hist_resolve_spec(run, &run->specs.items[i]);
	if (!err && run->latency.from_event)
		err = hist_resolve_latency(run);
	if (!err)
		err = hist_make_tables(run);
	if (!err && (o->name || o->interval_ns))
		err = hist_control_open(&run->control, run->diag, o->name, o->interval_ns);
	if (!err)
		say_what(run);
	if (!err)
		code = kernel ? hist_run_kernel(run) : hist_run_bpf(run);
	if (run->control)
		hist_control_close(run->control);
	dynamic_events_release(run->events);
	for (u32 i = 0; i < run->ntables; i++)
		hist_table_release(&run->tables[i]);
	if (err)
		code = (int)diag_exit_code(run->diag);
	return err && !code ? EXIT_FAILED : code;
}

/* "stop NAME" and the like; -1 = it is none of them. */
static int send_order(int argc, char **argv)
{
	struct nearest near;

	if (argc < 3 || *argv[1] == '-' || strpbrk(argv[1], ":/"))
		return -1;
	nearest_init(&near, argv[1]);
	for (u32 i = HIST_SHOW; hist_order_words[i]; i++) {
		if (str_eq(argv[1], hist_order_words[i]))
			return hist_control_send(argv[2], (enum hist_order)i);
		nearest_offer(&near, hist_order_words[i]);
	}
	if (argc > 3 || !*near.best[0] || strchr(argv[2], '='))
		return -1;
	return options_usage_error(&hist_command, "there is no command '%s'%s", argv[1],
				   nearest_question(&near));
}

static int check_options(const struct hist_options *o, struct diag *d)
{
	if (o->config.is_json && o->as_kernel)
		return options_usage_error(
			&hist_command, "--json and --kernel-layout are two formats; choose one");
	if (o->engine && !str_eq(o->engine, "auto") && !str_eq(o->engine, "bpf") &&
	    !str_eq(o->engine, "kernel"))
		return options_usage_error(&hist_command,
					   "--engine is kernel, bpf or auto, not '%s'", o->engine);
	if (!o->config.ends_with || process_exists(o->config.ends_with))
		return EXIT_OK;
	diag_error(d, NO_SPAN, "there is no process %d (-p)", (int)o->config.ends_with);
	return EXIT_FAILED;
}

int cmd_hist(int argc, char **argv)
{
	struct arena arena = ARENA_INIT;
	struct diag diag = DIAG_INIT;
	struct type_store types;
	struct hist_options o = {0};
	struct hist_run run = {.o = &o, .arena = &arena, .diag = &diag, .types = &types};
	int first, rc = send_order(argc, argv);

	if (rc >= 0)
		return rc;
	rc = options_command(&hist_command, &argc, argv, &o.config.words);
	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&hist_command, argc, argv, &o, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	type_store_init(&types);
	run.kernel = kernel_new();
	rc = check_options(&o, &diag);
	if (!rc)
		rc = parse_latency(&run);
	if (!rc && first >= argc && !o.to)
		rc = options_usage_error(&hist_command, "an event and keys are missing");
	if (!rc)
		rc = parse_specs(&run, argv, first, argc) ? EXIT_FAILED : run_hist(&run);
	diag_tell(&diag);
	vector_free(&run.specs);
	free(o.definitions.items);
	kernel_release(run.kernel);
	type_store_release(&types);
	diag_release(&diag);
	arena_release(&arena);
	return rc;
}
