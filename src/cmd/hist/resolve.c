/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves the words of a specification: events and fields. */
#include "cmd/hist/hist.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"
#include "types/tracefs_format.h"

/* ---- the events ---- */

struct found_event {
	struct arena *arena;
	const char *system;
	u32 count;
};

static int note_system(void *arg, const char *system, const char *event)
{
	struct found_event *f = arg;

	f->system = arena_strdup(f->arena, system);
	f->count++;
	return 0;
}

/* Finds the system of an event that was named without one. */
static int find_system(struct hist_run *run, struct span at, const char **system, const char *event)
{
	struct found_event f = {.arena = run->arena};

	tracefs_each_event(run->kernel, *system ? *system : "*", event, note_system, &f);
	if (!f.count)
		return event_name_refuse(run->kernel, run->diag, at, *system, event);
	if (f.count > 1) {
		diag_error(run->diag, at, "there are %u events '%s'", f.count, event);
		diag_hint(run->diag, "name its system: %s:%s", f.system, event);
		return -EINVAL;
	}
	*system = f.system;
	return 0;
}

static int read_record(struct hist_run *run, const char *system, const char *event,
		       const struct type **ret)
{
	const char *print;
	char *format;
	int err = tracefs_event_format(run->kernel, system, event, &format);

	if (err) {
		diag_error(run->diag, NO_SPAN, "cannot read the format of %s:%s: %s", system, event,
			   strerror(-err));
		return err;
	}
	err = tracefs_format_parse(run->types, system, arena_strdup(run->arena, format), ret,
				   &print);
	free(format);
	if (err)
		diag_error(run->diag, NO_SPAN, "the format of %s:%s is not understood", system,
			   event);
	return err;
}

static const struct hist_definition *find_definition(const struct hist_run *run,
						     const struct hist_spec *s)
{
	for (u32 i = 0; !s->system && i < run->ndefinitions; i++)
		if (str_eq(run->definitions[i].name, s->event))
			return &run->definitions[i];
	return NULL;
}

/* The kernel's name of a dynamic event. */
static const struct dynamic_event *find_dynamic(const struct hist_run *run, const char *name)
{
	for (size_t i = 0; i < dynamic_events_count(run->events); i++)
		if (str_eq(dynamic_events_at(run->events, i)->shown, name))
			return dynamic_events_at(run->events, i);
	return NULL;
}

int hist_resolve_spec(struct hist_run *run, struct hist_spec *s)
{
	const struct hist_definition *definition = find_definition(run, s);
	const struct dynamic_event *dynamic;
	const struct type *record;
	int err;

	if (definition && !run->events) {
		s->definition = definition;
		s->shown = s->event;
		return hist_spec_resolve(s, run->diag, run->types, definition->record);
	}
	dynamic = definition ? find_dynamic(run, s->event) : NULL;
	if (dynamic) {
		s->shown = s->event;
		s->system = dynamic->group;
		s->event = dynamic->name;
	}
	err = find_system(run, s->event_at, &s->system, s->event);
	if (!err)
		err = read_record(run, s->system, s->event, &record);
	if (err)
		return err;
	s->has_latency = run->latency.from_event != NULL;
	return hist_spec_resolve(s, run->diag, run->types, record);
}

static int check_match(struct hist_run *run, const char *system, const char *event,
		       const char *field)
{
	const struct type *record;
	const struct type_member *m;
	u32 offset;
	int err;

	if (str_eq(field, "common_pid"))
		return 0;
	err = read_record(run, system, event, &record);
	if (err)
		return err;
	m = type_find_member(run->types, record, field, &offset);
	if (m && type_is_integer(m->type))
		return 0;
	diag_error(run->diag, run->latency.match_at, "%s:%s has no field '%s' that is a number",
		   system, event, field);
	diag_hint(run->diag, "`pantrace list -v %s:%s` shows its fields", system, event);
	return -ENOENT;
}

int hist_resolve_latency(struct hist_run *run)
{
	struct hist_latency *l = &run->latency;
	const struct hist_spec *to = &run->specs.items[0];
	int err = find_system(run, l->from_at, &l->from_system, l->from_event);

	if (!err)
		err = check_match(run, l->from_system, l->from_event, l->from_field);
	if (!err)
		err = check_match(run, to->system, to->event, l->to_field);
	return err;
}
