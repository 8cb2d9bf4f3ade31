/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories: finding, making and removing what belongs to a build-id. */
#include "probe/cache/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/foreign.h"
#include "probe/cache/internal.h"

enum {
	MOST_PREFIXES = 256,
	MOST_IDS = 1 << 16, /* in one directory */
	MOST_FILES = 64, /* of one build-id */
	MOST_LEVELS = 64, /* of a path */
	LINK_MAX_LENGTH = 4096,
};

/* ---- the root ---- */

static char *default_path(struct diag *d)
{
	const char *home = getenv("HOME");

	if (home && *home == '/')
		return xasprintf("%s/.debug", home);
	diag_error(d, NO_SPAN, "no home directory for the cache of probes: HOME is not set");
	diag_hint(d, "name a directory with --buildid-dir");
	return NULL;
}

static int refuse(struct diag *d, const char *path, int err)
{
	if (err == -EPERM) {
		diag_error(d, NO_SPAN,
			   "the cache %s is not used: it must belong to this user, and nobody else "
			   "may write to it",
			   path);
		diag_hint(d, "set its owner and mode, or name another with --buildid-dir");
	} else if (err == -EXDEV) {
		diag_error(d, NO_SPAN,
			   "the cache %s is not made: the home directory is another user's", path);
		diag_hint(d, "sudo -H sets HOME, or name another place with --buildid-dir");
	} else if (err == -ELOOP || err == -ENOTDIR) {
		diag_error(d, NO_SPAN,
			   "the cache %s is not used: something in it is no directory, or a link",
			   path);
	} else {
		diag_error(d, NO_SPAN, "the cache %s cannot be used: %s", path, strerror(-err));
	}
	return err;
}

/* The descriptor of a directory just opened; -errno, -EPERM: others may write to it. */
static int own_only(int fd)
{
	if (fd < 0)
		return -errno;
	if (foreign_is_ours(fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* One level down. An O_RDONLY descriptor, or -errno. */
static int step(int at, const char *name, bool create)
{
	if (create && mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	return own_only(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* sudo may leave HOME as it was: in another user's home nothing is made. */
static int check_home(void)
{
	struct stat st;

	if (stat(getenv("HOME"), &st))
		return -errno;
	return st.st_uid == geteuid() || !st.st_uid ? 0 : -EXDEV;
}

/* A link is followed if it is our own choice, to a larger disk; not where another has laid it. */
static int open_root(const char *path, bool create)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct stat st;

	if (create && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		flags |= O_NOFOLLOW;
	else if (st.st_uid != geteuid() && st.st_uid)
		return -EPERM;
	return own_only(open(path, flags));
}

int probe_cache_open(struct diag *d, const char *path, bool create, struct probe_cache **ret)
{
	char *copy = path ? xstrdup(path) : default_path(d);
	int fd = copy && !path && create && access(copy, F_OK) ? check_home() : 0;

	if (!fd)
		fd = copy ? open_root(copy, create) : -ENOENT;
	if (fd < 0) {
		if (copy && (fd != -ENOENT || create))
			refuse(d, copy, fd);
		free(copy);
		return fd;
	}
	*ret = xzalloc(sizeof(**ret));
	**ret = (struct probe_cache){.path = copy, .root = fd};
	return 0;
}

void probe_cache_close(struct probe_cache *c)
{
	if (!c)
		return;
	close(c->root);
	free(c->path);
	free(c);
}

/* ---- paths below it ---- */

static int walk(struct probe_cache *c, const char *path, bool create)
{
	char *copy = xstrdup(path), *rest = copy, *name;
	int fd = fcntl(c->root, F_DUPFD_CLOEXEC, 0), levels = 0;

	if (fd < 0)
		fd = -errno;
	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		int below;

		if (!*name || str_eq(name, "."))
			continue;
		below = str_eq(name, "..") || ++levels > MOST_LEVELS ? -EINVAL
								     : step(fd, name, create);
		close(fd);
		fd = below;
	}
	free(copy);
	return fd;
}

static bool is_build_id(const char *id)
{
	const size_t n = strlen(id);

	return n >= 4 && n <= 128 && n % 2 == 0 && strspn(id, "0123456789abcdef") == n;
}

/* "/usr/bin/demo" -> "usr/bin/demo/ID"; "[kernel.kallsyms]" -> "[kernel.kallsyms]/ID" */
static char *place_of(const char *origin, const char *build_id)
{
	return xasprintf("%s/%s", origin + strspn(origin, "/"), build_id);
}

/* "../../usr/bin/demo/ID" -> "/usr/bin/demo"; NULL: no cache has written that. */
static char *origin_of_link(const char *link, const char *build_id)
{
	const char *path = str_starts(link, "../../") ? link + 6 : NULL;
	const size_t n = path ? strlen(path) : 0, m = strlen(build_id);

	if (n < m + 2 || *path == '/' || !str_ends(path, build_id) || path[n - m - 1] != '/')
		return NULL;
	return xasprintf("%s%.*s", *path == '[' ? "" : "/", (int)(n - m - 1), path);
}

/* ---- one build-id ---- */

void cached_file_release(struct cached_file *f)
{
	if (f->directory >= 0)
		close(f->directory);
	free(f->build_id);
	free(f->origin);
	*f = (struct cached_file){.directory = -1};
}

static int add_size(void *arg, int directory, const char *name)
{
	struct cached_file *f = arg;
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	f->has_program |= str_eq(name, "elf");
	if (S_ISREG(st.st_mode))
		f->size += (u64)st.st_size;
	return 0;
}

/* Takes what its link says. 0 or -errno: -EINVAL, no cache has made the link. */
static int open_file(struct probe_cache *c, const char *build_id, const char *link,
		     struct cached_file *ret)
{
	struct cached_file f = {.directory = -1, .origin = origin_of_link(link, build_id)};
	char *place;

	if (!f.origin)
		return -EINVAL;
	f.build_id = xstrdup(build_id);
	place = place_of(f.origin, build_id);
	f.directory = walk(c, place, false);
	free(place);
	if (f.directory < 0 && f.directory != -ENOENT) {
		const int err = f.directory;

		cached_file_release(&f);
		return err;
	}
	f.directory = MAX(f.directory, -1);
	if (f.directory >= 0)
		foreign_each(f.directory, MOST_FILES, add_size, &f);
	*ret = f;
	return 0;
}

static int read_link(int at, const char *name, char ret[LINK_MAX_LENGTH])
{
	const ssize_t n = readlinkat(at, name, ret, LINK_MAX_LENGTH - 1);

	if (n < 0 || n == LINK_MAX_LENGTH - 1)
		return n < 0 ? -errno : -ENAMETOOLONG;
	ret[n] = '\0';
	return 0;
}

static int prefix_directory(struct probe_cache *c, const char *build_id, bool create)
{
	char path[] = ".build-id/xx";

	memcpy(path + sizeof(path) - 3, build_id, 2);
	return walk(c, path, create);
}

int probe_cache_find(struct probe_cache *c, struct diag *d, const char *build_id,
		     struct cached_file *ret)
{
	char link[LINK_MAX_LENGTH];
	int fd, err;

	if (!is_build_id(build_id))
		return -ENOENT;
	fd = prefix_directory(c, build_id, false);
	err = fd < 0 ? fd : read_link(fd, build_id + 2, link);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = open_file(c, build_id, link, ret);
	if (!err && ret->directory < 0) {
		cached_file_release(ret);
		err = -ENOENT;
	}
	return err && err != -ENOENT ? refuse(d, c->path, err) : err;
}

/* The link is made last: what it leads to is there. One that leads elsewhere is replaced. */
static int make_link(struct probe_cache *c, const char *build_id, const char *place)
{
	const int fd = prefix_directory(c, build_id, true);
	char *link = xasprintf("../../%s", place), *made = xasprintf("%s.new", build_id + 2);
	int err = MIN(fd, 0);

	if (!err) {
		unlinkat(fd, made, 0);
		if (symlinkat(link, fd, made) || renameat(fd, made, fd, build_id + 2))
			err = -errno;
		close(fd);
	}
	free(link);
	free(made);
	return err;
}

int probe_cache_add(struct probe_cache *c, struct diag *d, const char *build_id, const char *origin,
		    struct cached_file *ret)
{
	int err = probe_cache_find(c, d, build_id, ret);
	char *place;

	if (err != -ENOENT)
		return err;
	if (!is_build_id(build_id) || (*origin != '/' && *origin != '['))
		return refuse(d, c->path, -EINVAL);
	place = place_of(origin, build_id);
	*ret = (struct cached_file){.build_id = xstrdup(build_id), .origin = xstrdup(origin)};
	ret->directory = walk(c, place, true);
	err = MIN(ret->directory, 0);
	if (err)
		refuse(d, c->path, err);
	else if (*origin == '/')
		err = cached_file_copy_program(ret, d);
	if (!err) {
		err = make_link(c, build_id, place);
		if (err)
			refuse(d, c->path, err);
	}
	free(place);
	if (err)
		cached_file_release(ret);
	return err;
}

/* ---- all of them ---- */

struct names {
	VECTOR(char *) list;
};

static int add_name(void *arg, int directory, const char *name)
{
	struct names *names = arg;

	vector_push(&names->list, xstrdup(name));
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sorted_names(int directory, size_t most, struct names *ret)
{
	const int err = foreign_each(directory, most, add_name, ret);

	if (ret->list.len)
		qsort(ret->list.items, ret->list.len, sizeof(*ret->list.items), compare_names);
	return err;
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->list.len; i++)
		free(names->list.items[i]);
	vector_free(&names->list);
}

static int each_of_prefix(struct probe_cache *c, struct diag *d, int at, const char *prefix,
			  int (*fn)(void *arg, struct cached_file *f), void *arg)
{
	const int fd = step(at, prefix, false);
	char link[LINK_MAX_LENGTH];
	struct names names = {0};
	int rc = fd < 0 ? fd : sorted_names(fd, MOST_IDS, &names);

	for (size_t i = 0; i < names.list.len && !rc; i++) {
		char *id = xasprintf("%s%s", prefix, names.list.items[i]);
		struct cached_file f;
		int err = is_build_id(id) ? read_link(fd, names.list.items[i], link) : -EINVAL;

		if (!err)
			err = open_file(c, id, link, &f);
		if (err) {
			diag_warning(d, NO_SPAN, "%s/.build-id/%s/%s is passed over: %s", c->path,
				     prefix, names.list.items[i],
				     err == -EINVAL ? "it is no link of a cache" : strerror(-err));
		} else {
			rc = fn(arg, &f);
			cached_file_release(&f);
		}
		free(id);
	}
	names_release(&names);
	if (fd >= 0)
		close(fd);
	return rc;
}

int probe_cache_each(struct probe_cache *c, struct diag *d,
		     int (*fn)(void *arg, struct cached_file *f), void *arg)
{
	const int fd = walk(c, ".build-id", false);
	struct names names = {0};
	int rc = fd < 0 ? fd : sorted_names(fd, MOST_PREFIXES, &names);

	if (fd == -ENOENT)
		return 0;
	if (rc < 0)
		refuse(d, c->path, rc);
	for (size_t i = 0; i < names.list.len && !rc; i++)
		if (strlen(names.list.items[i]) == 2)
			rc = each_of_prefix(c, d, fd, names.list.items[i], fn, arg);
	names_release(&names);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- removing ---- */

/* The directories of a path from its end on, as long as they are empty. */
static void remove_empty(struct probe_cache *c, const char *path)
{
	char *copy = xstrdup(path), *slash;

	do {
		int above;

		slash = strrchr(copy, '/');
		if (slash)
			*slash = '\0';
		above = slash ? walk(c, copy, false) : fcntl(c->root, F_DUPFD_CLOEXEC, 0);
		if (above < 0)
			break;
		if (unlinkat(above, slash ? slash + 1 : copy, AT_REMOVEDIR))
			slash = NULL;
		close(above);
	} while (slash);
	free(copy);
}

static int remove_one(void *arg, int directory, const char *name)
{
	return unlinkat(directory, name, 0) && errno != ENOENT && errno != EISDIR ? -errno : 0;
}

int probe_cache_remove(struct probe_cache *c, struct diag *d, const struct cached_file *f)
{
	char *place = place_of(f->origin, f->build_id), prefix[] = ".build-id/xx";
	const int links = prefix_directory(c, f->build_id, false);
	int err = links < 0 || unlinkat(links, f->build_id + 2, 0) ? -errno : 0;

	memcpy(prefix + sizeof(prefix) - 3, f->build_id, 2);
	if (links >= 0)
		close(links);
	if (!err && f->directory >= 0)
		err = foreign_each(f->directory, MOST_FILES, remove_one, NULL);
	remove_empty(c, place);
	remove_empty(c, prefix);
	free(place);
	return err ? refuse(d, c->path, err) : 0;
}
