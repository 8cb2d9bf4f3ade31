/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of the tool's own user (pantrace/protocol.h): of sockets and sessions, and of ring
 * files.
 */
#ifndef PANTRACE_USER_RUNTIME_H
#define PANTRACE_USER_RUNTIME_H

#include <sys/stat.h>

#include "base/diag.h"
#include "base/strbuf.h"

/* Our runtime directory. 0 or -ENAMETOOLONG. */
int user_runtime(char *ret, size_t size);
/* The same, made if it is not there. 0 or -errno with the reason in d. */
int user_runtime_make(char *ret, size_t size, struct diag *d);
/*
 * The directory of the descriptions of our sessions, made if it is not there; everybody's programs
 * read root's. 0 or -errno with the reason in d.
 */
int user_sessions_make(char *ret, size_t size, struct diag *d);
/* The same, as it is. An O_PATH descriptor, or -errno: -EPERM if it is not ours alone. */
int user_sessions_directory(void);
/*
 * Holds off our user's other tools that change descriptions, until the descriptor is closed: by a
 * file that nobody else can open. -ENOENT: there is no such directory; other -errno with the reason
 * in d: one of them does not come to an end.
 */
int user_sessions_lock(struct diag *d);
#define SESSIONS_LOCK ".lock"

/*
 * Makes the directory of a session's rings, BASE/NAME, and BASE if it is NULL: below /dev/shm,
 * where that cannot be ours below our runtime directory. Programs of other users, in root's
 * session, may add their own files to it and see no others'. 0 with the path, to be freed, or
 * -errno with the reason in d.
 */
int user_rings_make(const char *base, const char *runtime, const char *name, char **ret,
		    struct diag *d);
/* The lines of a description that say where rings are to be. */
void user_rings_lines(const char *directory, struct strbuf *text);
/* An O_PATH descriptor, or -errno: -EPERM if it is not ours. */
int user_rings_open(const char *path);
/* What a program may have put there. */
bool user_rings_name(const char *name);
/* What is not whole so long after its last change never will be. */
bool user_rings_late(const struct stat *st);
/* The files of rings, and the directory if nothing else is in it. */
void user_rings_remove(const char *path);
/* The files of rings, and the mark of the directory (user/leftovers.h). */
void user_rings_empty(int directory);

#endif
