/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/tools/options.h"

#include <ctype.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/foreign.h"
#include "kernel/tracefs/event_name.h"

static void show_column(struct row_style *style, const char *column)
{
	for (size_t i = 0; i < style->hidden.len; i++)
		if (str_eq(style->hidden.items[i], column)) {
			style->hidden.items[i] = vector_last(&style->hidden);
			style->hidden.len--;
			return;
		}
}

/* Ascending numbers, separated by blanks or commas; normalised to one spelling. */
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

/* "vda", "/dev/vda" or "254,0" as the kernel's device number: 12 bits of major, 20 of minor. */
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

/* Parses the value of an option of this kind. */
static int apply_kind(const struct tool_run *t, const struct tool_option *o, enum option_kind kind,
		      const char *value, void *ret)
{
	return parse_value(kind, value, ret) ? refuse(t, o, option_kind_takes(kind), value)
					     : EXIT_OK;
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
	int rc = apply_kind(t, o, OPTION_U64, value, &number);

	if (!rc && number < o->least)
		return refuse(t, o,
			      arena_printf(t->arena, "a number from %" PRIu64 " on", o->least),
			      value);
	return rc;
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

/*
 * The file is made before anything is traced, so that the user learns at once that it cannot be
 * written.
 */
static int open_heatmap(const struct tool_run *t, const struct tool_option *o, const char *path)
{
	struct tool_heatmap *h = t->heatmap;

	if (!heatmap_format_of(path, &h->format))
		return refuse(t, o, "a file whose name ends in .svg or .html", path);
	h->path = path;
	h->fd = foreign_create(path, 0644);
	if (h->fd < 0) {
		complain(t->command->name, "cannot write %s: %s%s", path, strerror(-h->fd),
			 h->fd == -ELOOP ? " (a symbolic link; name the file itself)" : "");
		h->fd = 0;
		return EXIT_FAILED;
	}
	t->request->rows->heatmap = heatmap_new(t->title, o->column);
	t->request->rows->heatmap_from_ns = clock_now_ns(CLOCK_REALTIME);
	return EXIT_OK;
}

int tool_close_heatmap(const struct tool_run *t, int rc)
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
	complain(t->command->name, "cannot write %s: %s", h->path, strerror(-err));
	return EXIT_FAILED;
}

/*
 * Applies one option or argument; *value is normalised to the form that the script takes. Appends "
 * --name=value" for getopt(). 0 or an exit code.
 */
static int apply(const struct tool_run *t, const struct tool_option *o, const char **value)
{
	struct run_config *r = t->request;
	const char *why;
	char *word, *save;
	int rc = EXIT_OK;
	u64 number;
	pid_t pid;

	switch (o->effect) {
	case TOOL_MATCH:
		return apply_match(t, o, *value);
	case TOOL_SHOW:
		for (word = strtok_r(arena_strdup(t->arena, o->column), " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			show_column(r->rows, word);
		break;
	case TOOL_LIMIT:
		r->rows->limited_column = o->column;
		rc = apply_kind(t, o, OPTION_POSITIVE, *value, &r->rows->limit);
		break;
	case TOOL_GETOPT:
	case TOOL_NUMBER:
		rc = o->value ? apply_number(t, o, *value) : EXIT_OK;
		break;
	case TOOL_PID:
	case TOOL_THREAD:
		rc = apply_kind(t, o, OPTION_PID, *value, &pid);
		break;
	case TOOL_EVENT:
		rc = apply_event(t, o, value);
		break;
	case TOOL_COUNT:
		rc = apply_kind(t, o, OPTION_POSITIVE, *value, &number);
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
	case TOOL_SECONDS: /* an interval probe takes milliseconds */
		rc = apply_kind(t, o, OPTION_SECONDS, *value, &number);
		if (!rc)
			*value = arena_printf(t->arena, "%" PRIu64, (number + 500000) / 1000000);
		break;
	case TOOL_FILTER: /* cmd/tools/check.c */
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
		return apply_kind(t, o, OPTION_SECONDS, *value, &r->duration_ns);
	case TOOL_TEXT:
	case TOOL_LIST:
	case TOOL_FORMAT:
	case TOOL_COMMAND:
		break;
	}
	if (!rc && o->help &&
	    strstr(t->script, arena_printf(t->arena, "getopt(\"%s\"", o->long_name)))
		t->words[r->input.nnamed++] =
			o->value ? arena_printf(t->arena, "--%s=%s", o->long_name, *value)
				 : arena_printf(t->arena, "--%s", o->long_name);
	return rc;
}

static const char *default_value(const struct tool_option *o)
{
	return o->effect == TOOL_NUMBERS || o->effect == TOOL_NUMBER || o->effect == TOOL_SECONDS
		       ? o->column
		       : NULL;
}

int tool_apply_options(const struct tool_run *t, const struct tool_spec *spec,
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

int tool_apply_arguments(const struct tool_run *t, const struct tool_spec *spec, int argc,
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
