/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/new_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/unfinished.h"

/* Removed by a signal handler, on file systems without unnamed files (vfat, NFS). */
static struct {
	volatile sig_atomic_t directory;
	const char *volatile name;
} unfinished;

static void on_signal(int number)
{
	if (unfinished.name)
		unlinkat(unfinished.directory, unfinished.name, 0);
	signal(number, SIG_DFL);
	raise(number);
}

static int open_named(struct new_file *f, mode_t mode)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	const struct sigaction action = {.sa_handler = on_signal};
	struct sigaction old;

	f->fd = unfinished_file(f->directory, mode, f->temporary);
	if (f->fd < 0)
		return f->fd;
	unfinished.directory = f->directory;
	unfinished.name = f->temporary;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	return 0;
}

/* In f->directory, which is -errno if it could not be opened. */
static int open_there(struct new_file *f, mode_t mode)
{
	if (f->directory < 0)
		return f->directory;
	unfinished_sweep(f->directory);
	f->fd = openat(f->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (f->fd >= 0)
		return 0;
	return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL
		       ? open_named(f, mode)
		       : -errno;
}

static int open_beside(struct new_file *f, const char *path)
{
	const char *const slash = strrchr(path, '/');
	char *const directory = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");

	f->name = xstrdup(slash ? slash + 1 : path);
	f->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->directory < 0)
		f->directory = -errno;
	free(directory);
	return open_there(f, 0666);
}

int new_file_open(struct new_file *ret, const char *path, bool replaces)
{
	struct stat st, target;
	int rc;

	*ret = (struct new_file){.fd = -1, .directory = -1, .replaces = replaces};
	if (str_eq(path, "-")) {
		ret->fd = STDOUT_FILENO;
		ret->keeps_fd = true;
		return 0;
	}
	if (!lstat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		/* /dev/stdout, /dev/fd/3: links that the kernel makes may be followed */
		if (!S_ISREG(st.st_mode) && !stat(path, &target) && !S_ISREG(target.st_mode)) {
			ret->fd = S_ISDIR(target.st_mode) ? -EISDIR : foreign_create(path, 0666);
			rc = ret->fd < 0 ? ret->fd : 0;
			ret->fd = rc ? -1 : ret->fd;
			return rc;
		}
		if (!replaces)
			return -EEXIST;
	}
	rc = open_beside(ret, path);
	if (rc)
		new_file_drop(ret);
	return rc;
}

int new_file_open_at(struct new_file *ret, int directory, const char *name, mode_t mode)
{
	int rc;

	*ret = (struct new_file){.fd = -1, .replaces = true, .name = xstrdup(name)};
	ret->directory = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	if (ret->directory < 0)
		ret->directory = -errno;
	rc = open_there(ret, mode);
	if (rc)
		new_file_drop(ret);
	return rc;
}

bool new_file_older(const struct new_file *f, struct stat *ret)
{
	return f->directory >= 0 && !fstatat(f->directory, f->name, ret, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(ret->st_mode);
}

/* Links an unnamed file through /proc/self/fd. */
static int give_name(const struct new_file *f, const char *name)
{
	char link[32];

	if (*f->temporary)
		return renameat2(f->directory, f->temporary, f->directory, name, RENAME_NOREPLACE)
			       ? -errno
			       : 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, link, f->directory, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

int new_file_keep(struct new_file *f)
{
	int rc;

	if (f->directory < 0)
		return 0;
	rc = give_name(f, f->name);
	/* or a file system without RENAME_NOREPLACE */
	if ((rc == -EEXIST && f->replaces) || (rc == -EINVAL && *f->temporary)) {
		rc = *f->temporary ? 0 : unfinished_link(f->directory, f->fd, f->temporary);
		if (!rc && renameat(f->directory, f->temporary, f->directory, f->name))
			rc = -errno;
	}
	if (!rc) {
		unfinished.name = NULL;
		*f->temporary = '\0';
	}
	return rc;
}

void new_file_drop(struct new_file *f)
{
	unfinished.name = NULL;
	if (*f->temporary)
		unlinkat(f->directory, f->temporary, 0);
	if (f->fd >= 0 && !f->keeps_fd)
		close(f->fd);
	if (f->directory >= 0)
		close(f->directory);
	free(f->name);
	*f = (struct new_file){.fd = -1, .directory = -1};
}
