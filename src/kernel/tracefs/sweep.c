/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/sweep.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "kernel/tracefs/instance_remove.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/walk.h"

struct sweeper {
	struct kernel *kernel;
	const char *root;
	bool only_look;
	struct sweep_report *report; /* may be NULL */
	struct hashmap owners; /* "PID START" -> dead or alive, asked once */
};

static char is_dead[1], is_alive[1];

static void note(struct sweeper *s, enum swept_kind kind, const char *name, int error)
{
	if (!s->report)
		return;
	vector_push(&s->report->items, (struct swept){kind, xstrdup(name), error});
	s->report->failed += error != 0;
}

static bool belongs_to_dead(struct sweeper *s, const char *name)
{
	struct tracefs_owner owner;
	const char *rest;
	bool is_new;
	void **state;

	if (!tracefs_owner_parse(name, &owner, &rest))
		return false;
	state = hashmap_put(&s->owners, name, (size_t)(rest - name), &is_new);
	if (is_new)
		*state = tracefs_owner_alive(s->kernel, &owner) ? is_alive : is_dead;
	return *state == is_dead;
}

/* ---- instances ---- */

static void sweep_instance(void *arg, const char *name)
{
	struct sweeper *s = arg;
	char *path;
	int error = 0;

	if (!belongs_to_dead(s, name))
		return;
	path = xasprintf("%s/instances/%s", s->root, name);
	if (!s->only_look && rmdir(path) && errno != ENOENT)
		error = -tracefs_instance_remove(path, 1);
	note(s, SWEPT_INSTANCE, name, error);
	free(path);
}

static void sweep_instances(struct sweeper *s)
{
	char *path = xasprintf("%s/instances", s->root);

	tracefs_each_folder(path, sweep_instance, s);
	free(path);
}

/* ---- events ---- */

/* "p:pantrace_71_3300/f vfs_read" -> "pantrace_71_3300/f"; of synthetic events "pantrace_71_3300_f
 * u64 x". */
static char *event_name(const char *line, bool synthetic)
{
	const char *p = line;
	size_t len;

	if (!synthetic) {
		p = strchr(line, ':');
		if (!p)
			return NULL;
		p++;
	} else if (str_starts(p, "s:")) {
		p += 2;
	}
	len = strcspn(p, " \t;\n");
	return len ? xstrndup(p, len) : NULL;
}

/* skip: kinds of definitions that another file shows, too. */
static void sweep_events(struct sweeper *s, const char *file, bool synthetic, const char *skip)
{
	char *path = xasprintf("%s/%s", s->root, file), *text, *line, *rest;
	const int err = file_read(path, (size_t)64 << 20, &text, NULL);

	free(path);
	if (err)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *name = event_name(line, synthetic), *command;
		int error = 0;

		if (name && !strchr(skip, line[0]) && belongs_to_dead(s, name)) {
			command = xasprintf(synthetic ? "!%s\n" : "-:%s\n", name);
			if (!s->only_look)
				error = -tracefs_append(s->root, file, command);
			note(s, synthetic ? SWEPT_SYNTHETIC : SWEPT_PROBE, name,
			     error == ENOENT ? 0 : error);
			free(command);
		}
		free(name);
	}
	free(text);
}

/*
 * Values have names without blanks; a probe event that was being made is "GROUP/NAME PLACE", an
 * instance "instances/NAME".
 */
static void note_journaled(void *arg, const char *what, int error)
{
	note(arg,
	     strchr(what, ' ')		      ? SWEPT_PROBE
	     : str_starts(what, "instances/") ? SWEPT_INSTANCE
					      : SWEPT_SETTING,
	     what, error);
}

int tracefs_sweep(struct kernel *k, bool only_look, struct sweep_report *report)
{
	struct sweeper s = {.kernel = k, .only_look = only_look, .report = report};

	s.root = kernel_tracefs(k);
	if (!s.root)
		return -errno;
	/* In this order: an event that an instance has enabled cannot be removed. */
	tracefs_saved_each_stale(k, only_look, note_journaled, &s);
	lasting_buffers_sweep(k, only_look, note_journaled, &s);
	sweep_instances(&s);
	sweep_events(&s, "kprobe_events", false, "");
	sweep_events(&s, "uprobe_events", false, "");
	sweep_events(&s, "synthetic_events", true, "");
	sweep_events(&s, "dynamic_events", false, "prs"); /* event probes */
	hashmap_release(&s.owners);
	return 0;
}

void sweep_report_release(struct sweep_report *r)
{
	for (size_t i = 0; i < r->items.len; i++)
		free(r->items.items[i].name);
	vector_free(&r->items);
}
