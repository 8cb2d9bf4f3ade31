/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Warns about names of events and fields that no recording declares: a misspelt name would silently
 * select nothing.
 */
#include "cmd/report/names.h"

#include "base/glob.h"
#include "base/nearest.h"
#include "kernel/tracefs/event_name.h"

struct search {
	const char *name; /* glob of an event, or name of a field */
	size_t len; /* length of the field's name up to the first dot */
	const char *glob; /* glob of the event in the recording being checked */
	struct nearest near;
};

static int is_event(void *arg, const char *name, const char *short_name)
{
	struct search *s = arg;

	nearest_offer(&s->near, name);
	return glob_match(s->glob, name) || (short_name && glob_match(s->glob, short_name));
}

static int has_event(struct recording *r, void *arg)
{
	struct search *s = arg;

	s->glob = r->reader->is_kernel ? event_name_bare(s->name) : s->name;
	s->near.word = s->glob;
	return r->reader->each_event(r, is_event, s);
}

static int is_field(void *arg, const char *name, const char *short_name)
{
	struct search *s = arg;

	nearest_offer(&s->near, name);
	return !strncmp(name, s->name, s->len) && !name[s->len];
}

static int has_field(struct recording *r, void *arg)
{
	return r->reader->each_field(r, is_field, arg);
}

struct check {
	struct recordings *all;
	struct diag *diag;
};

static void check_field(void *arg, const char *name)
{
	static const char *const variables[] = {"comm", "pid", "tid", "cpu"};
	const struct check *const c = arg;
	struct search s = {.name = name, .len = strcspn(name, ".[")};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (str_eq(name, variables[i]))
			return;
	nearest_init(&s.near, name);
	if (recordings_each(c->all, has_field, &s))
		return;
	diag_warning(c->diag, NO_SPAN, "no event in what was read has a field '%s'", name);
	nearest_hint(&s.near, c->diag, "");
}

static void check_event(const struct check *c, const char *glob)
{
	struct search s = {.name = glob};

	nearest_init(&s.near, glob);
	if (recordings_each(c->all, has_event, &s))
		return;
	diag_warning(c->diag, NO_SPAN, "no event in what was read is called '%s'", glob);
	nearest_hint(&s.near, c->diag, "");
}

static int any(struct recording *r, void *arg)
{
	return 1;
}

void report_names_check(struct recordings *all, const struct expr *const *where, size_t nr_where,
			const struct string_list *fields, struct diag *d)
{
	const struct string_list *const events = &recordings_options(all)->events;
	struct check check = {all, d};

	if (!recordings_each(all, any, NULL))
		return;
	for (u32 i = 0; i < events->count; i++)
		check_event(&check, events->items[i]);
	for (size_t i = 0; i < nr_where; i++)
		predicate_names(where[i], check_field, &check);
	for (u32 i = 0; fields && i < fields->count; i++)
		check_field(&check, fields->items[i]);
}
