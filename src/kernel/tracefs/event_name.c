/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/event_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "kernel/tracefs/tracefs.h"

const char *event_name_bare(const char *word)
{
	if (str_starts(word, "tracepoint:"))
		return word + strlen("tracepoint:");
	return str_starts(word, "t:") ? word + strlen("t:") : word;
}

static int found(void *arg, const char *system, const char *event)
{
	*(bool *)arg = true;
	return 1;
}

bool event_name_is_known(struct kernel *k, const char *name)
{
	const char *colon = strpbrk(name, ":/");
	bool is_known = false;
	char *system;

	if (!colon || !colon[1] || colon == name)
		return false;
	system = xstrndup(name, (size_t)(colon - name));
	tracefs_each_event(k, system, colon + 1, found, &is_known);
	free(system);
	return is_known;
}

/* ---- events that there are not ---- */

struct offers {
	struct nearest events, pairs;
	bool any;
};

static int offer(void *arg, const char *system, const char *event)
{
	struct offers *o = arg;
	char pair[256];

	o->any = true;
	snprintf(pair, sizeof(pair), "%s:%s", system, event);
	nearest_offer(&o->pairs, pair);
	/* the right event in another system */
	if (str_eq(event, o->events.word) && !o->events.best[0][0]) {
		snprintf(o->events.best[0], sizeof(o->events.best[0]), "%.120s", pair);
		o->events.distance[0] = 0;
	}
	return 0;
}

/* name: "SYSTEM:EVENT" or "EVENT" */
static void offer_all(struct kernel *k, struct offers *o, const char *name)
{
	const char *colon = strchr(name, ':');

	nearest_init(&o->pairs, name);
	nearest_init(&o->events, colon ? colon + 1 : name);
	tracefs_each_event(k, "*", "*", offer, o);
}

static bool hint_of(const struct offers *o, struct diag *d)
{
	return nearest_hint(&o->pairs, d, "") || nearest_hint(&o->events, d, "");
}

bool event_name_hint(struct kernel *k, struct diag *d, const char *name)
{
	struct offers o = {0};

	offer_all(k, &o, name);
	return hint_of(&o, d);
}

int event_name_refuse(struct kernel *k, struct diag *d, struct span at, const char *system,
		      const char *event)
{
	const struct kernel_answer *a = kernel_ask(k, KERNEL_TRACEFS);
	struct strbuf name = STRBUF_INIT;
	struct offers o = {0};

	strbuf_addf(&name, "%s%s%s", system ? system : "", system ? ":" : "", event);
	offer_all(k, &o, name.data);
	if (!o.any) {
		diag_error(d, NO_SPAN, "the kernel's events cannot be read: %s",
			   a->why ? a->why : "tracefs is missing, or not readable for this user");
		diag_hint(d, "%s", a->hint ? a->hint : "`pantrace doctor` says what is missing");
		diag_code(d, geteuid() ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	} else {
		diag_error(d, at, "there is no event '%s'", name.data);
		if (!hint_of(&o, d))
			diag_hint(d, "`pantrace list tracepoint` shows all");
	}
	strbuf_release(&name);
	return o.any ? -ENOENT : -EACCES;
}

/* ---- fields ---- */

/*
 * "       field:const char * filename;    offset:16;      size:8; signed:0;": calls fn("filename",
 * "const char *").
 */
static int field_of(const char *line, size_t n, int (*fn)(void *, const char *, const char *),
		    void *arg)
{
	char *type = xstrndup(line, n), *bracket = strchr(type, '['), *name;
	const bool is_array = bracket != NULL;
	int rc = 0;

	if (bracket && !strchr(bracket, ' ')) /* "__data_loc char[] name" has the name behind */
		*bracket = '\0';
	name = strrchr(type, ' ');
	if (name) {
		char *shown;

		*name++ = '\0';
		shown = xasprintf("%s%s", type, is_array && !strchr(type, '[') ? "[]" : "");
		rc = fn(arg, name, shown);
		free(shown);
	}
	free(type);
	return rc;
}

int event_fields_each(const char *format, int (*fn)(void *arg, const char *name, const char *type),
		      void *arg)
{
	static const char mark[] = "\tfield:";
	int rc = 0;

	for (const char *p = format; !rc && (p = strstr(p, mark)) != NULL;) {
		size_t n;

		p += sizeof(mark) - 1;
		n = strcspn(p, ";\n");
		rc = field_of(p, n, fn, arg);
		p += n;
	}
	return rc;
}

static int offer_field(void *arg, const char *name, const char *type)
{
	nearest_offer(arg, name);
	return 0;
}

static void hint_field(struct diag *d, const char *event, const char *format, const char *field)
{
	struct nearest n;

	nearest_init(&n, field);
	event_fields_each(format, offer_field, &n);
	if (!nearest_hint(&n, d, ""))
		diag_hint(d, "`pantrace tpoint -v %s` shows its fields", event);
}

void event_field_refuse(struct diag *d, struct span at, const char *event, const char *format,
			const char *field)
{
	diag_error(d, at, "the event %s has no field '%s'", event, field);
	hint_field(d, event, format, field);
}
