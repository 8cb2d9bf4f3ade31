/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/triggers.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vector.h"
#include "kernel/tracefs/walk.h"

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

static void note_triggers(void *arg, const char *system, const char *event)
{
	struct placed_list *l = arg;
	char *path = xasprintf("%s/events/%s/%s/trigger", l->directory, system, event);
	char *text, *line, *rest;

	if (!file_read(path, 0, &text, NULL)) {
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			if (*line != '#')
				vector_push(&l->items, (struct placed){xstrdup(path),
								       tracefs_trigger_undo(line)});
		free(text);
	}
	free(path);
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

	tracefs_each_event_folder(directory, note_triggers, &l);
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
