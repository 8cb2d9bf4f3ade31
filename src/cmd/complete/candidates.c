/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/complete/candidates.h"

#include <glob.h>

#include "binary/debug/variable.h"
#include "cmd/complete/lister.h"
#include "kernel/tracefs/lasting_event.h"
#include "kernel/tracefs/tracefs.h"
#include "lang/builtin/builtin.h"
#include "probe/definition/translate.h"
#include "probe/user_event.h"
#include "trace/recording.h"
#include "types/tracefs_format.h"

/* ---- events and functions ---- */

static int offer_event(void *arg, const char *category, const char *event)
{
	struct lister *s = arg;

	return lister_offer_part(s, arena_printf(&s->arena, "%s:%s", category, event));
}

static bool is_probe(const struct lister *s)
{
	return s->c->nr_words && str_eq(s->c->words[0], "probe");
}

static void points(struct lister *s);
static void standing_events(struct lister *s);

static void tracepoints(struct lister *s)
{
	if (is_probe(s)) {
		standing_events(s);
		return;
	}
	lister_split_behind(s, ",");
	tracefs_each_event(s->env.kernel, "*", "*", offer_event, s);
}

/*
 * A function of a file: "uprobe:/usr/bin/bash:readline". The user may have spelled the file's path
 * differently.
 */
static int offer_function(void *arg, const char *name)
{
	const char *path = strchr(name, ':'), *function = path ? strchr(path + 1, ':') : NULL;

	return function ? lister_offer_part(arg, function + 1) : 0;
}

static void functions_of_file(struct lister *s, const char *provider, const char *file)
{
	const struct probe_provider *p = probe_find_provider(provider);

	probe_each(&s->env, p, arena_printf(&s->arena, "%s:%s:%s*", provider, file, s->rest),
		   offer_function, s);
}

static void kernel_functions(struct lister *s)
{
	const struct probe_provider *p = probe_find_provider("kprobe");

	s->skip = strlen("kprobe:");
	probe_each(&s->env, p, arena_printf(&s->arena, "kprobe:%s*", s->rest), lister_offer_part,
		   s);
}

/* Of the kernel; or of -u FILE, where the tool has that. */
static void functions(struct lister *s)
{
	if (is_probe(s)) {
		points(s);
		return;
	}
	lister_split_behind(s, ",");
	for (size_t i = 1; i + 1 < s->c->nr_words; i++)
		if (str_eq(s->c->words[i], "-u") || str_eq(s->c->words[i], "--user")) {
			functions_of_file(s, "uprobe", s->c->words[i + 1]);
			return;
		}
	kernel_functions(s);
}

/* "uprobe:/usr/bin/ba": the path of the file is still being typed. */
static void offer_files(struct lister *s, const char *before, const char *path)
{
	glob_t found;

	if (glob(arena_printf(&s->arena, "%s*", path), GLOB_MARK, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = found.gl_pathv[i];
		const bool is_folder = name[strlen(name) - 1] == '/';

		lister_offer(s,
			     arena_printf(&s->arena, "%s%s%s", before, name, is_folder ? "" : ":"),
			     "");
	}
	globfree(&found);
}

/* "FILE:FUNCTION", as far as it is written. */
static void file_and_function(struct lister *s, const char *provider)
{
	const char *colon = strchr(s->rest, ':');
	const char *file =
		colon ? arena_strndup(&s->arena, s->rest, (size_t)(colon - s->rest)) : "";

	if (!colon) {
		if (strchr(s->rest, '/'))
			offer_files(s, "", s->rest);
		return;
	}
	s->prefix = arena_printf(&s->arena, "%s%s:", s->prefix, file);
	s->rest = colon + 1;
	s->skip = 0;
	functions_of_file(s, provider, file);
}

/* A probe as scripts and `list` name it. */
static void probes(struct lister *s)
{
	const char *colon = strchr(s->rest, ':');
	const struct probe_provider *p;

	if (!colon) {
		for (u32 i = 0; probe_providers[i]; i++)
			lister_offer(s,
				     arena_printf(&s->arena, "%s%s", probe_providers[i]->name,
						  strchr(probe_providers[i]->form, ':') ? ":" : ""),
				     probe_providers[i]->doc);
		return;
	}
	p = probe_find_provider(arena_strndup(&s->arena, s->rest, (size_t)(colon - s->rest)));
	if (!p) { /* "sched:sched_switch" */
		tracefs_each_event(s->env.kernel, "*", "*", offer_event, s);
		return;
	}
	s->prefix =
		arena_printf(&s->arena, "%s%.*s", s->prefix, (int)(colon + 1 - s->rest), s->rest);
	s->rest = colon + 1;
	s->skip = strlen(p->name) + 1;
	if (p->takes_path)
		file_and_function(s, p->name);
	else
		probe_each(&s->env, p, arena_printf(&s->arena, "%s:%s*", p->name, s->rest),
			   lister_offer_part, s);
}

/* A definition of kprobe and uprobe: "p:vfs_read", "r:bash:readline". */
static void definitions(struct lister *s)
{
	const char *command = s->c->nr_words ? s->c->words[0] : "";

	if (is_probe(s)) {
		points(s);
		return;
	}
	if (!str_starts(s->rest, "p:") && !str_starts(s->rest, "r:")) {
		lister_offer(s, "p:", "calls");
		lister_offer(s, "r:", "returns");
		return;
	}
	s->prefix = arena_strndup(&s->arena, s->rest, 2);
	s->rest += 2;
	if (str_eq(command, "uprobe"))
		file_and_function(s, "uprobe");
	else
		kernel_functions(s);
}

/* ---- definitions of `probe` ---- */

/* The program that -x names; NULL = the kernel. */
static const char *probed_file(const struct lister *s)
{
	for (size_t i = 1; i + 1 < s->c->nr_words; i++)
		if (str_eq(s->c->words[i], "-x") || str_eq(s->c->words[i], "--exec"))
			return s->c->words[i + 1];
	return NULL;
}

struct variables_of {
	struct lister *lister;
	struct translator *translator;
};

static int offer_variable(void *arg, const struct debug_variable *v)
{
	return v->is_hidden || v->frame ? 0 : lister_offer_part(arg, v->name);
}

static int offer_variables_at(void *arg, const struct point_place *place)
{
	struct variables_of *of = arg;

	debug_each_variable(&place->at, &of->lister->types, DEBUG_LOCALS, offer_variable,
			    of->lister);
	return 0;
}

/* "parse l": what can be fetched at the point. */
static void variables_at(struct lister *s, const char *point)
{
	const struct translate_config config = {.file = probed_file(s)};
	struct translator *t =
		config.file ? translator_new(s->env.kernel, &s->diag, &config) : NULL;

	if (t)
		translator_each_place(t, point, offer_variables_at, &(struct variables_of){s, t});
	translator_release(t);
}

/* "[EVENT=]FUNCTION [VARIABLE...]" */
static void points(struct lister *s)
{
	const char *const file = probed_file(s), *blank;

	if (!strchr(s->rest, ' '))
		lister_split_behind(s, "=");
	blank = strchr(s->rest, ' ');
	if (blank) {
		const char *begin = memchr(s->rest, '=', (size_t)(blank - s->rest));

		begin = begin ? begin + 1 : s->rest;
		begin = arena_strndup(&s->arena, begin, (size_t)(blank - begin));
		lister_split_behind(s, " =");
		variables_at(s, begin);
	} else if (file) {
		functions_of_file(s, "uprobe", file);
	} else {
		kernel_functions(s);
	}
}

static int offer_standing(void *arg, const struct lasting_event *e)
{
	struct lister *s = arg;

	return lister_offer_part(s, arena_printf(&s->arena, "%s:%s", e->group, e->name));
}

/* Events that `probe` has made, or others. */
static void standing_events(struct lister *s)
{
	lasting_events_each(s->env.kernel, offer_standing, s);
}

static int offer_user_event(void *arg, struct user_event *e)
{
	struct lister *s = arg;

	return lister_offer_part(s, arena_printf(&s->arena, "%s:%s", e->provider, e->name));
}

static void user_events(struct lister *s)
{
	lister_split_behind(s, ",");
	user_event_each(&s->arena, 0, NULL, offer_user_event, s, NULL);
}

static int offer_recorded(void *arg, const char *name, const char *short_name)
{
	return lister_offer_part(arg, name);
}

/* Events of the recordings that are named on the command line. */
static void recorded_events(struct lister *s)
{
	for (size_t i = 1; i < s->c->nr_words; i++)
		if (s->c->words[i][0] != '-')
			recording_names(s->c->words[i], offer_recorded, s);
}

/* ---- a script ---- */

/* The first tracepoint that was typed so far, as "SYSTEM:EVENT". */
static const char *find_tracepoint(struct lister *s, const char *text)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	text = str_starts(text, "tracepoint:") ? text + 11
	       : str_starts(text, "t:")	       ? text + 2
					       : text;
	const size_t system = strspn(text, name);
	const size_t event = system && text[system] == ':' ? strspn(text + system + 1, name) : 0;

	return event ? arena_strndup(&s->arena, text, system + 1 + event) : NULL;
}

static void offer_fields(struct lister *s, const char *tracepoint, bool with_common)
{
	const char *colon = strchr(tracepoint, ':');
	const char *category = arena_strndup(&s->arena, tracepoint, (size_t)(colon - tracepoint));
	const struct type *record;
	const char *print_format;
	char *text;

	if (tracefs_event_format(s->env.kernel, category, colon + 1, &text))
		return;
	if (!tracefs_format_parse(&s->types, category, text, &record, &print_format))
		for (u32 i = 0; i < record->count; i++)
			if (record->members[i].name &&
			    (with_common || !str_starts(record->members[i].name, "common_")))
				lister_offer(s, record->members[i].name, "");
	free(text);
}

/* -e 'PROBE { ... args.FIELD ... FUNCTION': what may stand at its end. */
static void script(struct lister *s)
{
	const char *text = s->rest, *tracepoint;

	if (!strpbrk(text, " {/")) {
		lister_split_behind(s, ",");
		probes(s);
		return;
	}
	tracepoint = find_tracepoint(s, text);
	lister_split_behind(s, " \t\n!\"#$%&'()*+,-./:;<=>?[]^`{|}~");
	if (!*s->rest && !strstr(s->prefix, "args."))
		return;
	if (strlen(s->prefix) > 5 && str_eq(s->prefix + strlen(s->prefix) - 5, "args.")) {
		if (tracepoint)
			offer_fields(s, tracepoint, false);
		return;
	}
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		for (const struct builtin *b = f->rows; b->name; b++)
			if (b->name[0] != '_')
				lister_offer(s, b->name, b->doc);
}

/* Fields of the tracepoint that was named before. */
static void fields(struct lister *s)
{
	const char *tracepoint = NULL;

	if (is_probe(s)) {
		points(s);
		return;
	}
	for (size_t i = 1; i < s->c->nr_words && !tracepoint; i++)
		tracepoint = find_tracepoint(s, s->c->words[i]);
	lister_split_behind(s, "=,: &|!(");
	if (str_eq(s->c->words[0], "hist") && !strchr(s->prefix, '=')) {
		lister_offer(s, "keys=", "count by these fields");
		lister_offer(s, "vals=", "sum these fields up");
	}
	if (tracepoint)
		offer_fields(s, tracepoint, true);
}

/* ---- conditions and contexts of user events ---- */

/* "usage(we": the session that it is about. */
static void conditions(struct lister *s)
{
	static const char *const forms[] = {"rate(", "latency(", "usage(", "written("};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		lister_offer(s, forms[i], "");
	if (str_starts(s->rest, "usage(") || str_starts(s->rest, "written(")) {
		lister_split_behind(s, "(");
		machine_sessions(s);
		return;
	}
	lister_split_behind(s, "(");
	user_events(s);
}

static void contexts(struct lister *s)
{
	static const char *const names[] = {
		"vpid",	       "vtid", "procname",  "cpu_id", "context_switches",
		"page_faults", "ip",   "user_stack"};

	lister_split_behind(s, ",");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		lister_offer(s, names[i], "");
}

/* ---- kinds ---- */

static const struct kind {
	const char *name;
	void (*each)(struct lister *s); /* NULL: the shell knows it */
	const char *shell;
} kinds[] = {
	{"PID", machine_processes, NULL},
	{"TID", machine_processes, NULL},
	{"NAME", machine_process_names, NULL},
	{"DEVICE", machine_disks, NULL},
	{"TRACEPOINT", tracepoints, NULL},
	{"EVENT", tracepoints, NULL},
	{"EVENTS", user_events, NULL},
	{"FUNCTION", functions, NULL},
	{"FUNCTIONS", functions, NULL},
	{"DEFINITION", definitions, NULL},
	{"POINT", points, NULL},
	{"PATTERN", probes, NULL},
	{"PROGRAM", script, NULL},
	{"FIELD", fields, NULL},
	{"FIELDS", fields, NULL},
	{"FILTER", fields, NULL},
	{"BUFFER", machine_buffers, NULL},
	{"SESSION", machine_sessions, NULL},
	{"TRIGGER", machine_triggers, NULL},
	{"CONDITION", conditions, NULL},
	{"USER", machine_users, NULL},
	{"GROUP", machine_groups, NULL},
	{"CONTEXTS", contexts, NULL},
	{"FILE", NULL, ":files"},
	{"DIRECTORY", NULL, ":files"},
	{"DIR", NULL, ":directories"},
	{"COMMAND", NULL, ":commands"},
	{"ARGUMENTS", NULL, ":commands"},
	{"GLOB", recorded_events, NULL},
};

void candidates(const char *kind, const struct completion *c)
{
	struct lister s;

	for (const struct kind *k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		if (!str_eq(k->name, kind))
			continue;
		if (!k->each) {
			c->offer(c->arg, k->shell, "");
			continue;
		}
		lister_open(&s, c);
		k->each(&s);
		lister_close(&s);
	}
}
