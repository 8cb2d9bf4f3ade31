/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/tracefs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"
#include "kernel/kernel_internal.h"

static bool is_tracefs(const char *path)
{
	struct statfs st;

	return !statfs(path, &st) &&
	       (st.f_type == TRACEFS_MAGIC || (st.f_type == DEBUGFS_MAGIC && !access(path, F_OK)));
}

const char *kernel_tracefs(struct kernel *k)
{
	/* The second is debugfs' automount; statfs on a path inside of it triggers that. */
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char events[64];

	if (k->tracefs_tried) {
		errno = k->tracefs ? 0 : k->tracefs_errno;
		return k->tracefs;
	}
	k->tracefs_tried = true;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(events, sizeof(events), "%s/events", places[i]);
		if (is_tracefs(places[i]) && !access(events, F_OK)) {
			k->tracefs = places[i];
			return k->tracefs;
		}
	}
	/* Where nobody mounted it, mounting it at its own place is what every tracer does. */
	if (!geteuid() && !mount("tracefs", places[0], "tracefs",
				 MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME, NULL)) {
		k->tracefs = places[0];
		return k->tracefs;
	}
	k->tracefs_errno = geteuid() ? EACCES : errno;
	errno = k->tracefs_errno;
	return NULL;
}

/* ---- events ---- */

/* Not every directory is one: enable, filter and header_page are files. readdir says so without a
 * stat. */
static bool is_directory(const struct dirent *e)
{
	return e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
}

static int compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

typedef VECTOR(char *) name_vector;

static void free_names(name_vector *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	vector_free(names);
}

/* The directories in fd that match the glob, sorted. Closes fd. 0 or -errno. */
static int read_names(int fd, const char *glob, name_vector *names)
{
	const bool all = str_eq(glob, "*");
	struct dirent *e;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		const int err = -errno;

		close(fd);
		return err;
	}
	while ((e = readdir(dir)))
		if (is_directory(e) && (all || glob_match(glob, e->d_name)))
			vector_push(names, xstrdup(e->d_name));
	closedir(dir);
	if (names->len)
		qsort(names->items, names->len, sizeof(*names->items), compare_names);
	return 0;
}

static int each_in_category(int events, const char *category, const char *glob,
			    int (*fn)(void *arg, const char *category, const char *event),
			    void *arg)
{
	name_vector names = {0};
	const int fd = openat(events, category, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0 || read_names(fd, glob, &names))
		return 0;
	for (size_t i = 0; !rc && i < names.len; i++)
		rc = fn(arg, category, names.items[i]);
	free_names(&names);
	return rc;
}

/* One event by its name: no directory is read. */
static int each_literal(int events, const char *category, const char *event,
			int (*fn)(void *arg, const char *category, const char *event), void *arg)
{
	char path[512];

	if (!*category || !*event || strchr(category, '/') || strchr(event, '/') ||
	    category[0] == '.' || event[0] == '.' ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s/enable", category, event) >= sizeof(path))
		return 0;
	return faccessat(events, path, F_OK, 0) ? 0 : fn(arg, category, event);
}

int tracefs_each_event(struct kernel *k, const char *category_glob, const char *event_glob,
		       int (*fn)(void *arg, const char *category, const char *event), void *arg)
{
	const char *root = kernel_tracefs(k);
	name_vector categories = {0};
	char path[64];
	int events, dir, rc;

	if (!root)
		return -errno;
	snprintf(path, sizeof(path), "%s/events", root);
	events = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (events < 0)
		return -errno;
	if (!glob_has_wildcard(category_glob) && !glob_has_wildcard(event_glob)) {
		rc = each_literal(events, category_glob, event_glob, fn, arg);
		close(events);
		return rc;
	}
	dir = fcntl(events, F_DUPFD_CLOEXEC, 0);
	rc = dir < 0 ? -errno : read_names(dir, category_glob, &categories);
	for (size_t i = 0; !rc && i < categories.len; i++) {
		/* The formats of ftrace's own records, which no one can attach to. */
		if (str_eq(categories.items[i], "ftrace"))
			continue;
		rc = each_in_category(events, categories.items[i], event_glob, fn, arg);
	}
	free_names(&categories);
	close(events);
	return rc;
}

/* ---- one event ---- */

static int event_path(struct kernel *k, const char *category, const char *event, const char *file,
		      char *ret, size_t size)
{
	const char *root = kernel_tracefs(k);

	if (!root)
		return -errno;
	if (strchr(category, '/') || strchr(event, '/') || category[0] == '.' || event[0] == '.')
		return -ENOENT;
	if ((size_t)snprintf(ret, size, "%s/events/%s/%s/%s", root, category, event, file) >= size)
		return -ENAMETOOLONG;
	return 0;
}

int tracefs_event_id(struct kernel *k, const char *category, const char *event)
{
	char path[512];
	const int err = event_path(k, category, event, "id", path, sizeof(path));

	return err ? err : kernel_read_number(path);
}

int tracefs_event_format(struct kernel *k, const char *category, const char *event, char **ret)
{
	char path[512];
	const int err = event_path(k, category, event, "format", path, sizeof(path));

	return err ? err : file_read(path, (size_t)4 << 20, ret, NULL);
}
