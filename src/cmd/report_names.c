/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A misspelt name selects nothing, silently: it is told. */
#include "cmd/report_names.h"

#include "base/glob.h"
#include "base/nearest.h"

/* The struct's fields are offered; true if one has the name. name: NULL-terminated, members behind dots are not looked at. */
static bool has_field(const struct ctf_type *t, const char *name, size_t len, struct nearest *near)
{
	for (u32 i = 0; t && i < t->count; i++) {
		const char *const shown = t->fields[i].shown;

		if (!strncmp(shown, name, len) && !shown[len])
			return true;
		nearest_offer(near, shown);
	}
	return false;
}

static bool trace_has_field(const struct ctf_metadata *m, const char *name, size_t len,
			    struct nearest *near)
{
	bool yes = false;

	for (size_t i = 0; i < m->streams.len && !yes; i++)
		yes = has_field(m->streams.items[i]->packet_context, name, len, near) ||
		      has_field(m->streams.items[i]->event_context, name, len, near);
	for (size_t i = 0; i < m->all_events.len && !yes; i++)
		yes = has_field(m->all_events.items[i]->context, name, len, near) ||
		      has_field(m->all_events.items[i]->fields, name, len, near);
	return yes;
}

static bool trace_has_event(const struct ctf_metadata *m, const char *glob, struct nearest *near)
{
	for (size_t i = 0; i < m->all_events.len; i++) {
		const char *const name = m->all_events.items[i]->name;

		if (glob_match(glob, name))
			return true;
		nearest_offer(near, name);
	}
	return false;
}

static void check_event(const struct ctf_set *set, const char *glob, struct diag *d)
{
	struct nearest near;

	nearest_init(&near, glob);
	for (u32 i = 0; i < ctf_set_traces(set); i++)
		if (trace_has_event(ctf_set_trace(set, i)->metadata, glob, &near))
			return;
	diag_warning(d, NO_SPAN, "no event in what was read is called '%s'", glob);
	nearest_hint(&near, d, "");
}

static void check_field(const struct ctf_set *set, const char *name, struct diag *d)
{
	struct nearest near;

	nearest_init(&near, name);
	for (u32 i = 0; i < ctf_set_traces(set); i++)
		if (trace_has_field(ctf_set_trace(set, i)->metadata, name, strcspn(name, ".["),
				    &near))
			return;
	diag_warning(d, NO_SPAN, "no event in what was read has a field '%s'", name);
	nearest_hint(&near, d, "");
}

void report_names_check(const struct ctf_set *set, const struct string_list *events,
			const struct ctf_condition *conditions, size_t count, struct diag *d)
{
	if (!ctf_set_traces(set))
		return;
	for (u32 i = 0; i < events->count; i++)
		check_event(set, events->items[i], d);
	for (size_t i = 0; i < count; i++)
		check_field(set, conditions[i].field, d);
}
