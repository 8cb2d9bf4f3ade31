/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -a and -D: turns definitions into events, or prints their definitions for the kernel. */
#include <stdio.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "cmd/probe/commands.h"
#include "kernel/tracefs/guard.h"
#include "kernel/tracefs/lasting_event.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/sweep.h"

#define SUFFIX_MAX 1024 /* suffixes of names: _1, _2 ... */

/* An event to be made, or made already. */
struct new_event {
	const struct translation *of;
	const struct translated_place *place;
	const char *group, *name;
	bool is_first; /* of its name: later ones are further places of the same event */
	bool is_made;
};

struct adding {
	struct probe_command *command;
	struct translator *translator;
	struct arena arena;
	struct translation *translations;
	u32 count;
	struct hashmap taken; /* "GROUP/NAME" */
	VECTOR(struct new_event) events;
};

/* ---- names ---- */

static void take(struct adding *a, const char *group, const char *name)
{
	char *key = xasprintf("%s/%s", group, name);

	hashmap_puts(&a->taken, key, a);
	free(key);
}

static int note_taken(void *arg, const struct lasting_event *e)
{
	take(arg, e->group, e->name);
	return 0;
}

static bool is_taken(struct adding *a, const char *group, const char *name)
{
	char *key = xasprintf("%s/%s", group, name);
	const bool yes = hashmap_gets(&a->taken, key) != NULL;

	free(key);
	return yes;
}

/* The name with a number appended, cut to the length that the kernel takes. */
static const char *numbered(struct adding *a, const char *name, u32 number)
{
	char end[16] = "";

	if (number)
		snprintf(end, sizeof(end), "_%u", number);
	return arena_printf(&a->arena, "%.*s%s", (int)(EVENT_NAME_MAX - strlen(end)), name, end);
}

static int refuse_taken(struct adding *a, const struct translation *t, const char *group,
			const char *name)
{
	struct diag *d = &a->command->diag;

	diag_error(d, t->definition.point.at, "event \"%s\" already exists.", name);
	diag_hint(d,
		  "remove it by `pantrace probe -d %s:%s`, or allow one more of that name by -f, "
		  "or give another name as in 'NAME=%s'",
		  group, name, t->definition.point.text);
	return -EEXIST;
}

static const char *free_name(struct adding *a, const struct translation *t,
			     const struct translated_place *place, bool allow_suffix)
{
	const char *const event = place->event;
	const char *name = numbered(a, event, 0);

	if (!is_taken(a, place->group, name))
		return name;
	if (!allow_suffix) {
		refuse_taken(a, t, place->group, name);
		return NULL;
	}
	for (u32 i = 1; i < SUFFIX_MAX; i++) {
		name = numbered(a, event, i);
		if (!is_taken(a, place->group, name))
			return name;
	}
	diag_error(&a->command->diag, t->definition.point.at,
		   "there are already %u events named %s", SUFFIX_MAX, event);
	return NULL;
}

/* Names the events of one definition. Places that are alike form one event. */
static int name_events(struct adding *a, const struct translation *t)
{
	const char *const given = t->definition.point.event;
	const size_t first = a->events.len;
	struct tracefs_owner owner;
	const char *rest;

	if (given && strlen(given) > EVENT_NAME_MAX) {
		diag_error(&a->command->diag, t->definition.point.at,
			   "the event's name has %zu characters, the kernel takes %d",
			   strlen(given), EVENT_NAME_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < t->places.len; i++) {
		const struct translated_place *const place = &t->places.items[i];
		struct new_event e = {.of = t, .place = place, .group = place->group};

		if (tracefs_owner_parse(e.group, &owner, &rest)) {
			diag_error(&a->command->diag, t->definition.point.at,
				   "groups of this name belong to running tracers");
			return -EINVAL;
		}
		for (size_t n = first; n < a->events.len && !e.name; n++)
			if (translated_place_is_alike(a->events.items[n].place, place))
				e.name = a->events.items[n].name;
		if (!e.name) {
			e.is_first = true;
			/* A name that was cut is no longer unique. */
			e.name = free_name(a, t, place,
					   a->command->o.force || i ||
						   strlen(place->event) > EVENT_NAME_MAX);
			if (!e.name)
				return -EEXIST;
			take(a, e.group, e.name);
		}
		vector_push(&a->events, e);
	}
	return 0;
}

/* ---- translation ---- */

static const char *text_of(const struct adding *a, const struct string_list *more, u32 i)
{
	return i < more->count ? more->items[i] : a->command->words.items[i - more->count];
}

static int translate_one(struct adding *a, const char *text, struct translation *ret)
{
	struct probe_command *p = a->command;
	int err = p->o.cache ? probe_cached_translate(p, a->translator, text, ret) : -ENOENT;

	if (err != -ENOENT)
		return err;
	err = translate(a->translator, text, ret);
	if (err && p->o.cache)
		probe_cached_hint(p, a->translator, text);
	return err;
}

static int translate_all(struct adding *a, const struct string_list *more)
{
	const u32 count = a->command->words.count + more->count;
	int err = 0;

	a->translations = xzalloc(count * sizeof(*a->translations));
	for (u32 i = 0; i < count && !err; i++)
		err = translate_one(a, text_of(a, more, i), &a->translations[a->count++]);
	return err;
}

static int name_all(struct adding *a)
{
	int err = 0;

	for (u32 i = 0; i < a->count && !err; i++)
		err = name_events(a, &a->translations[i]);
	return err;
}

static int keep_all(struct adding *a, const struct string_list *more)
{
	struct probe_kept *kept = xzalloc(a->count * sizeof(*kept));
	int err;

	for (u32 i = 0; i < a->count; i++)
		kept[i] = (struct probe_kept){text_of(a, more, i), &a->translations[i]};
	err = probe_cached_keep(a->command, a->translator, kept, a->count);
	free(kept);
	return err;
}

static void release(struct adding *a)
{
	for (u32 i = 0; i < a->count; i++)
		translation_release(&a->translations[i]);
	free(a->translations);
	vector_free(&a->events);
	hashmap_release(&a->taken);
	translator_release(a->translator);
	arena_release(&a->arena);
}

/* ---- -D ---- */

static char letter_of(const struct new_event *e)
{
	return e->of->is_return ? 'r' : 'p';
}

/* "ftrace.event.kprobes.vfs_read.probe = 'vfs_read+0 count=%dx:x64'" */
static void print_bootconfig(struct adding *a, struct strbuf *out)
{
	for (size_t i = 0; i < a->events.len; i++) {
		const struct new_event *e = &a->events.items[i];

		if (!e->is_first)
			continue;
		strbuf_addf(out, "ftrace.event.kprobes.%s.probe = ", e->name);
		for (size_t n = i; n < a->events.len; n++) {
			const struct new_event *other = &a->events.items[n];

			if (other->of != e->of || !str_eq(other->name, e->name))
				continue;
			strbuf_addstr(out, n > i ? ", '" : "'");
			escape_line(out, other->place->command.text.data,
				    other->place->command.text.len);
			strbuf_addch(out, '\'');
		}
		strbuf_addch(out, '\n');
	}
}

static void print_json(const struct new_event *e, struct strbuf *out)
{
	struct json j = JSON_INIT(out);
	const char *const tail = e->place->command.text.data;

	json_object(&j);
	json_member_text(&j, "group", e->group);
	json_member_text(&j, "event", e->name);
	json_member_bool(&j, "is_user", e->of->is_user);
	json_member_bool(&j, "is_return", e->of->is_return);
	json_member_text(&j, "definition", tail);
	json_end(&j, '}');
	json_end_line(&j);
}

/* Printed as it is: the kernel accepts no control characters in names. */
static void print_line(const struct new_event *e, struct strbuf *out)
{
	const struct strbuf *const text = &e->place->command.text;

	strbuf_addf(out, "%c:%s/%s ", letter_of(e), e->group, e->name);
	escape_line(out, text->data, text->len);
	strbuf_addch(out, '\n');
}

static void print_definitions(struct adding *a)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < a->events.len; i++) {
		const struct new_event *e = &a->events.items[i];

		if (a->command->o.json)
			print_json(e, &out);
		else if (!a->command->o.bootconfig)
			print_line(e, &out);
	}
	if (a->command->o.bootconfig && !a->command->o.json)
		print_bootconfig(a, &out);
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
}

/* ---- -a ---- */

static int make_event(struct adding *a, struct new_event *e)
{
	struct probe_command *p = a->command;
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	char *what = xasprintf("the probe '%s'", e->name);
	int err;

	tracefs_command_add(&c, "%c:%s/%s ", letter_of(e), e->group, e->name);
	tracefs_command_join(&c, &e->place->command);
	err = lasting_event_define(p->kernel, &p->diag, e->of->is_user, &c, what);
	e->is_made = !err;
	tracefs_command_release(&c);
	free(what);
	return err;
}

static void remove_all(struct adding *a)
{
	for (size_t i = a->events.len; i-- > 0;) {
		const struct new_event *e = &a->events.items[i];
		int left;

		if (!e->is_made || !e->is_first)
			continue;
		left = lasting_event_remove(a->command->kernel, e->of->is_user, e->group, e->name);
		if (left && left != -ENOENT)
			diag_warning(&a->command->diag, NO_SPAN,
				     "the event %s:%s was added and could not be removed again: %s",
				     e->group, e->name, strerror(-left));
	}
}

/* Starts a guard and a journal of the events to be made: they are removed if this process dies. */
static int begin_journal(struct adding *a, struct tracefs_saved **ret)
{
	struct probe_command *p = a->command;
	int err;

	guard_start(p->kernel);
	*ret = tracefs_saved_new(kernel_tracefs(p->kernel));
	err = *ret ? 0 : -errno;
	for (size_t i = 0; i < a->events.len && !err; i++) {
		const struct new_event *e = &a->events.items[i];
		char *place = xstrndup(e->place->command.text.data,
				       strcspn(e->place->command.text.data, " "));

		if (e->is_first)
			err = lasting_event_note(*ret, e->of->is_user, e->group, e->name, place);
		free(place);
	}
	if (err)
		diag_error(&p->diag, NO_SPAN,
			   "cannot write the journal of the events in /run/pantrace: %s",
			   strerror(-err));
	return err;
}

/*
 * Makes all events or none, even if this process is killed. If tracefs cannot be written, the first
 * event reports it.
 */
static int make_all(struct adding *a, const struct string_list *more, bool is_writable)
{
	struct tracefs_saved *journal = NULL;
	int err = is_writable ? begin_journal(a, &journal) : 0;

	for (size_t i = 0; i < a->events.len && !err; i++)
		err = make_event(a, &a->events.items[i]);
	if (!err && a->command->o.cache)
		err = keep_all(a, more);
	if (err)
		remove_all(a);
	if (journal)
		tracefs_saved_discard(journal);
	guard_end(a->command->kernel);
	return err;
}

/* "  probe_demo:handle    (on handle:4 in /tmp/demo with len)" */
static void tell_event(struct adding *a, const struct new_event *e, struct strbuf *out)
{
	const struct point_definition *def = &e->of->definition;
	char *name = xasprintf("%s:%s", e->group, e->name);

	strbuf_addf(out, "  %-20s (on ", name);
	escape_line(out, e->of->shown, strlen(e->of->shown));
	for (size_t i = 0; i < def->arguments.len; i++) {
		strbuf_addstr(out, i ? " " : " with ");
		escape_line(out, def->arguments.items[i].text,
			    strlen(def->arguments.items[i].text));
	}
	strbuf_addstr(out, ")\n");
	free(name);
}

static void tell_made(struct adding *a)
{
	const struct new_event *last = NULL;
	struct strbuf out = STRBUF_INIT;
	u32 count = 0;

	for (size_t i = 0; i < a->events.len; i++) {
		const struct new_event *e = &a->events.items[i];

		if (a->command->o.json)
			print_json(e, &out);
		if (!e->is_first)
			continue;
		last = e;
		count++;
	}
	if (a->command->o.json) {
		fwrite(out.data, 1, out.len, stdout);
		strbuf_release(&out);
		return;
	}
	strbuf_addf(&out, "Added new event%s:\n", count > 1 ? "s" : "");
	for (size_t i = 0; i < a->events.len; i++)
		if (a->events.items[i].is_first)
			tell_event(a, &a->events.items[i], &out);
	if (last)
		strbuf_addf(&out,
			    "\nYou can now use it in all perf tools, such as:\n\n"
			    "\tpantrace tpoint %s:%s\n"
			    "\tperf record -e %s:%s -aR sleep 1\n\n",
			    last->group, last->name, last->group, last->name);
	if (!a->command->o.quiet)
		fwrite(out.data, 1, out.len, stderr);
	strbuf_release(&out);
}

/* ---- both ---- */

/* Under a lock: only one process at a time chooses names and makes events. */
static int add_all(struct adding *a, const struct string_list *more)
{
	struct probe_command *p = a->command;
	const bool is_made = !p->o.dry_run;
	const int locked = is_made ? lasting_events_lock(p->kernel) : 0;
	int err;

	if (locked == -EAGAIN) {
		diag_error(&p->diag, NO_SPAN, "another pantrace is adding probes and does not end");
		diag_hint(&p->diag, "it may be stopped; `ps ax` shows it");
		return locked;
	}
	if (!locked && is_made)
		tracefs_sweep(p->kernel, false, NULL);
	lasting_events_each(p->kernel, note_taken, a);
	err = name_all(a);
	if (!err && is_made)
		err = make_all(a, more, !locked);
	else if (!err && p->o.cache)
		err = keep_all(a, more);
	if (is_made)
		lasting_events_unlock(p->kernel);
	return err;
}

static int run(struct probe_command *p, const struct string_list *definitions, bool is_live)
{
	struct translate_config config = probe_target_of(p);
	struct adding a = {.command = p};
	int err = -EINVAL;

	config.is_live = is_live;
	a.translator = translator_new(p->kernel, &p->diag, &config);
	if (a.translator)
		err = translate_all(&a, definitions);
	if (!err)
		err = is_live ? add_all(&a, definitions) : name_all(&a);
	if (!err && is_live)
		tell_made(&a);
	else if (!err)
		print_definitions(&a);
	else if (is_live)
		diag_hint(&p->diag, "no event was added");
	release(&a);
	return err ? EXIT_FAILED : EXIT_OK;
}

int probe_add(struct probe_command *p)
{
	return run(p, &p->o.add, true);
}

int probe_define(struct probe_command *p)
{
	return run(p, &p->o.definition, false);
}
