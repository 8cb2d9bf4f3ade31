/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/foreign.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

/* Opens NAME with O_PATH, which has no side effects; KIND: S_IFREG ...; flags: O_NOFOLLOW or 0 */
static int look_at(int at, const char *name, int flags, mode_t kind, int other,
		   struct stat *ret_stat)
{
	const int fd = openat(at, name, O_PATH | flags | O_CLOEXEC);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if ((st.st_mode & S_IFMT) != kind)
		rc = S_ISLNK(st.st_mode)		      ? -ELOOP
		     : S_ISDIR(st.st_mode) && kind == S_IFREG ? -EISDIR
							      : other;
	if (rc) {
		close(fd);
		return rc;
	}
	if (ret_stat)
		*ret_stat = st;
	return fd;
}

/* Opens the file of an O_PATH descriptor, even if its name has been taken by another file. */
static void place_of(int fd, char ret[32])
{
	snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

int foreign_directory(int at, const char *path, struct stat *ret_stat)
{
	char *copy = xstrdup(path), *rest = copy, *name;
	struct stat st;
	int fd = openat(at, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fstat(fd, &st) ? -errno : 0;

	while (!rc && (name = strsep(&rest, "/"))) {
		int below;

		if (!*name || str_eq(name, "."))
			continue;
		below = str_eq(name, "..") ? -EINVAL
					   : look_at(fd, name, O_NOFOLLOW, S_IFDIR, -ENOTDIR, &st);
		rc = MIN(below, 0);
		close(fd);
		fd = below;
	}
	free(copy);
	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (ret_stat)
		*ret_stat = st;
	return fd;
}

int foreign_root(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens the file that look_at() has found. */
static int open_there(int there, int flags)
{
	char place[32];
	int fd;

	if (there < 0)
		return there;
	place_of(there, place);
	fd = open(place, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	close(there);
	return fd;
}

int foreign_file(int at, const char *name, int flags, struct stat *ret_stat)
{
	return open_there(look_at(at, name, O_NOFOLLOW, S_IFREG, -EPERM, ret_stat), flags);
}

int foreign_open(const char *path, struct stat *ret_stat)
{
	return open_there(look_at(AT_FDCWD, path, 0, S_IFREG, -EPERM, ret_stat), O_RDONLY);
}

/* A sticky directory: everybody can create names in it, and remove only their own. */
static bool is_for_all(const struct stat *directory)
{
	return (directory->st_mode & S_ISVTX) && (directory->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_planted(const struct stat *above, const struct stat *st)
{
	return is_for_all(above) && st->st_uid != geteuid() && st->st_uid != above->st_uid;
}

bool foreign_is_planted(int directory)
{
	struct stat above, st;

	return !fstat(directory, &st) && !fstatat(directory, "..", &above, 0) &&
	       is_planted(&above, &st);
}

/*
 * As above; or a second name of a file: everybody can give one to a file of ours, where
 * fs.protected_hardlinks is off.
 */
static bool file_is_planted(const char *path, const struct stat *st)
{
	const char *const slash = strrchr(path, '/');
	char *directory = slash ? xstrndup(path, MAX((size_t)(slash - path), (size_t)1)) : NULL;
	struct stat above;
	const bool yes = !stat(directory ? directory : ".", &above) &&
			 (is_planted(&above, st) ||
			  (is_for_all(&above) && st->st_nlink > 1 && S_ISREG(st->st_mode)));

	free(directory);
	return yes;
}

/* What is there is looked at before it is opened: opening a FIFO waits for who reads it. */
static int open_or_make(const char *path, mode_t mode, bool alone)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), there;
	char place[32];
	struct stat st;

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	there = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (there < 0)
		return -errno;
	place_of(there, place);
	if (fstat(there, &st))
		fd = -errno;
	else if (S_ISLNK(st.st_mode) || file_is_planted(path, &st))
		fd = S_ISLNK(st.st_mode) ? -ELOOP : -EACCES;
	else if (alone && S_ISFIFO(st.st_mode))
		fd = -ESPIPE;
	else if ((fd = open(place, O_WRONLY | O_CLOEXEC | O_NOCTTY)) < 0)
		fd = -errno;
	close(there);
	return fd;
}

static int create(const char *path, mode_t mode, bool alone)
{
	const bool system = str_starts(path, "/dev/") && !str_starts(path, "/dev/shm/");
	const int fd = system ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode)
			      : open_or_make(path, mode, alone);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return system ? -errno : fd;
	if (fstat(fd, &st))
		rc = -errno;
	else if (S_ISREG(st.st_mode) && alone && flock(fd, LOCK_EX | LOCK_NB) &&
		 errno == EWOULDBLOCK)
		rc = -EBUSY;
	else if (S_ISREG(st.st_mode) && !alone && ftruncate(fd, 0))
		rc = -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int foreign_create(const char *path, mode_t mode)
{
	return create(path, mode, false);
}

int foreign_open_alone(const char *path, mode_t mode)
{
	return create(path, mode, true);
}

int foreign_read(int at, const char *name, size_t limit, char **ret_data, size_t *ret_len,
		 struct stat *ret_stat)
{
	const int fd = foreign_file(at, name, O_RDONLY, ret_stat);
	int rc;

	if (fd < 0)
		return fd;
	rc = file_read_fd(fd, limit, ret_data, ret_len);
	close(fd);
	return rc;
}

int foreign_socket(int at, const char *name, struct stat *ret_stat)
{
	return look_at(at, name, O_NOFOLLOW, S_IFSOCK, -ENOTSOCK, ret_stat);
}

int foreign_connect(int fd, int socket_path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	place_of(socket_path, address.sun_path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
}

int foreign_each(int directory, size_t most, int (*fn)(void *arg, int directory, const char *name),
		 void *arg)
{
	const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (entry = readdir(dir))) {
		if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."))
			continue;
		rc = most-- ? fn(arg, fd, entry->d_name) : -E2BIG;
	}
	closedir(dir);
	return rc;
}

bool foreign_is_ours(int directory)
{
	struct stat st;

	return !fstat(directory, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int foreign_remove(int directory, const char *name, int flags)
{
	struct stat st;

	if (fstat(directory, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return unlinkat(directory, name, flags) ? -errno : 0;
}
