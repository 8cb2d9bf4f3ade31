/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds tracepoints by the names that people write ("sched", "sched:*", "sched/sched_switch",
 * "sched_switch", "all"); sets their conditions (after the name, or by -f) and triggers.
 */
#include "base/glob.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"
#include "lang/predicate/predicate.h"
#include "record/ftrace/ftrace.h"
#include "record/probes.h"

/* The parts of "NAME,NAME... /CONDITION/"; malloc'ed. */
struct event_words {
	char *names; /* separated by commas or blanks */
	char *condition; /* NULL = none */
};

/* One name. */
struct event_glob {
	const char *system, *event;
	bool is_either; /* a single word: a system, or an event of any system */
};

static void release_words(struct event_words *w)
{
	free(w->names);
	free(w->condition);
}

static char *trimmed(const char *s, size_t len)
{
	while (len && strchr(" \t", *s)) {
		s++;
		len--;
	}
	while (len && strchr(" \t", s[len - 1]))
		len--;
	return xstrndup(s, len);
}

/* The start of the condition: the slash after a space or after "SYSTEM:EVENT". */
static const char *find_condition(const char *text)
{
	const char *colon = strchr(text, ':'), *slash = strchr(text, '/'),
		   *blank = text + strcspn(text, " \t");

	if (record_probe_is(text))
		return record_probe_condition(text);
	if (colon && slash && colon < slash)
		return slash;
	while (slash && slash < blank)
		slash = strchr(slash + 1, '/');
	return slash;
}

static struct event_words take_apart(const char *text)
{
	const char *const slash = find_condition(event_name_bare(text));
	struct event_words w = {
		.names = trimmed(text, slash ? (size_t)(slash - text) : strlen(text))};
	char *last;

	if (slash) {
		w.condition = trimmed(slash + 1, strlen(slash + 1));
		last = strrchr(w.condition, '/');
		if (last && !last[1])
			*last = '\0';
	}
	return w;
}

/* Takes the next name, cutting up the text like strtok_r(). Returns false at the end. */
static bool next_name(char *names, char **rest, struct event_glob *ret)
{
	char *word = strtok_r(names, ", \t", rest), *part;

	if (!word)
		return false;
	word = (char *)(uintptr_t)event_name_bare(word);
	part = strpbrk(word, ":/");
	*ret = (struct event_glob){.system = word, .event = word, .is_either = !part};
	if (str_eq(word, "all"))
		*ret = (struct event_glob){.system = "*", .event = "*"};
	if (part) {
		*part = '\0';
		ret->event = part[1] ? part + 1 : "*";
	}
	return true;
}

static int each_event(struct kernel *k, const struct event_glob *g,
		      int (*fn)(void *arg, const char *system, const char *event), void *arg)
{
	int rc;

	if (!g->is_either)
		return tracefs_each_event(k, g->system, g->event, fn, arg);
	rc = tracefs_each_event(k, g->system, "*", fn, arg);
	return rc ? rc : tracefs_each_event(k, "*", g->event, fn, arg);
}

static int found(void *arg, const char *system, const char *event)
{
	*(bool *)arg = true;
	return 1;
}

bool kernel_events_claims(struct kernel *k, const char *text)
{
	struct event_words w = take_apart(text);
	bool is_known = record_probe_is(text);
	struct event_glob g;
	char *rest;

	for (char *names = w.names; !is_known && next_name(names, &rest, &g); names = NULL)
		if (g.is_either)
			each_event(k, &g, found, &is_known);
		else
			is_known = true; /* if not, it is refused later, with the nearest names */
	release_words(&w);
	return is_known;
}

/* ---- the list ---- */

struct collecting {
	struct kernel_events *events;
	const struct record_run *run;
	const struct record_event *asked;
	u32 found;
};

/* Cuts up the names. */
static bool names_match(char *names, const char *system, const char *event)
{
	struct event_glob g;
	bool yes = false;
	char *rest;

	for (; !yes && next_name(names, &rest, &g); names = NULL)
		yes = g.is_either ? glob_match(g.system, system) || glob_match(g.event, event)
				  : glob_match(g.system, system) && glob_match(g.event, event);
	return yes;
}

static bool is_excluded(const struct record_request *r, const char *system, const char *event)
{
	bool yes = false;

	for (u32 i = 0; i < r->excluded.count && !yes; i++) {
		char *const all = xstrdup(r->excluded.items[i]);

		yes = names_match(all, system, event);
		free(all);
	}
	return yes;
}

bool kernel_events_are_whole(const struct record_request *r, const char *system, const char *event)
{
	bool asked = false, whole = !r->overwrite && !r->freezes;

	for (size_t i = 0; i < r->events.len; i++) {
		const struct record_event *const e = &r->events.items[i];
		struct event_words w = take_apart(e->text);

		whole &= !e->triggers.len;
		if (!record_probe_is(e->text) && names_match(w.names, system, event)) {
			asked = true;
			whole &= !e->filter && !w.condition;
		}
		release_words(&w);
	}
	return asked && whole && !is_excluded(r, system, event);
}

/* The last -e that matches an event decides its condition. */
static int collect(void *arg, const char *system, const char *event)
{
	struct collecting *c = arg;

	c->found++;
	if (c->asked && is_excluded(c->run->request, system, event))
		return 0;
	for (size_t i = 0; i < c->events->all.len; i++) {
		struct kernel_event *const e = &c->events->all.items[i];

		if (!str_eq(e->name, event) || !str_eq(e->system, system))
			continue;
		if (c->asked)
			e->asked = c->asked;
		return 0;
	}
	vector_push(&c->events->all, (struct kernel_event){.system = xstrdup(system),
							   .name = xstrdup(event),
							   .asked = c->asked});
	return 0;
}

static int find_probes(struct kernel_events *events, struct record_run *run,
		       const struct record_event *asked)
{
	struct record_probe_list made = {0};
	const int err = record_probes_make(run, asked->text, &made);

	for (size_t i = 0; i < made.all.len && !err; i++)
		vector_push(&events->all, (struct kernel_event){
						  .system = xstrdup(made.all.items[i].event->group),
						  .name = xstrdup(made.all.items[i].event->name),
						  .shown_system = made.all.items[i].group,
						  .asked = asked,
					  });
	vector_free(&made.all);
	return err;
}

static int find_one(struct kernel_events *events, struct record_run *run,
		    const struct record_event *asked)
{
	struct collecting c = {.events = events, .run = run, .asked = asked};
	struct event_words w = take_apart(asked->text);
	struct event_glob g;
	char *rest;
	int err = 0;

	for (char *names = w.names; !err && next_name(names, &rest, &g); names = NULL) {
		c.found = 0;
		each_event(run->kernel, &g, collect, &c);
		if (!c.found)
			err = event_name_refuse(run->kernel, run->diag, NO_SPAN,
						g.is_either ? NULL : g.system, g.event);
	}
	release_words(&w);
	return err;
}

/* "enable_event:SYSTEM:EVENT[:COUNT] [if ...]": the format of that event is needed, too. */
static void find_target(struct kernel_events *events, const struct record_run *run,
			const char *trigger)
{
	struct collecting c = {.events = events, .run = run};
	char system[128], event[128];

	if (sscanf(trigger, "enable_event:%127[^:]:%127[^: \t]", system, event) == 2)
		tracefs_each_event(run->kernel, system, event, collect, &c);
}

const char *kernel_event_system(const struct kernel_event *e)
{
	return e->shown_system ?: e->system;
}

static int compare(const void *a, const void *b)
{
	const struct kernel_event *x = a, *y = b;
	const int by_system = strcmp(kernel_event_system(x), kernel_event_system(y));

	return by_system ? by_system : strcmp(x->name, y->name);
}

int kernel_events_find(struct kernel_events *e, struct record_run *run)
{
	const struct record_request *const r = run->request;
	int err = 0;

	for (size_t i = 0; i < r->events.len && !err; i++) {
		const struct record_event *const asked = &r->events.items[i];

		if (!str_eq(asked->source->name, "kernel"))
			continue;
		err = record_probe_is(asked->text) ? find_probes(e, run, asked)
						   : find_one(e, run, asked);
		for (size_t j = 0; j < asked->triggers.len && !err; j++)
			find_target(e, run, asked->triggers.items[j]);
	}
	if (e->all.len)
		qsort(e->all.items, e->all.len, sizeof(*e->all.items), compare);
	return err;
}

void kernel_events_release(struct kernel_events *e)
{
	for (size_t i = 0; i < e->all.len; i++) {
		free(e->all.items[i].system);
		free(e->all.items[i].name);
	}
	vector_free(&e->all);
}

/* ---- conditions, triggers ---- */

static int translate_condition(const struct kernel_event *e, struct kernel *k, struct diag *d,
			       const char *text, struct tracefs_command *ret)
{
	struct predicate_event event;
	int err;

	predicate_event_live(&d->arena, k, e->system, e->name, e->shown_system ? e->name : NULL,
			     &event);
	err = predicate_to_kernel(arena_strdup(&d->arena, text), &event, d, ret);
	predicate_event_release(&event);
	return err;
}

int kernel_event_condition(const struct kernel_event *e, struct kernel *k, struct diag *d,
			   struct tracefs_command *ret)
{
	struct event_words w = take_apart(e->asked->text);
	int err = 0;

	if (w.condition && e->asked->filter) {
		diag_error(d, NO_SPAN, "%s:%s has two conditions: /%s/ and -f '%s'", e->system,
			   e->name, w.condition, e->asked->filter);
		diag_hint(d, "join them with && in one");
		err = -EINVAL;
	} else if (w.condition || e->asked->filter) {
		err = translate_condition(e, k, d, w.condition ?: e->asked->filter, ret);
	}
	release_words(&w);
	return err;
}

static int add_trigger(const struct kernel_event *e, struct instance *in, const char *text)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	int err;

	tracefs_command_from(&c, instance_diag(in), "trigger", text);
	err = instance_add_trigger(in, e->system, e->name, &c);
	tracefs_command_release(&c);
	return err;
}

void kernel_events_keep_off(const struct kernel_events *e, struct instance *in)
{
	for (size_t i = 0; i < e->all.len; i++) {
		const struct kernel_event *const event = &e->all.items[i];

		for (size_t j = 0; event->asked && j < event->asked->triggers.len; j++)
			if (str_starts(event->asked->triggers.items[j], "traceon"))
				add_trigger(event, in, "!traceon");
	}
}

static int filter_one(const struct kernel_event *e, struct instance *in)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	int err = kernel_event_condition(e, instance_kernel(in), instance_diag(in), &c);

	if (!err && c.text.len)
		err = instance_set_filter(in, e->system, e->name, &c);
	tracefs_command_release(&c);
	for (size_t i = 0; i < e->asked->triggers.len && !err; i++)
		err = add_trigger(e, in, e->asked->triggers.items[i]);
	return err;
}

int kernel_events_filter(const struct kernel_events *e, struct instance *in)
{
	int err = 0;

	for (size_t i = 0; i < e->all.len && !err; i++)
		if (e->all.items[i].asked)
			err = filter_one(&e->all.items[i], in);
	return err;
}

int kernel_events_enable(const struct kernel_events *e, struct instance *in)
{
	int err = 0;

	for (size_t i = 0; i < e->all.len && !err; i++)
		if (e->all.items[i].asked)
			err = instance_enable_event(in, e->all.items[i].system,
						    e->all.items[i].name, true);
	return err;
}
