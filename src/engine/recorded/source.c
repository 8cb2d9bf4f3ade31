/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/recorded/source.h"

#include "base/glob.h"
#include "base/hashmap.h"
#include "engine/recorded/live.h"

struct recorded_source {
	struct recordings *all;
	struct probe_recorded events;
	struct live_source *live; /* NULL = it reads files */
};

/* ---- what the compiler asks ---- */

struct event_search {
	const char *category, *event; /* globs */
	int (*fn)(void *arg, const char *category, const char *event);
	void *arg;
	struct hashmap seen; /* names already returned: several recordings may have them */
};

static int offer_name(void *arg, const char *name, const char *short_name)
{
	struct event_search *const s = arg;
	const char *const colon = strchr(name, ':');
	char *category;
	bool is_new;
	int rc = 0;

	if (!colon)
		return 0;
	category = xstrndup(name, (size_t)(colon - name));
	if (glob_match(s->category, category) && glob_match(s->event, colon + 1)) {
		hashmap_put(&s->seen, name, strlen(name), &is_new);
		rc = is_new ? s->fn(s->arg, category, colon + 1) : 0;
	}
	free(category);
	return rc;
}

static int offer_events(struct recording *r, void *arg)
{
	return r->reader->each_event(r, offer_name, arg);
}

static int each_event(void *arg, const char *category_glob, const char *event_glob,
		      int (*fn)(void *fn_arg, const char *category, const char *event),
		      void *fn_arg)
{
	struct recorded_source *const s = arg;
	struct event_search search = {category_glob, event_glob, fn, fn_arg, {0}};
	int rc;

	if (s->live)
		return live_source_each_event(s->live, category_glob, event_glob, fn, fn_arg);
	rc = recordings_each(s->all, offer_events, &search);
	hashmap_release(&search.seen);
	return rc;
}

struct format_search {
	const char *category, *event, *text;
};

/* Formats may differ in the event's number, which precedes the fields. */
static const char *fields_of(const char *text)
{
	const char *fields = strstr(text, "\nformat:");

	return fields ? fields : text;
}

static int find_format(struct recording *r, void *arg)
{
	struct format_search *const s = arg;
	const char *const text =
		r->reader->format ? r->reader->format(r, s->category, s->event) : NULL;

	if (!text)
		return 0;
	if (s->text && !str_eq(fields_of(s->text), fields_of(text)))
		return -EXDEV;
	s->text = text;
	return 0;
}

static int event_format(void *arg, const char *category, const char *event, const char **ret)
{
	struct recorded_source *const s = arg;
	struct format_search search = {category, event, NULL};
	int rc;

	if (s->live)
		return live_source_event_format(s->live, category, event, ret);
	rc = recordings_each(s->all, find_format, &search);
	*ret = search.text;
	return rc ? rc : search.text ? 0 : -ENOENT;
}

/* ---- opening ---- */

static struct recorded_source *source_new(const struct recordings_options *options)
{
	struct recorded_source *s = xzalloc(sizeof(*s));

	s->all = recordings_new(options);
	s->events = (struct probe_recorded){
		.arg = s, .each_event = each_event, .event_format = event_format};
	return s;
}

int recorded_source_open(const struct string_list *paths, struct diag *d,
			 struct recorded_source **ret)
{
	const struct recordings_options options = {
		/* a single recording with an unknown clock keeps its times */
		.recorded_times = paths->count == 1,
		.print = {.format = CTF_FORMAT_JSON}, /* thread names unescaped */
	};
	struct recorded_source *const s = source_new(&options);
	int rc = 0;

	for (u32 i = 0; i < paths->count && !rc; i++)
		rc = recordings_add(s->all, paths->items[i], d);
	if (!rc)
		rc = recordings_open(s->all, d);
	if (rc) {
		recorded_source_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

struct recorded_source *recorded_source_of_kernel(struct kernel *k)
{
	struct recorded_source *const s = source_new(&(struct recordings_options){0});

	s->live = live_source_new(k, s->all);
	s->events.is_live = true;
	return s;
}

void recorded_source_close(struct recorded_source *s)
{
	if (!s)
		return;
	recordings_release(s->all);
	live_source_release(s->live);
	free(s);
}

const struct probe_recorded *recorded_source_events(struct recorded_source *s)
{
	return &s->events;
}

struct recordings *recorded_source_recordings(struct recorded_source *s)
{
	return s->all;
}

struct live_source *recorded_source_live(struct recorded_source *s)
{
	return s->live;
}
