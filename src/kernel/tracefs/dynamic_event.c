/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/dynamic_event.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/vector.h"
#include "kernel/tracefs/guard.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/walk.h"

/* Names of events have at most 63 characters (kernel/trace/trace_probe.h, MAX_EVENT_NAME_LEN). */
#define NAME_MAX_LEN 63

struct dynamic_events {
	struct kernel *kernel;
	struct diag *diag;
	struct arena arena;
	VECTOR(struct dynamic_event *) events;
	char group[TRACEFS_OWNER_NAME];
};

static const struct kind_row {
	const char *file; /* where it is defined */
	char letter; /* of the definition; 0 = none */
	const char *what; /* in messages */
} kinds[] = {
	[DYNAMIC_KPROBE] = {"kprobe_events", 'p', "the probe"},
	[DYNAMIC_KRETPROBE] = {"kprobe_events", 'r', "the return probe"},
	[DYNAMIC_UPROBE] = {"uprobe_events", 'p', "the probe"},
	[DYNAMIC_URETPROBE] = {"uprobe_events", 'r', "the return probe"},
	[DYNAMIC_EPROBE] = {"dynamic_events", 'e', "the event probe"},
	[DYNAMIC_SYNTHETIC] = {"synthetic_events", 0, "the synthetic event"},
};

struct dynamic_events *dynamic_events_new(struct kernel *k, struct diag *d)
{
	struct dynamic_events *set = xzalloc(sizeof(*set));
	const struct tracefs_owner self = tracefs_owner_self();

	set->kernel = k;
	set->diag = d;
	tracefs_owner_name(&self, '_', set->group);
	return set;
}

static bool is_taken(const struct dynamic_events *set, const char *group, const char *name)
{
	return dynamic_events_find(set, group, name) != NULL;
}

/* The kernel's name of what the user calls `shown`: valid, not too long, not taken. */
static const char *kernel_name(struct dynamic_events *set, enum dynamic_kind kind,
			       const char *group, const char *shown)
{
	char base[NAME_MAX_LEN + 1], name[NAME_MAX_LEN + 1];
	size_t n = 0;

	if (kind == DYNAMIC_SYNTHETIC)
		n = (size_t)snprintf(base, sizeof(base), "%s_", set->group);
	else if (isdigit((unsigned char)*shown) || !*shown)
		base[n++] = '_';
	/* Room for a number after it. */
	for (const char *p = shown; *p && n < NAME_MAX_LEN - 6; p++)
		base[n++] = isalnum((unsigned char)*p) ? *p : '_';
	base[n] = '\0';
	memcpy(name, base, sizeof(name));
	for (u32 i = 2; is_taken(set, group, name); i++)
		snprintf(name, sizeof(name), "%.*s_%u", NAME_MAX_LEN - 8, base, i % 100000);
	return arena_strdup(&set->arena, name);
}

/* Reports why the file that defines such events is missing. */
static int refuse_kind(struct dynamic_events *set, enum dynamic_kind kind)
{
	static const enum kernel_capability needs[] = {
		[DYNAMIC_KPROBE] = KERNEL_KPROBES, [DYNAMIC_KRETPROBE] = KERNEL_KPROBES,
		[DYNAMIC_UPROBE] = KERNEL_UPROBES, [DYNAMIC_URETPROBE] = KERNEL_UPROBES,
		[DYNAMIC_EPROBE] = KERNEL_TRACEFS, [DYNAMIC_SYNTHETIC] = KERNEL_SYNTHETIC_EVENTS,
	};
	const struct kernel_answer *const tracefs = kernel_ask(set->kernel, KERNEL_TRACEFS);
	const struct kernel_answer *const a =
		tracefs->yes ? kernel_ask(set->kernel, needs[kind]) : tracefs;

	diag_error(set->diag, NO_SPAN, "%s cannot be made: %s", kinds[kind].what,
		   a->yes || !a->why ? "the kernel does not offer it" : a->why);
	if (!a->yes && a->hint)
		diag_hint(set->diag, "%s", a->hint);
	diag_code(set->diag, !tracefs->yes && geteuid() ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

static bool has_file(struct dynamic_events *set, const char *file)
{
	char *path = xasprintf("%s/%s", kernel_tracefs(set->kernel), file);
	const bool yes = !access(path, F_OK);

	free(path);
	return yes;
}

bool dynamic_events_can_probe_events(struct kernel *k)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char group[TRACEFS_OWNER_NAME], line[160];
	const char *const root = kernel_tracefs(k);

	if (!root)
		return false;
	tracefs_owner_name(&self, '_', group);
	snprintf(line, sizeof(line), "e:%s/trial_of_event_probes sched.sched_switch\n", group);
	if (tracefs_append(root, "dynamic_events", line))
		return false;
	snprintf(line, sizeof(line), "-:%s/trial_of_event_probes\n", group);
	tracefs_append(root, "dynamic_events", line);
	return true;
}

static int refuse_event_probe(struct dynamic_events *set)
{
	diag_error(set->diag, NO_SPAN, "%s cannot be made: %s", kinds[DYNAMIC_EPROBE].what,
		   kernel_config(set->kernel, "EPROBE_EVENTS") == 'n'
			   ? "CONFIG_EPROBE_EVENTS is not set"
			   : "the kernel does not offer it");
	diag_hint(set->diag, "kernels since 5.15 do that are built with it");
	diag_code(set->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

static int write_definition(struct dynamic_events *set, const struct dynamic_event *e,
			    const char *modifier, const struct tracefs_command *tail)
{
	const struct kind_row *row = &kinds[e->kind];
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	char what[160];
	int err;

	if (row->letter)
		tracefs_command_add(&c, "%c%s:%s/%s ", row->letter, modifier, e->group, e->name);
	else
		tracefs_command_add(&c, "%s ", e->name);
	tracefs_command_join(&c, tail);
	snprintf(what, sizeof(what), "%s '%s'", row->what, e->shown);
	err = tracefs_command_write(set->kernel, kernel_tracefs(set->kernel), row->file, O_APPEND,
				    &c, set->diag, what);
	tracefs_command_release(&c);
	return err;
}

int dynamic_events_define_as(struct dynamic_events *set, enum dynamic_kind kind,
			     const char *modifier, const char *shown,
			     const struct tracefs_command *tail, const struct dynamic_event **ret)
{
	const struct kind_row *row = &kinds[kind];
	struct dynamic_event *e;
	int err;

	*ret = NULL;
	if (!kernel_tracefs(set->kernel) || !has_file(set, row->file))
		return refuse_kind(set, kind);
	guard_start(set->kernel);
	if (kind == DYNAMIC_EPROBE && !dynamic_events_can_probe_events(set->kernel))
		return refuse_event_probe(set);
	e = arena_new(&set->arena, struct dynamic_event);
	e->kind = kind;
	e->group = kind == DYNAMIC_SYNTHETIC ? "synthetic" : set->group;
	e->name = kernel_name(set, kind, e->group, shown);
	e->shown = arena_strdup(&set->arena, shown);
	err = write_definition(set, e, modifier, tail);
	if (err)
		return err;
	vector_push(&set->events, e);
	*ret = e;
	return 0;
}

int dynamic_events_define(struct dynamic_events *set, enum dynamic_kind kind, const char *shown,
			  const struct tracefs_command *tail, const struct dynamic_event **ret)
{
	return dynamic_events_define_as(set, kind, "", shown, tail, ret);
}

int dynamic_events_extend(struct dynamic_events *set, const struct dynamic_event *e,
			  const struct tracefs_command *tail)
{
	return write_definition(set, e, "", tail);
}

static int remove_event(struct dynamic_events *set, const struct dynamic_event *e)
{
	const struct kind_row *row = &kinds[e->kind];
	char *line = row->letter ? xasprintf("-:%s/%s\n", e->group, e->name)
				 : xasprintf("!%s\n", e->name);
	const int err = tracefs_append(kernel_tracefs(set->kernel), row->file, line);

	free(line);
	return err == -ENOENT ? 0 : err;
}

void dynamic_events_release(struct dynamic_events *set)
{
	if (!set)
		return;
	for (size_t i = set->events.len; i-- > 0;) {
		const struct dynamic_event *e = set->events.items[i];
		const int err = remove_event(set, e);

		if (err)
			diag_warning(set->diag, NO_SPAN, "the event %s/%s could not be removed: %s",
				     e->group, e->name, strerror(-err));
	}
	vector_free(&set->events);
	arena_release(&set->arena);
	free(set);
}

void dynamic_events_leave(struct dynamic_events *set)
{
	set->events.len = 0;
}

size_t dynamic_events_count(const struct dynamic_events *set)
{
	return set->events.len;
}

const struct dynamic_event *dynamic_events_at(const struct dynamic_events *set, size_t i)
{
	return set->events.items[i];
}

const struct dynamic_event *dynamic_events_find(const struct dynamic_events *set, const char *group,
						const char *name)
{
	for (size_t i = 0; i < set->events.len; i++) {
		const struct dynamic_event *e = set->events.items[i];

		if (str_eq(e->name, name) && str_eq(e->group, group))
			return e;
	}
	return NULL;
}
