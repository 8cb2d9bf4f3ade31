/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where indexes are kept: found, read, written, and thrown away when they are too many. Which file
 * has one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "binary/debug/internal.h"
#include "binary/elf/internal.h"

#define SMALL	   ((u64)4 << 20) /* bytes of .debug_info that are walked through in no time */
#define TOTAL_MAX  ((u64)512 << 20) /* bytes of all indexes */
#define FILES_MAX  4096
#define DAY	   (24 * 60 * 60)
#define UNFINISHED ".new-" /* of a file that is being written */

/* One level down; -EPERM: it is not ours alone. */
static int step(int at, const char *name, bool create)
{
	const int fd = create ? directory_make(at, name)
			      : openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || foreign_is_ours(fd))
		return fd < 0 && !create ? -errno : fd;
	close(fd);
	return -EPERM;
}

/* The user's folder for such files: it may be a link to a larger disk. */
static int open_home(bool create)
{
	const char *home = getenv("XDG_CACHE_HOME");
	char *path = home && *home == '/' ? xstrdup(home) : NULL;
	int fd;

	home = getenv("HOME");
	if (!path && home && *home == '/')
		path = xasprintf("%s/.cache", home);
	if (!path)
		return -ENOENT;
	if (create)
		mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (fd < 0 || foreign_is_ours(fd))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EPERM;
}

static int open_folder(bool create)
{
	static const char *const levels[] = {"pantrace", "index"};
	int fd = open_home(create);

	for (size_t i = 0; i < ARRAY_SIZE(levels) && fd >= 0; i++) {
		const int below = step(fd, levels[i], create);

		close(fd);
		fd = below;
	}
	return fd;
}

/* ---- reading ---- */

static int read_all(int fd, size_t len, u8 **ret)
{
	u8 *data = xmalloc(len + 1);
	const int err = read_all_at(fd, data, len, 0);

	if (err)
		free(data);
	else
		*ret = data;
	return err;
}

int index_load(const struct index_identity *of, u8 **ret, size_t *ret_len)
{
	const int folder = open_folder(false);
	struct stat st;
	int fd, err;

	if (folder < 0)
		return folder;
	fd = foreign_file(folder, of->build_id, O_RDONLY, &st);
	close(folder);
	if (fd < 0)
		return fd;
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		err = -EPERM;
	else if (!st.st_size || (u64)st.st_size > TOTAL_MAX)
		err = -EFBIG;
	else
		err = read_all(fd, (size_t)st.st_size, ret);
	/* The time says when it was used last. */
	if (!err && time(NULL) - st.st_mtime > DAY)
		futimens(fd, NULL);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return err;
}

/* ---- throwing away ---- */

struct kept {
	char *name;
	u64 size;
	time_t used;
};

struct listing {
	VECTOR(struct kept) files;
	u64 total;
};

static int note(void *arg, int folder, const char *name)
{
	struct listing *l = arg;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	if (str_starts(name, UNFINISHED)) {
		/* Of a writer that was killed. */
		if (time(NULL) - st.st_mtime > DAY)
			unlinkat(folder, name, 0);
		return 0;
	}
	vector_push(&l->files, (struct kept){xstrdup(name), (u64)st.st_size, st.st_mtime});
	l->total += (u64)st.st_size;
	return 0;
}

static int by_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

static void trim(int folder, const char *newest)
{
	struct listing l = {0};

	foreign_each(folder, FILES_MAX, note, &l);
	if (l.files.len)
		qsort(l.files.items, l.files.len, sizeof(*l.files.items), by_use);
	for (size_t i = 0; i < l.files.len; i++) {
		const struct kept *k = &l.files.items[i];

		if (l.total > TOTAL_MAX && !str_eq(k->name, newest) &&
		    !unlinkat(folder, k->name, 0))
			l.total -= k->size;
		free(k->name);
	}
	vector_free(&l.files);
}

/* ---- for people ---- */

static bool is_build_id(const char *name)
{
	return *name && !name[strspn(name, "0123456789abcdef")];
}

int index_each_kept(int (*fn)(void *arg, const struct index_kept *k), void *arg)
{
	const int folder = open_folder(false);
	struct listing l = {0};
	int err;

	if (folder < 0)
		return folder;
	err = foreign_each(folder, FILES_MAX, note, &l);
	close(folder);
	if (l.files.len)
		qsort(l.files.items, l.files.len, sizeof(*l.files.items), by_use);
	for (size_t i = 0; i < l.files.len; i++) {
		const struct kept *k = &l.files.items[i];

		if (err >= 0 && is_build_id(k->name))
			err = fn(arg, &(struct index_kept){k->name, k->size, k->used});
		free(k->name);
	}
	vector_free(&l.files);
	return err < 0 ? err : 0;
}

int index_remove(const char *build_id)
{
	const int folder = open_folder(false);
	int err;

	if (folder < 0)
		return folder;
	err = is_build_id(build_id) && !unlinkat(folder, build_id, 0) ? 0 : -errno;
	close(folder);
	return err;
}

/* ---- writing ---- */

void index_store(const struct index_identity *of, const u8 *data, size_t len)
{
	const int folder = len <= TOTAL_MAX ? open_folder(true) : -EFBIG;
	struct timespec now;
	char name[64];
	int fd, err;

	if (folder < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), UNFINISHED "%d-%lx%lx", (int)getpid(), (long)now.tv_sec,
		 now.tv_nsec);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		err = write_all(fd, data, len);
		if (close(fd) && !err)
			err = -errno;
		if (err || renameat(folder, name, folder, of->build_id))
			unlinkat(folder, name, 0);
		trim(folder, of->build_id);
	}
	close(folder);
}

/* ---- the index of a file ---- */

/* False: it has no build-id, or is a part of an archive. */
static bool identify(struct elf_file *f, struct index_identity *ret)
{
	const struct dwarf_file *d = &debug_of(f)->dwarf;
	const char *id = d->dwarf ? elf_file_build_id(d->file) : NULL;
	const char *shared = d->shared ? elf_file_build_id(d->shared->file) : NULL;

	*ret = (struct index_identity){0};
	if (!id || strlen(id) < 8 || d->file->image.fd < 0 || d->file->image.base)
		return false;
	memcpy(ret->build_id, id, MIN(strlen(id), sizeof(ret->build_id) - 1));
	if (shared)
		memcpy(ret->shared, shared, MIN(strlen(shared), sizeof(ret->shared) - 1));
	ret->size = d->file->image.file_size;
	ret->seconds = d->file->image.modified.tv_sec;
	ret->nanoseconds = (u32)d->file->image.modified.tv_nsec;
	return true;
}

static bool is_small(struct elf_file *f)
{
	const struct elf_section *s = elf_section_named(debug_of(f)->dwarf.file, ".debug_info");

	return !s || s->size < SMALL;
}

static struct debug_index *open_index(struct elf_file *f)
{
	const char *wish = getenv("PANTRACE_INDEX");
	struct debug_index *x = NULL;
	struct index_identity of;
	size_t len;
	u8 *data;

	if ((wish && str_eq(wish, "never")) || !identify(f, &of) ||
	    (is_small(f) && !(wish && str_eq(wish, "always"))))
		return NULL;
	if (!index_load(&of, &data, &len))
		x = index_parse(data, len, &of);
	if (x || !index_build(f, &of, &data, &len))
		return x;
	index_store(&of, data, len);
	return index_parse(data, len, &of);
}

const struct debug_index *debug_index(struct elf_file *f)
{
	struct debug *d = debug_of(f);

	if (!d->index_tried && d->dwarf.dwarf) {
		d->index_tried = true; /* a walk that builds it asks the same questions */
		d->index = open_index(f);
	}
	return d->index;
}

const struct debug_index *debug_index_opened(struct elf_file *f)
{
	return debug_of(f)->index;
}
