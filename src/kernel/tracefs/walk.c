/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

void tracefs_each_folder(const char *path, void (*fn)(void *arg, const char *name), void *arg)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
			fn(arg, e->d_name);
	closedir(dir);
}

struct walk {
	const char *directory, *system;
	void (*fn)(void *arg, const char *system, const char *event);
	void *arg;
};

static void walk_event(void *arg, const char *event)
{
	struct walk *w = arg;

	w->fn(w->arg, w->system, event);
}

static void walk_system(void *arg, const char *system)
{
	struct walk *w = arg;
	char *path = xasprintf("%s/events/%s", w->directory, system);

	w->system = system;
	tracefs_each_folder(path, walk_event, w);
	free(path);
}

void tracefs_each_event_folder(const char *directory,
			       void (*fn)(void *arg, const char *system, const char *event),
			       void *arg)
{
	struct walk w = {.directory = directory, .fn = fn, .arg = arg};
	char *path = xasprintf("%s/events", directory);

	tracefs_each_folder(path, walk_system, &w);
	free(path);
}

bool tracefs_lists(const char *directory, const char *file, const char *word)
{
	char *path = xasprintf("%s/%s", directory, file), *text, *one, *rest;
	bool found = false;

	if (!file_read(path, 1 << 16, &text, NULL)) {
		for (one = strtok_r(text, " \n", &rest); one && !found;
		     one = strtok_r(NULL, " \n", &rest))
			found = str_eq(one, word);
		free(text);
	}
	free(path);
	return found;
}

int tracefs_append(const char *directory, const char *file, const char *text)
{
	char *path = xasprintf("%s/%s", directory, file);
	const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	int err;

	free(path);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text, strlen(text));
	if (close(fd) && !err)
		err = -errno;
	return err;
}
