/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/new_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int new_directory_open(struct new_directory *ret, const char *path)
{
	size_t n = strlen(path);
	char *bare, *slash;
	struct stat st;
	int rc = 0;

	*ret = (struct new_directory){.parent = -1, .below = -1};
	while (n > 1 && path[n - 1] == '/')
		n--;
	bare = xstrndup(path, n);
	slash = strrchr(bare, '/');
	ret->name = xstrdup(slash ? slash + 1 : bare);
	if (!lstat(bare, &st)) {
		rc = -EEXIST;
	} else {
		if (slash)
			slash[slash == bare] = '\0';
		ret->parent = open(slash ? bare : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = ret->parent < 0 ? -errno : 0;
	}
	free(bare);
	if (rc)
		new_directory_drop(ret);
	else
		unfinished_sweep(ret->parent);
	return rc;
}

static int make_below(struct new_directory *d)
{
	if (d->below >= 0)
		return 0;
	d->below = unfinished_directory(d->parent, d->temporary);
	return MIN(d->below, 0);
}

int new_directory_file(struct new_directory *d, const char *name)
{
	int fd = d->below < 0 ? openat(d->parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
	int rc;

	if (fd < 0 && d->below < 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT &&
	    errno != EINVAL)
		return -errno;
	if (fd < 0) {
		rc = make_below(d);
		if (rc)
			return rc;
		fd = openat(d->below, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0666);
		if (fd < 0)
			return -errno;
	}
	vector_push(&d->files, (struct new_directory_file){xstrdup(name), fd});
	return fd;
}

/* Links a file without a name; one that has it already is there. */
static int give_name(const struct new_directory *d, const struct new_directory_file *f)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	if (!linkat(AT_FDCWD, link, d->below, f->name, AT_SYMLINK_FOLLOW) || errno == EEXIST)
		return 0;
	return -errno;
}

int new_directory_keep(struct new_directory *d)
{
	int rc = make_below(d);

	for (size_t i = 0; i < d->files.len && !rc; i++)
		rc = give_name(d, &d->files.items[i]);
	if (!rc && renameat2(d->parent, d->temporary, d->parent, d->name, RENAME_NOREPLACE))
		rc = -errno;
	if (rc == -EINVAL) /* a file system without RENAME_NOREPLACE */
		rc = renameat(d->parent, d->temporary, d->parent, d->name) ? -errno : 0;
	if (rc)
		return rc;
	*d->temporary = '\0';
	return 0;
}

void new_directory_drop(struct new_directory *d)
{
	const bool is_left = *d->temporary && d->below >= 0;

	if (!d->name)
		return;
	for (size_t i = 0; i < d->files.len; i++) {
		if (is_left)
			unlinkat(d->below, d->files.items[i].name, 0);
		close(d->files.items[i].fd);
		free(d->files.items[i].name);
	}
	vector_free(&d->files);
	if (d->below >= 0)
		close(d->below);
	if (is_left)
		unlinkat(d->parent, d->temporary, AT_REMOVEDIR);
	if (d->parent >= 0)
		close(d->parent);
	free(d->name);
	*d = (struct new_directory){.parent = -1, .below = -1};
}
