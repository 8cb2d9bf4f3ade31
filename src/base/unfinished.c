/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unfinished.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"

#define PREFIX	   ".pantrace-new-"
#define NAMES_MOST ((size_t)100000) /* of a directory that is swept */
#define TRIES	   100

static void new_name(char ret[UNFINISHED_NAME])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(ret, UNFINISHED_NAME, PREFIX "%x-%lx-%lx", (unsigned int)getpid(),
		 (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec);
}

/* Locked, and the name is still its own: nobody removes it from now on. */
static bool is_held(int directory, const char *name, int fd)
{
	struct stat held, there;

	return !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &held) &&
	       !fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

static int make_file(int directory, const char *name, mode_t mode)
{
	const int fd =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

static int make_directory(int directory, const char *name, mode_t mode)
{
	int fd;

	if (mkdirat(directory, name, mode))
		return -errno;
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A sweep may take it between making and locking: then another one is made. */
static int make(int directory, mode_t mode, char ret_name[UNFINISHED_NAME],
		int (*fn)(int directory, const char *name, mode_t mode))
{
	char name[UNFINISHED_NAME];
	int fd = -EEXIST;

	for (int i = 0; i < TRIES && (fd == -EEXIST || fd == -ENOENT); i++) {
		new_name(name);
		fd = fn(directory, name, mode);
		if (fd < 0)
			continue;
		/* without locks, too */
		if (is_held(directory, name, fd) ||
		    !faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
			memcpy(ret_name, name, sizeof(name));
			return fd;
		}
		close(fd);
		fd = -ENOENT;
	}
	return fd;
}

int unfinished_file(int directory, mode_t mode, char ret_name[UNFINISHED_NAME])
{
	return make(directory, mode, ret_name, make_file);
}

int unfinished_directory(int directory, char ret_name[UNFINISHED_NAME])
{
	return make(directory, 0777, ret_name, make_directory);
}

int unfinished_link(int directory, int fd, char ret_name[UNFINISHED_NAME])
{
	char self[32], name[UNFINISHED_NAME];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	flock(fd, LOCK_EX | LOCK_NB); /* nobody else has it */
	for (int i = 0; i < TRIES; i++) {
		new_name(name);
		if (!linkat(AT_FDCWD, self, directory, name, AT_SYMLINK_FOLLOW)) {
			memcpy(ret_name, name, sizeof(name));
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

/* ---- what killed runs left ---- */

/* Who may write to a directory may rename what lies in it, unless the directory is sticky. */
static bool names_are_safe(int directory)
{
	struct stat st;

	return !fstat(directory, &st) && (st.st_uid == geteuid() || !st.st_uid) &&
	       ((st.st_mode & S_ISVTX) || !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

static int remove_one(void *arg, int directory, const char *name)
{
	(void)arg;
	unlinkat(directory, name, 0);
	return 0;
}

static int sweep_one(void *arg, int directory, const char *name)
{
	const bool *const takes_directories = arg;
	struct stat st;
	int fd;

	if (!str_starts(name, PREFIX) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_uid != geteuid())
		return 0;
	if (S_ISREG(st.st_mode))
		fd = foreign_file(directory, name, O_RDWR, NULL);
	else if (S_ISDIR(st.st_mode) && *takes_directories)
		fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	else
		return 0;
	if (fd < 0)
		return 0;
	if (is_held(directory, name, fd)) {
		if (S_ISDIR(st.st_mode))
			foreign_each(fd, NAMES_MOST, remove_one, NULL);
		unlinkat(directory, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	}
	close(fd);
	return 0;
}

void unfinished_sweep(int directory)
{
	bool takes_directories = names_are_safe(directory);

	foreign_each(directory, NAMES_MOST, sweep_one, &takes_directories);
}
