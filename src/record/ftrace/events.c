/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tracepoints: names as people write them ("sched", "sched:*", "sched/sched_switch",
 * "sched_switch", "all"), each with a condition behind it or in -f, and triggers.
 */
#include "base/glob.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"
#include "lang/predicate/predicate.h"
#include "record/ftrace/ftrace.h"

/* "SYSTEM:EVENT /CONDITION/", taken apart; malloc'ed. */
struct event_words {
	char *system, *event; /* globs */
	bool is_either; /* one word: a system, or an event of any system */
	char *condition; /* NULL = none */
};

static void release_words(struct event_words *w)
{
	free(w->system);
	free(w->event);
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

/* Where the condition begins: the slash behind a blank, or behind "SYSTEM:EVENT". */
static const char *find_condition(const char *text)
{
	const char *colon = strchr(text, ':'), *slash = strchr(text, '/'),
		   *blank = text + strcspn(text, " \t");

	if (colon && slash && colon < slash)
		return slash;
	while (slash && slash < blank)
		slash = strchr(slash + 1, '/');
	return slash;
}

static void take_apart(const char *text, struct event_words *ret)
{
	const char *const bare = event_name_bare(text), *const slash = find_condition(bare);
	char *name = trimmed(bare, slash ? (size_t)(slash - bare) : strlen(bare)), *part;

	*ret = (struct event_words){0};
	if (slash) {
		ret->condition = trimmed(slash + 1, strlen(slash + 1));
		part = strrchr(ret->condition, '/');
		if (part && !part[1])
			*part = '\0';
	}
	part = strpbrk(name, ":/");
	ret->is_either = !part;
	if (str_eq(name, "all")) {
		ret->system = xstrdup("*");
		ret->event = xstrdup("*");
		ret->is_either = false;
	} else if (part) {
		ret->system = xstrndup(name, (size_t)(part - name));
		ret->event = xstrdup(part[1] ? part + 1 : "*");
	} else {
		ret->system = xstrdup(name);
		ret->event = xstrdup(name);
	}
	free(name);
}

static int each_event(struct kernel *k, const struct event_words *w,
		      int (*fn)(void *arg, const char *system, const char *event), void *arg)
{
	int rc;

	if (!w->is_either)
		return tracefs_each_event(k, w->system, w->event, fn, arg);
	rc = tracefs_each_event(k, w->system, "*", fn, arg);
	return rc ? rc : tracefs_each_event(k, "*", w->event, fn, arg);
}

static int found(void *arg, const char *system, const char *event)
{
	*(bool *)arg = true;
	return 1;
}

bool kernel_events_claims(struct kernel *k, const char *text)
{
	struct event_words w;
	bool is_known;

	take_apart(text, &w);
	is_known = !w.is_either; /* what is not there is refused with the nearest names */
	if (w.is_either)
		each_event(k, &w, found, &is_known);
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

static bool is_excluded(const struct record_request *r, const char *system, const char *event)
{
	bool yes = false;

	for (u32 i = 0; i < r->excluded.count && !yes; i++) {
		struct event_words w;

		take_apart(r->excluded.items[i], &w);
		yes = w.is_either ? glob_match(w.system, system) || glob_match(w.event, event)
				  : glob_match(w.system, system) && glob_match(w.event, event);
		release_words(&w);
	}
	return yes;
}

/* The last one that names an event says its condition. */
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
	vector_push(&c->events->all,
		    (struct kernel_event){xstrdup(system), xstrdup(event), c->asked});
	return 0;
}

static int find_one(struct kernel_events *events, const struct record_run *run,
		    const struct record_event *asked)
{
	struct collecting c = {.events = events, .run = run, .asked = asked};
	struct event_words w;

	take_apart(asked->text, &w);
	each_event(run->kernel, &w, collect, &c);
	if (!c.found)
		event_name_refuse(run->kernel, run->diag, NO_SPAN, w.is_either ? NULL : w.system,
				  w.event);
	release_words(&w);
	return c.found ? 0 : -ENOENT;
}

/* "enable_event:SYSTEM:EVENT[:COUNT] [if ...]" makes events of another kind. */
static void find_target(struct kernel_events *events, const struct record_run *run,
			const char *trigger)
{
	struct collecting c = {.events = events, .run = run};
	char system[128], event[128];

	if (sscanf(trigger, "enable_event:%127[^:]:%127[^: \t]", system, event) == 2)
		tracefs_each_event(run->kernel, system, event, collect, &c);
}

static int compare(const void *a, const void *b)
{
	const struct kernel_event *x = a, *y = b;
	const int by_system = strcmp(x->system, y->system);

	return by_system ? by_system : strcmp(x->name, y->name);
}

int kernel_events_find(struct kernel_events *e, const struct record_run *run)
{
	const struct record_request *const r = run->request;
	int err = 0;

	for (size_t i = 0; i < r->events.len && !err; i++) {
		const struct record_event *const asked = &r->events.items[i];

		if (!str_eq(asked->source->name, "kernel"))
			continue;
		err = find_one(e, run, asked);
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

static int set_condition(const struct kernel_event *e, struct instance *in, const char *text)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct diag *const d = instance_diag(in);
	struct predicate_event event;
	int err;

	predicate_event_live(&d->arena, instance_kernel(in), e->system, e->name, NULL, &event);
	err = predicate_to_kernel(arena_strdup(&d->arena, text), &event, d, &c);
	if (!err)
		err = instance_set_filter(in, e->system, e->name, &c);
	predicate_event_release(&event);
	tracefs_command_release(&c);
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

static int filter_one(const struct kernel_event *e, struct instance *in)
{
	struct event_words w;
	int err = 0;

	take_apart(e->asked->text, &w);
	if (w.condition && e->asked->filter) {
		diag_error(instance_diag(in), NO_SPAN, "%s:%s has two conditions: /%s/ and -f '%s'",
			   e->system, e->name, w.condition, e->asked->filter);
		diag_hint(instance_diag(in), "join them by && in one");
		err = -EINVAL;
	} else if (w.condition || e->asked->filter) {
		err = set_condition(e, in, w.condition ?: e->asked->filter);
	}
	for (size_t i = 0; i < e->asked->triggers.len && !err; i++)
		err = add_trigger(e, in, e->asked->triggers.items[i]);
	release_words(&w);
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
