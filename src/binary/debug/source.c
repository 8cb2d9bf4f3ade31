/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/source.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"

/*
 * Debug information names any file that its author likes: what root's tool reads for it, and shows,
 * must be what everybody may read.
 */
static bool may_be_shown(const struct stat *st)
{
	return geteuid() || st->st_mode & S_IROTH;
}

/* The path is taken over, and kept if it is the first one or the file is there. */
static int try_path(char *path, struct debug_source *ret)
{
	struct stat st;
	const int fd = foreign_open(path, &st);
	int err = MIN(fd, 0);

	if (!err && !may_be_shown(&st)) {
		close(fd);
		err = -EACCES;
	}
	if (!err) {
		err = file_read_fd(fd, DEBUG_SOURCE_MAX, &ret->text, &ret->len);
		ret->modified = st.st_mtim;
		close(fd);
	}
	if (err && ret->path) {
		free(path);
		return err;
	}
	free(ret->path);
	ret->path = path;
	return err;
}

/* "/build/app/lib/a.c": below the prefix itself, then "app/lib/a.c", "lib/a.c", "a.c". */
static int below_prefix(const char *prefix, const char *file, struct debug_source *ret)
{
	int err = -ENOENT;

	for (const char *end = file; end && err == -ENOENT; end = strchr(end, '/')) {
		end += strspn(end, "/");
		err = try_path(xasprintf("%s/%s", prefix, end), ret);
		if (err == -ENOTDIR)
			err = -ENOENT;
	}
	return err;
}

int debug_source_read(const char *file, const char *directory, const char *prefix,
		      const char *symfs, struct debug_source *ret)
{
	char *full =
		*file == '/' || !directory ? xstrdup(file) : xasprintf("%s/%s", directory, file);
	int err;

	*ret = (struct debug_source){0};
	if (prefix)
		err = below_prefix(prefix, file, ret);
	else if (symfs)
		err = try_path(xasprintf("%s%s%s", symfs, *full == '/' ? "" : "/", full), ret);
	else
		err = try_path(xstrdup(full), ret);
	free(full);
	return err;
}

const char *debug_source_why(int err)
{
	if (err == -EACCES && !geteuid())
		return "not everybody may read it; root's tool shows no file that only a program "
		       "says is its source";
	return err == -EPERM ? "it is no regular file" : strerror(-err);
}

void debug_source_release(struct debug_source *s)
{
	free(s->path);
	free(s->text);
}
