/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a tool's script for what the user gave: macros, %{names}, blocks for each event (see
 * tools.h). */
#include <ctype.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "cmd/tools/tools.h"
#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/tracefs.h"

#define MAX_EVENTS 8192
#define MAX_FIELDS 60 /* fields of an event; more do not fit in a row */

struct tool_texter {
	struct arena *arena;
	const struct tool_spec *spec;
	const struct tool_given *given;
	struct kernel *kernel;
	VECTOR(const char *) events; /* SYSTEM:EVENT */
	bool failed;
};

/* ---- macros ---- */

static const char *macro_name(struct arena *a, const char *prefix, const char *name)
{
	char *s = arena_printf(a, "%s_%s", prefix, name);

	for (char *p = s; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return s;
}

static void add_quoted(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '"');
	for (; *text; text++) {
		if (*text == '\n') {
			strbuf_addstr(out, "\\n");
			continue;
		}
		if (*text == '"' || *text == '\\')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
	strbuf_addch(out, '"');
}

/* Is the value text that was not parsed? "/opt/3rd/lib.so" cannot be tokens of a script. */
static bool is_text(enum tool_effect effect)
{
	return effect == TOOL_TEXT || effect == TOOL_NAME || effect == TOOL_MATCH ||
	       effect == TOOL_GLOB || effect == TOOL_HEATMAP || effect == TOOL_DURATION ||
	       effect == TOOL_EVENT || effect == TOOL_FIELD;
}

static void define(const struct tool_texter *t, struct strbuf *out, const char *prefix,
		   const struct tool_option *o, const char *value)
{
	struct diag d = DIAG_INIT; /* it was checked before */

	if (!value || o->effect == TOOL_COMMAND || o->effect == TOOL_PROBES ||
	    o->effect == TOOL_EVENTS)
		return;
	strbuf_addf(out, "#define %s ", macro_name(t->arena, prefix, o->long_name));
	if (is_text(o->effect))
		add_quoted(out, value);
	else if (o->effect == TOOL_FILTER)
		tool_filter(t->spec, t->given, t->kernel, value, &d, out);
	else
		strbuf_addstr(out, *value && o->effect != TOOL_NUMBERS ? value : "1");
	strbuf_addch(out, '\n');
	diag_release(&d);
}

static int found(void *arg, const char *category, const char *event)
{
	*(bool *)arg = true;
	return 0;
}

/*
 * Does the kernel have this tracepoint, and a field of this name in it? kprobe:FUNCTION: can it be
 * probed?
 */
static bool have(const struct tool_texter *t, const char *tracepoint)
{
	char *copy = arena_strdup(t->arena, tracepoint), *save, *format;
	const char *system, *event, *field;
	bool is_there = false;

	strtok_r(copy, ":", &save);
	system = strtok_r(NULL, ":", &save);
	event = strtok_r(NULL, ":", &save);
	field = strtok_r(NULL, ":", &save);
	if (str_starts(tracepoint, "kprobe:"))
		return kernel_ask(t->kernel, KERNEL_KPROBES)->yes &&
		       kernel_symbol_address(t->kernel, system);
	if (!event)
		return false;
	if (!field) {
		tracefs_each_event(t->kernel, system, event, found, &is_there);
		return is_there;
	}
	if (tracefs_event_format(t->kernel, system, event, &format))
		return false;
	is_there = strstr(format, arena_printf(t->arena, " %s;", field)) != NULL;
	free(format);
	return is_there;
}

int tool_check_need(struct arena *a, const struct tool_spec *spec)
{
	struct tool_texter t = {.arena = a, .spec = spec, .kernel = kernel_new()};
	char *words = spec->need.name ? arena_strdup(a, spec->need.name) : NULL, *save;
	bool has_one = !words;

	for (char *w = words ? strtok_r(words, " ", &save) : NULL; w && !has_one;
	     w = strtok_r(NULL, " ", &save))
		for (size_t i = 0; i < spec->haves.len && !has_one; i++)
			has_one = str_eq(spec->haves.items[i].name, w) &&
				  have(&t, spec->haves.items[i].meaning);
	kernel_release(t.kernel);
	if (has_one)
		return 0;
	complain(spec->name, "%s", spec->need.meaning);
	return EXIT_UNSUPPORTED;
}

/* The command and all its descendants. */
static const char command_only[] = "#define HAS_COMMAND 1\n"
				   "#define COMMAND_ONLY (pid == cpid || has_key(@family, pid))\n";
static const char command_family[] = "\ntracepoint:sched:sched_process_fork /COMMAND_ONLY/\n"
				     "{ @family[(uint32)args.child_pid] = 1; }\n";

static void add_macros(const struct tool_texter *t, struct strbuf *out)
{
	const struct tool_spec *spec = t->spec;

	for (size_t i = 0; i < spec->options.len; i++)
		define(t, out, "OPT", &spec->options.items[i], t->given->options[i]);
	for (size_t i = 0; i < spec->arguments.len; i++)
		define(t, out, "ARG", &spec->arguments.items[i], t->given->arguments[i]);
	strbuf_addstr(out, t->given->has_command ? command_only : "#define COMMAND_ONLY 1\n");
	for (size_t i = 0; i < spec->haves.len; i++)
		if (have(t, spec->haves.items[i].meaning))
			strbuf_addf(out, "#define HAVE_%s 1\n", spec->haves.items[i].name);
}

/* ---- names ---- */

const struct tool_option *tool_find_option(const struct tool_spec *spec,
					   const struct tool_given *given, const char *name,
					   const char **ret_value)
{
	const struct {
		const struct tool_option *rows;
		size_t n;
		const char *const *values;
	} lists[] = {{spec->options.items, spec->options.len, given->options},
		     {spec->arguments.items, spec->arguments.len, given->arguments}};

	*ret_value = NULL;
	for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; i < lists[l].n; i++)
			if (str_eq(lists[l].rows[i].long_name, name)) {
				*ret_value = lists[l].values[i];
				return &lists[l].rows[i];
			}
	return NULL;
}

static const struct tool_option *find(const struct tool_texter *t, const char *name,
				      const char **ret_value)
{
	return tool_find_option(t->spec, t->given, name, ret_value);
}

/* A prefix, in which <NAME> is the text of an option. */
static void add_prefix(const struct tool_texter *t, struct strbuf *out, const char *prefix)
{
	while (*prefix) {
		const char *end = *prefix == '<' ? strchr(prefix, '>') : NULL, *value;

		if (!end) {
			strbuf_addch(out, *prefix++);
			continue;
		}
		find(t, arena_strndup(t->arena, prefix + 1, (size_t)(end - prefix) - 1), &value);
		strbuf_addstr(out, value ? value : "");
		prefix = end + 1;
	}
}

static void add_list(const struct tool_texter *t, struct strbuf *out, const char *list,
		     const char *prefix)
{
	char *save, *word;
	bool first = true;

	for (word = strtok_r(arena_strdup(t->arena, list), ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		if (!first)
			strbuf_addstr(out, ",\n");
		first = false;
		add_prefix(t, out, prefix);
		strbuf_addstr(out, word);
	}
}

/* ---- events ---- */

static int note_event(void *arg, const char *category, const char *event)
{
	struct tool_texter *t = arg;

	if (t->events.len < MAX_EVENTS && !str_eq(category, "ftrace"))
		vector_push(&t->events, arena_printf(t->arena, "%s:%s", category, event));
	return 0;
}

static int fail(struct tool_texter *t, const char *fmt, const char *what)
{
	complain(t->spec->name, fmt, what);
	t->failed = true;
	return -ENOENT;
}

static int expand_events(struct tool_texter *t, const char *list)
{
	char *save, *word;

	for (word = strtok_r(arena_strdup(t->arena, list), ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		const size_t before = t->events.len;
		char *name = strpbrk(word, ":/");

		if (name)
			*name++ = '\0';
		else
			name = word;
		tracefs_each_event(t->kernel, name == word ? "*" : word, name, note_event, t);
		if (t->events.len == before)
			return fail(
				t,
				"there is no tracepoint '%s'; `pantrace list tracepoint` shows all",
				name == word ? word : arena_printf(t->arena, "%s:%s", word, name));
	}
	return 0;
}

struct event_text {
	const char *event;
	struct strbuf format, fields;
	u32 nfields;
};

/* "const char * filename" in a line "field:...;" of a format file. */
static void add_field(struct tool_texter *t, struct event_text *e, char *declaration)
{
	char *name, *bracket = strchr(declaration, '[');
	const bool is_dynamic =
		strstr(declaration, "__data_loc") || strstr(declaration, "__rel_loc");
	const bool is_char = strstr(declaration, "char") && !strstr(declaration, "unsigned char"),
		   is_pointer = strchr(declaration, '*') != NULL;
	const bool is_array = bracket != NULL;
	const char *conversion;

	if (bracket && !is_dynamic)
		*bracket = '\0';
	name = strrchr(declaration, ' ');
	if (!name || e->nfields == MAX_FIELDS)
		return;
	name++;
	conversion = is_array ? "%s" : is_pointer ? "0x%x" : "%d";
	if (is_dynamic && !is_char) {
		strbuf_addf(&e->format, "%s%s=[...]", e->nfields ? " " : "", name);
		return;
	}
	if (is_dynamic) {
		strbuf_addf(&e->format, "%s%s=%%s", e->nfields ? " " : "", name);
		strbuf_addf(&e->fields, "%sstr(args.%s)", e->nfields ? ", " : "", name);
	} else if (is_pointer && is_char && str_starts(e->event, "syscalls:") &&
		   !strchr(strchr(declaration, '*') + 1, '*')) {
		strbuf_addf(&e->format, "%s%s=\\\"%%s\\\"", e->nfields ? " " : "", name);
		strbuf_addf(&e->fields, "%sstr(args.%s)", e->nfields ? ", " : "", name);
	} else {
		strbuf_addf(&e->format, "%s%s=%s", e->nfields ? " " : "", name, conversion);
		strbuf_addf(&e->fields, "%sargs.%s", e->nfields ? ", " : "", name);
	}
	e->nfields++;
}

static int describe_event(struct tool_texter *t, struct event_text *e)
{
	char *copy = arena_strdup(t->arena, e->event), *save, *line, *format;
	const char *system = strtok_r(copy, ":", &save), *event = strtok_r(NULL, "", &save);
	int err = tracefs_event_format(t->kernel, system, event, &format);

	if (err)
		return fail(t, "cannot read the format of %s", e->event);
	for (line = strtok_r(format, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end;

		line += strspn(line, " \t");
		end = strchr(line, ';');
		if (!str_starts(line, "field:") || !end)
			continue;
		*end = '\0';
		if (!strstr(line, " common_"))
			add_field(t, e, line + strlen("field:"));
	}
	free(format);
	return 0;
}

/* ---- the script ---- */

static void add_text(struct tool_texter *t, struct strbuf *out, const char *p, const char *end,
		     const struct event_text *e);

static void add_events(struct tool_texter *t, struct strbuf *out, const char *begin,
		       const char *end)
{
	for (size_t i = 0; i < t->events.len && !t->failed; i++) {
		struct event_text e = {
			.event = t->events.items[i], .format = STRBUF_INIT, .fields = STRBUF_INIT};

		if (!describe_event(t, &e))
			add_text(t, out, begin, end, &e);
		strbuf_release(&e.format);
		strbuf_release(&e.fields);
	}
}

/* The greatest of the option's rising numbers that is not above $v, else 0. */
static void add_floor(struct tool_texter *t, struct strbuf *out, const char *name)
{
	const char *value;
	VECTOR(const char *) numbers = {0};
	char *save, *word;

	find(t, name, &value);
	if (!value) /* in a part of the script that #ifdef leaves out */
		return;
	for (word = strtok_r(arena_strdup(t->arena, value), " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		vector_push(&numbers, word);
	strbuf_addch(out, '(');
	for (size_t i = numbers.len; i--;)
		strbuf_addf(out, "$v >= %s ? (uint64)%s : ", numbers.items[i], numbers.items[i]);
	strbuf_addstr(out, "(uint64)0)");
	vector_free(&numbers);
}

static void add_placeholder(struct tool_texter *t, struct strbuf *out, char *name,
			    const struct event_text *e)
{
	char *prefix = strchr(name, ' ');
	const struct tool_option *o;
	const char *value;

	if (prefix)
		*prefix++ = '\0';
	if (e && str_eq(name, "event"))
		strbuf_addstr(out, e->event);
	else if (e && str_eq(name, "name"))
		strbuf_addstr(out, strchr(e->event, ':') + 1);
	else if (e && str_eq(name, "format"))
		strbuf_addstr(out, e->format.data);
	else if (e && str_eq(name, "fields"))
		strbuf_addf(out, "%s%s", e->nfields ? ", " : "", e->fields.data);
	else if (prefix && str_eq(name, "floor"))
		add_floor(t, out, prefix);
	else {
		o = find(t, name, &value);
		if (!o)
			fail(t, "the script asks for the unknown name %s", name);
		else if (prefix && value)
			add_list(t, out, value, prefix);
		else if (value)
			strbuf_addstr(out, value);
	}
}

static void add_text(struct tool_texter *t, struct strbuf *out, const char *p, const char *end,
		     const struct event_text *e)
{
	while (p < end && !t->failed) {
		const char *close = p[0] == '%' && p[1] == '{' ? strchr(p, '}') : NULL, *stop;

		if (!close) {
			strbuf_addch(out, *p++);
		} else if (!e && str_starts(p, "%{each}") && (stop = strstr(p, "%{end}"))) {
			add_events(t, out, close + 1, stop);
			p = stop + strlen("%{end}");
		} else {
			add_placeholder(t, out,
					arena_strndup(t->arena, p + 2, (size_t)(close - p) - 2), e);
			p = close + 1;
		}
	}
}

const char *tool_text(struct arena *a, const struct tool_spec *spec, const struct tool_given *given,
		      const char *text)
{
	struct tool_texter t = {.arena = a, .spec = spec, .given = given, .kernel = kernel_new()};
	const char *script = strstr(text, "*/"), *result = NULL;
	struct strbuf out = STRBUF_INIT;

	script = script ? script + 2 : text;
	for (size_t i = 0; i < spec->arguments.len; i++)
		if (spec->arguments.items[i].effect == TOOL_EVENTS && given->arguments[i])
			expand_events(&t, given->arguments[i]);
	add_macros(&t, &out);
	add_text(&t, &out, script, script + strlen(script), NULL);
	if (given->has_command && strstr(script, "COMMAND_ONLY"))
		strbuf_addstr(&out, command_family);
	if (!t.failed)
		result = arena_strdup(a, out.data);
	strbuf_release(&out);
	vector_free(&t.events);
	kernel_release(t.kernel);
	return result;
}

const char *tool_announcement(struct arena *a, const struct tool_spec *spec,
			      const struct tool_given *given, const char *command, u64 duration_ns)
{
	struct tool_texter t = {.arena = a, .spec = spec, .given = given};
	struct strbuf out = STRBUF_INIT, shown = STRBUF_INIT;
	const char *result;

	strbuf_addstr(&out, "Tracing ");
	add_text(&t, &out, spec->what, spec->what + strlen(spec->what), NULL);
	if (command)
		strbuf_addf(&out, ", of %s", command);
	if (duration_ns)
		strbuf_addf(&out, " for %g s", (double)duration_ns / 1e9);
	strbuf_addstr(&out, ". Ctrl-C to end.");
	escape_line(&shown, out.data, out.len);
	result = arena_strdup(a, shown.data);
	strbuf_release(&shown);
	strbuf_release(&out);
	return result;
}

int tool_list_events(struct arena *a, const struct tool_spec *spec, const char *list,
		     bool with_format)
{
	struct tool_texter t = {.arena = a, .spec = spec, .kernel = kernel_new()};
	char *format;

	expand_events(&t, list ? list : "*:*");
	for (size_t i = 0; i < t.events.len && !t.failed; i++) {
		char *system = arena_strdup(a, t.events.items[i]), *event = strchr(system, ':');

		if (!with_format) {
			puts(system);
			continue;
		}
		*event++ = '\0';
		if (tracefs_event_format(t.kernel, system, event, &format)) {
			fail(&t, "cannot read the format of %s", t.events.items[i]);
			break;
		}
		fputs(format, stdout);
		free(format);
	}
	vector_free(&t.events);
	kernel_release(t.kernel);
	return t.failed ? EXIT_FAILED : EXIT_OK;
}
