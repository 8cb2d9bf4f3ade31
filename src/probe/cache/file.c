/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of one build-id: the copy of the program, and the definitions. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "binary/elf/file.h"
#include "probe/cache/internal.h"
#include "probe/kernel_debug.h"

#define PROGRAM	    "elf"
#define DEFINITIONS "probes"

enum {
	COPY_STEP = 1 << 20,
	LOCK_TRIES = 100, /* of 20 ms */
};

static const char *reason(int err)
{
	return err == -EPERM || err == -EISDIR ? "it is no regular file"
	       : err == -ELOOP		       ? "it is a link"
	       : err == -EACCES ? "it belongs to another user, or others may write to it"
				: strerror(-err);
}

/* ---- files that appear whole ---- */

/* NAME.new, made anew: nobody else writes to our directories, so it is an earlier run's. */
static int begin_file(int directory, const char *name, mode_t mode)
{
	int fd;

	if (unlinkat(directory, name, 0) && errno != ENOENT)
		return -errno;
	fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

static int end_file(int directory, int fd, const char *made, const char *name, int err)
{
	if (!err && renameat(directory, made, directory, name))
		err = -errno;
	if (err)
		unlinkat(directory, made, 0);
	close(fd);
	return err;
}

/* Other users may open a directory for reading and lock it, so we do not wait for long. */
static int lock(const struct cached_file *f, struct diag *d)
{
	for (int i = 0; flock(f->directory, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
			diag_error(d, NO_SPAN, "the cached definitions of %s are in use: %s",
				   f->origin, strerror(errno));
			return -EBUSY;
		}
		usleep(20000);
	}
	return 0;
}

/* ---- the program ---- */

static int copy_bytes(int from, int to)
{
	char *buffer;
	ssize_t n;
	int err = 0;

	/* Where the file system can, the two share their blocks. */
	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0 ||
	       (n < 0 && errno == EINTR))
		;
	if (!n)
		return 0;
	if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	buffer = xmalloc(COPY_STEP);
	while (!err && (n = read(from, buffer, COPY_STEP)) != 0)
		err = n > 0 ? write_all(to, buffer, (size_t)n) : errno == EINTR ? 0 : -errno;
	free(buffer);
	return err;
}

/* Of what a descriptor stands for; malloc'ed, NULL = none. */
static char *build_id_of(int fd, const char *path)
{
	struct elf_file *f;
	const char *id;
	char *copy;

	if (elf_file_open_fd(fd, path, &f))
		return NULL;
	id = elf_file_build_id(f);
	copy = id ? xstrdup(id) : NULL;
	elf_file_close(f);
	return copy;
}

static bool has_build_id(int fd, const char *path, const char *wanted)
{
	char *id = build_id_of(fd, path);
	const bool yes = id && str_eq(id, wanted);

	free(id);
	return yes;
}

int cached_file_copy_program(const struct cached_file *f, struct diag *d)
{
	int from, to, err = lock(f, d);

	if (err)
		return err;
	from = foreign_open(f->origin, NULL);
	to = from < 0 ? from : begin_file(f->directory, PROGRAM ".new", 0755);
	err = to < 0 ? to : copy_bytes(from, to);
	/* It may have been replaced meanwhile. */
	if (!err && !has_build_id(to, f->origin, f->build_id))
		err = -ESTALE;
	if (to >= 0)
		err = end_file(f->directory, to, PROGRAM ".new", PROGRAM, err);
	if (from >= 0)
		close(from);
	flock(f->directory, LOCK_UN);
	if (err == -ESTALE)
		diag_error(d, NO_SPAN, "%s has changed while it was added to the cache", f->origin);
	else if (err)
		diag_error(d, NO_SPAN, "cannot copy %s to the cache: %s", f->origin,
			   strerror(-err));
	return err;
}

/* ---- definitions ---- */

/* *ret_line: of what cannot be understood, 0 = the file cannot be read. */
static int read_entries(const struct cached_file *f, struct cache_entries *ret, u32 *ret_line)
{
	char *text = NULL;
	size_t len;
	struct stat st;
	int err = foreign_read(f->directory, DEFINITIONS, CACHE_TEXT_MAX, &text, &len, &st);

	*ret_line = 0;
	if (err == -ENOENT)
		return 0;
	if (!err && (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)))
		err = -EACCES;
	if (!err)
		err = cache_entries_parse(ret, text, len, ret_line);
	free(text);
	return err;
}

int cached_file_read(const struct cached_file *f, struct diag *d, struct cache_entries *ret)
{
	u32 line;
	const int err = read_entries(f, ret, &line);

	if (!err)
		return 0;
	if (line)
		diag_error(d, NO_SPAN,
			   "the cached definitions of %s (%s) are damaged: line %u is neither a "
			   "definition nor one of its probes",
			   f->origin, f->build_id, line);
	else
		diag_error(d, NO_SPAN, "the cached definitions of %s (%s) cannot be read: %s",
			   f->origin, f->build_id, reason(err));
	if (line)
		diag_hint(d, "remove this build-id from the cache, and define them again");
	return err;
}

static int write_entries(const struct cached_file *f, const struct cache_entries *e)
{
	struct strbuf text = STRBUF_INIT;
	int fd, err = -EFBIG;

	cache_entries_format(e, &text);
	if (text.len <= CACHE_TEXT_MAX) {
		fd = begin_file(f->directory, DEFINITIONS ".new", 0644);
		err = fd < 0 ? fd
			     : end_file(f->directory, fd, DEFINITIONS ".new", DEFINITIONS,
					write_all(fd, text.data, text.len));
	}
	strbuf_release(&text);
	return err;
}

int cached_file_change(const struct cached_file *f, struct diag *d,
		       int (*change)(void *arg, struct cache_entries *e), void *arg)
{
	struct cache_entries e = {0};
	int err = lock(f, d);

	if (err)
		return err;
	err = cached_file_read(f, d, &e);
	if (!err)
		err = change(arg, &e);
	if (!err) {
		err = write_entries(f, &e);
		if (err)
			diag_error(d, NO_SPAN, "cannot write the cached definitions of %s: %s",
				   f->origin, strerror(-err));
	}
	cache_entries_release(&e);
	flock(f->directory, LOCK_UN);
	return err;
}

/* ---- whether it is what it says ---- */

static char *check_program(const struct cached_file *f)
{
	const int fd = foreign_file(f->directory, PROGRAM, O_RDONLY, NULL);
	char *id, *what = NULL;

	if (fd < 0)
		return xasprintf("its copy of the program cannot be read: %s", reason(fd));
	id = build_id_of(fd, f->origin);
	close(fd);
	if (!id)
		what = xstrdup("its copy of the program is damaged: it has no build-id");
	else if (!str_eq(id, f->build_id))
		what = xasprintf("its copy of the program has another build-id, %s", id);
	free(id);
	return what;
}

char *cached_file_check(const struct cached_file *f)
{
	struct cache_entries e = {0};
	char *what = NULL;
	u32 line;
	int err;

	if (f->directory < 0)
		return xstrdup("its directory is not there");
	if (f->has_program)
		what = check_program(f);
	if (what)
		return what;
	err = read_entries(f, &e, &line);
	if (err && line)
		what = xasprintf("its definitions are damaged in line %u", line);
	else if (err)
		what = xasprintf("its definitions cannot be read: %s", reason(err));
	cache_entries_release(&e);
	return what;
}

bool cached_file_is_outdated(const struct cached_file *f)
{
	char *id = NULL;
	bool yes;
	int fd;

	if (str_eq(f->origin, CACHE_KERNEL)) {
		id = kernel_build_id();
	} else if (*f->origin == '/') {
		fd = foreign_open(f->origin, NULL);
		if (fd >= 0) {
			id = build_id_of(fd, f->origin);
			close(fd);
		}
	} else {
		return false; /* what others have made: the vdso, a kcore */
	}
	yes = !id || !str_eq(id, f->build_id);
	free(id);
	return yes;
}
