/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and directories that need a name before they are whole: where one takes the place of an
 * older one, and on file systems that have no unnamed files (vfat, NFS).
 *
 * They are called .pantrace-new-* and locked (flock) for as long as their maker lives. So an
 * unlocked one is what a killed run left, and the next run that writes into the directory removes
 * it. Where there are no locks it stays.
 */
#ifndef PANTRACE_BASE_UNFINISHED_H
#define PANTRACE_BASE_UNFINISHED_H

#include <sys/stat.h>

#include "base/base.h"

#define UNFINISHED_NAME 48

/* An empty file, open for writing: a descriptor or -errno. */
int unfinished_file(int directory, mode_t mode, char ret_name[UNFINISHED_NAME]);
/* An empty directory: a descriptor or -errno. */
int unfinished_directory(int directory, char ret_name[UNFINISHED_NAME]);
/* Gives the unnamed file FD such a name. 0 or -errno. */
int unfinished_link(int directory, int fd, char ret_name[UNFINISHED_NAME]);
/*
 * Removes what killed runs of our user left. Directories, with the files in them, only where no
 * other user can have given them that name.
 */
void unfinished_sweep(int directory);

#endif
