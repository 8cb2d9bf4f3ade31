/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace tpoint`: tracepoints, each event as the kernel itself prints it. */
#include "cmd/ftrace/tpoint.h"

#include <stdio.h>

#include "base/escape.h"
#include "base/glob.h"
#include "cmd/ftrace/probes.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"

struct tpoint_options {
	struct ftrace_options common;
	bool list, format;
};

static const struct option_spec options[] = {
	FTRACE_OPTION_ROWS(struct tpoint_options, common),
	{'s', "stack", NULL, "the kernel's stack after each event", OPTION_FLAG,
	 offsetof(struct tpoint_options, common.stack)},
	{'l', "list", NULL, "only list the tracepoints that match", OPTION_FLAG,
	 offsetof(struct tpoint_options, list)},
	{'v', "format", NULL, "only show the fields of the tracepoints, for a filter", OPTION_FLAG,
	 offsetof(struct tpoint_options, format)},
	{0},
};

static const struct command_spec spec = {
	.name = "tpoint",
	.synopsis = "[options] TRACEPOINT[,TRACEPOINT...] [FILTER] [-- COMMAND [ARGUMENT...]]  |  "
		    "[options] DEFINITION [FILTER]  |  -l [PATTERN]",
	.summary = "trace tracepoints: every event as the kernel prints it",
	.examples =
		"  pantrace tpoint block:block_rq_issue                         # every event, "
		"until Ctrl-C\n"
		"  pantrace tpoint -d 5 sched:sched_process_exec,sched:sched_process_exit   # two "
		"of them\n"
		"  pantrace tpoint -s block:block_rq_insert 'rwbs ~ \"*R*\"'      # reads, with "
		"the kernel's stack\n"
		"  pantrace tpoint -p 181 'syscalls:sys_enter_*'                # system calls of "
		"one process\n"
		"  pantrace tpoint 'e:opens syscalls:sys_enter_openat file=+0($filename):ustring'  "
		" # what a field points to\n"
		"  pantrace tpoint -l 'block:*'                                 # what there is\n"
		"  pantrace tpoint -v block:block_rq_issue                      # the fields of "
		"one\n",
	.details =
		"TRACEPOINT is SYSTEM:EVENT, both may have wildcards.\n"
		"FILTER is a condition on fields (-v shows them), comm, tid and cpu: == != < <= > "
		">= & ~ (a pattern of text), && || ! and parentheses.\n"
		"DEFINITION is of an event probe: e:[NAME] SYSTEM:EVENT [ARGUMENT...], where "
		"ARGUMENT is [NAME=]$FIELD[:TYPE] or [NAME=]+OFFSET($FIELD)[:TYPE] for what a "
		"field points to (kernels since 5.15); TYPE as in pantrace kprobe.\n",
	.fields = ftrace_event_fields,
	.options = options,
	.command = COMMAND_TRACED,
};

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct event_name {
	char *system, *event;
};

struct tpoint {
	struct ftrace_session session;
	struct tpoint_options o;
	VECTOR(struct event_name) events;
};

/* ---- which ---- */

static int add_event(void *arg, const char *system, const char *event)
{
	struct tpoint *t = arg;

	vector_push(&t->events, (struct event_name){xstrdup(system), xstrdup(event)});
	return 0;
}

/* One part of the list. False: nothing is called so, or it is not a name. */
static bool expand_one(struct tpoint *t, struct kernel *k, char *word)
{
	char *colon = strchr(word, ':');
	const size_t before = t->events.len;

	if (!colon && (colon = strchr(word, '/')) == NULL)
		return false;
	*colon = '\0';
	tracefs_each_event(k, word, colon + 1, add_event, t);
	*colon = ':';
	return t->events.len > before;
}

static int refuse_one(struct tpoint *t, struct kernel *k, char *word)
{
	struct diag *const d = &t->session.diag;
	char *colon = strpbrk(word, ":/");

	if (!colon && !glob_has_wildcard(word) && strspn(word, NAME_CHARACTERS) == strlen(word)) {
		event_name_refuse(k, d, NO_SPAN, NULL, word);
		return (int)diag_exit_code(d);
	}
	if (!colon)
		return options_usage_error(&spec, "a tracepoint is SYSTEM:EVENT, not '%s'", word);
	*colon = '\0';
	event_name_refuse(k, d, NO_SPAN, word, colon + 1);
	return (int)diag_exit_code(d);
}

static int expand(struct tpoint *t, struct kernel *k, const char *list)
{
	char *copy = xstrdup(list), *word, *rest;
	int rc = EXIT_OK;

	for (word = strtok_r(copy, ",", &rest); word && !rc; word = strtok_r(NULL, ",", &rest)) {
		word = (char *)(uintptr_t)event_name_bare(word);
		if (!expand_one(t, k, word))
			rc = refuse_one(t, k, word);
	}
	free(copy);
	if (!rc && !t->events.len)
		rc = options_usage_error(&spec, "which tracepoint?");
	return rc;
}

static void release_events(struct tpoint *t)
{
	for (size_t i = 0; i < t->events.len; i++) {
		free(t->events.items[i].system);
		free(t->events.items[i].event);
	}
	vector_free(&t->events);
}

/* ---- -l and -v ---- */

static int show(struct tpoint *t, const char *list)
{
	struct kernel *k = kernel_new();
	struct strbuf out = STRBUF_INIT;
	int rc = EXIT_OK;
	char *text;

	rc = expand(t, k, list ? list : "*:*");
	for (size_t i = 0; i < t->events.len && !rc; i++) {
		const struct event_name *e = &t->events.items[i];

		if (!t->o.format) {
			strbuf_addf(&out, "%s:%s\n", e->system, e->event);
		} else if (!tracefs_event_format(k, e->system, e->event, &text)) {
			strbuf_addstr(&out, text);
			free(text);
		} else {
			diag_error(&t->session.diag, NO_SPAN, "cannot read the format of %s:%s",
				   e->system, e->event);
			rc = EXIT_FAILED;
		}
	}
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	kernel_release(k);
	return diag_close(&t->session.diag, rc);
}

/* ---- tracing ---- */

static int apply_filter(struct tpoint *t, const char *filter)
{
	int err = 0;

	for (size_t i = 0; i < t->events.len && !err; i++)
		err = ftrace_filter_set(&t->session, t->events.items[i].system,
					t->events.items[i].event, NULL, filter);
	return err;
}

static int enable(struct tpoint *t)
{
	int err = 0;

	for (size_t i = 0; i < t->events.len && !err; i++) {
		const struct event_name *e = &t->events.items[i];

		ftrace_session_expect(&t->session, e->system, e->event, NULL);
		err = instance_enable_event(t->session.instance, e->system, e->event, true);
	}
	return err;
}

static int trace(struct tpoint *t, const char *list, const char *filter)
{
	struct ftrace_session *s = &t->session;
	int rc = expand(t, s->kernel, list);

	if (rc)
		return rc;
	if ((filter && apply_filter(t, filter)) || enable(t))
		return (int)diag_exit_code(&s->diag);
	ftrace_session_say(s, "Tracing %s%s", list, filter ? " with a filter" : "");
	return ftrace_session_run(s);
}

/* ---- an event probe ---- */

static int trace_probe(struct tpoint *t, const char *definition, const char *filter)
{
	struct ftrace_session *s = &t->session;
	u32 enabled;

	if (ftrace_probes_attach(s, definition))
		return (int)diag_exit_code(&s->diag);
	if (t->o.format)
		return ftrace_probes_show(s);
	if ((filter && ftrace_probes_filter(s, definition, filter)) ||
	    ftrace_probes_enable(s, &enabled))
		return (int)diag_exit_code(&s->diag);
	ftrace_session_say(s, "Tracing %s%s", definition, filter ? " with a filter" : "");
	return ftrace_session_run(s);
}

int cmd_tpoint(int argc, char **argv)
{
	struct tpoint t = {0};
	bool is_definition;
	int first, rc = options_command(&spec, &argc, argv, &t.o.common.command);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&spec, argc, argv, &t.o, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first + 2 < argc)
		return options_usage_error(
			&spec, "unexpected argument '%s': a filter with blanks needs quotes",
			argv[first + 2]);
	if (t.o.common.json && (t.o.list || t.o.format))
		return options_usage_error(&spec, "--json is for events; pantrace list --json "
						  "'tracepoint:SYSTEM:EVENT' has their fields");
	is_definition = first < argc && !t.o.list && ftrace_probes_is_definition(argv[first]);
	if (first == argc && !t.o.list)
		return options_usage_error(&spec,
					   t.o.format ? "-v shows the fields of which tracepoint?"
						      : "which tracepoint?");
	if ((t.o.list || t.o.format) && !is_definition) {
		rc = show(&t, argv[first]);
	} else {
		rc = ftrace_session_open(&t.session, &spec, &t.o.common, NULL);
		if (!rc)
			rc = (is_definition ? trace_probe : trace)(&t, argv[first],
								   argv[first + 1]);
		rc = ftrace_session_close(&t.session, rc);
	}
	release_events(&t);
	return rc;
}
