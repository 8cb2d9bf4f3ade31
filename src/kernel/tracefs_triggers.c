/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs_triggers.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vector.h"

/* A histogram goes only after those that read its variables; chains are short. */
#define MAX_PASSES 8

struct placed {
	char *file, *undo;
};

struct placed_list {
	const char *directory;
	VECTOR(struct placed) items;
};

char *tracefs_trigger_undo(const char *line)
{
	const char *end = NULL;

	if (strstr(line, "hist:") == line || strstr(line, ":hist:")) {
		end = strrchr(line, '[');
		while (end && end > line && end[-1] == ' ')
			end--;
	} else {
		static const char *const tails[] = {":unlimited", ":count=", " if "};

		for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
			const char *const at = strstr(line, tails[i]);

			end = at && (!end || at < end) ? at : end;
		}
	}
	return xasprintf("!%.*s", (int)(end ? (size_t)(end - line) : strlen(line)), line);
}

static void note_triggers(struct placed_list *l, const char *path)
{
	char *text, *line, *rest;
	size_t len;

	if (file_read(path, 0, &text, &len) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (*line != '#')
			vector_push(&l->items,
				    (struct placed){xstrdup(path), tracefs_trigger_undo(line)});
	free(text);
}

/* directory/NAME/trigger for every event of a system. */
static void note_system(struct placed_list *l, const char *system)
{
	DIR *dir = opendir(system);
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		char *path;

		if (e->d_name[0] == '.' || e->d_type != DT_DIR)
			continue;
		path = xasprintf("%s/%s/trigger", system, e->d_name);
		note_triggers(l, path);
		free(path);
	}
	closedir(dir);
}

static void note_all(struct placed_list *l)
{
	char *events = xasprintf("%s/events", l->directory);
	DIR *dir = opendir(events);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *path;

		if (e->d_name[0] == '.' || e->d_type != DT_DIR)
			continue;
		path = xasprintf("%s/%s", events, e->d_name);
		note_system(l, path);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(events);
}

static bool take_back(const struct placed *p)
{
	const int fd = open(p->file, O_WRONLY | O_APPEND | O_CLOEXEC);
	const bool done = fd >= 0 && write_all(fd, p->undo, strlen(p->undo)) == 0;

	if (fd >= 0)
		close(fd);
	return done;
}

int tracefs_triggers_remove(const char *directory)
{
	struct placed_list l = {.directory = directory};
	size_t left, before;

	note_all(&l);
	left = l.items.len;
	for (int pass = 0; pass < MAX_PASSES && left; pass++) {
		before = left;
		for (size_t i = 0; i < l.items.len; i++) {
			struct placed *p = &l.items.items[i];

			if (!p->file || !take_back(p))
				continue;
			free(p->file);
			p->file = NULL;
			left--;
		}
		if (left == before)
			break;
	}
	for (size_t i = 0; i < l.items.len; i++) {
		free(l.items.items[i].file);
		free(l.items.items[i].undo);
	}
	vector_free(&l.items);
	return left ? -EBUSY : 0;
}
