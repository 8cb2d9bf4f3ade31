/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths that other users can change: below /tmp, /dev/shm, /run/user and /proc/PID/root, and
 * whatever a traced process has named.
 *
 * Every level is opened by descriptor and no symbolic link is followed, so that nothing can be
 * exchanged between a look and the use. What is not a regular file is not opened at all: opening a
 * FIFO or a device may wait, or have effects. Names here are those of one level, without a slash.
 * Whose a file is and how large, the caller compares with what *ret_stat says.
 */
#ifndef PANTRACE_BASE_FOREIGN_H
#define PANTRACE_BASE_FOREIGN_H

#include <sys/stat.h>

#include "base/base.h"

/*
 * The directory PATH below the directory AT, or, if PATH begins with a slash, below the root
 * directory; ret_stat may be NULL. Returns an O_PATH descriptor, or -errno: -ELOOP or -ENOTDIR
 * where a level is a link, -EINVAL for "..".
 */
int foreign_directory(int at, const char *path, struct stat *ret_stat);
/*
 * The root directory as process PID sees it, for the functions here: an absolute path would lead
 * out of it.
 */
int foreign_root(pid_t pid);
/*
 * Opens a regular file; flags: O_RDONLY or O_RDWR. Returns a descriptor or -errno: -EISDIR or
 * -EPERM if it is not a regular file. ret_stat may be NULL.
 */
int foreign_file(int at, const char *name, int flags, struct stat *ret_stat);
/* Reads the whole file, as file_read(); -EFBIG beyond the limit. */
int foreign_read(int at, const char *name, size_t limit, char **ret_data, size_t *ret_len,
		 struct stat *ret_stat);
/*
 * Opens a regular file for reading by a path whose links are followed, as those of programs,
 * libraries and debug files are.
 */
int foreign_open(const char *path, struct stat *ret_stat);
/*
 * A file to be written anew, with MODE if there is none. The last level is not a link, except below
 * /dev, where links (stdout, fd/3) are the system's own. -EACCES: in a directory that everybody can
 * write to lies one that another user has made (Linux refuses that, too, where fs.protected_regular
 * is on), or a further name of one. What is not a regular file is written to. Returns a descriptor
 * or -errno.
 */
int foreign_create(const char *path, mode_t mode);
/*
 * The same, but what is in it stays, and it is not a FIFO (-ESPIPE). -EBUSY while another process
 * has it from here.
 */
int foreign_open_alone(const char *path, mode_t mode);
/*
 * Whether another user may have made this directory as a trap for us: it lies in a directory that
 * everybody can write to, such as /tmp.
 */
bool foreign_is_planted(int directory);
/* A socket with a name, as an O_PATH descriptor for foreign_connect(); -ENOTSOCK if it is none. */
int foreign_socket(int at, const char *name, struct stat *ret_stat);
/* connect() of the unbound socket FD to that very socket. 0 or -errno. */
int foreign_connect(int fd, int socket_path);
/*
 * Calls fn for the names in a directory (without "." and "..") until it returns other than 0, which
 * is then returned. -E2BIG: the directory has more than MOST names.
 */
int foreign_each(int directory, size_t most, int (*fn)(void *arg, int directory, const char *name),
		 void *arg);
/*
 * Whether a directory belongs to our user, and nobody else can write to it. Nothing may be removed
 * from other directories.
 */
bool foreign_is_ours(int directory);
/* Removes NAME from a directory that belongs to us. 0 or -errno; -EPERM: it does not. */
int foreign_remove(int directory, const char *name, int flags);

#endif
