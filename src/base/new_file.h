/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there when it is whole, and not before: it has no name while it is written, so
 * that nothing is left of it, whatever ends the process. (Where it needs one, see unfinished.h.)
 *
 *	rc = new_file_open(&f, path, replaces);
 *	... write to f.fd ...
 *	rc = rc ?: new_file_keep(&f);
 *	new_file_drop(&f);	// in any case
 */
#ifndef PANTRACE_BASE_NEW_FILE_H
#define PANTRACE_BASE_NEW_FILE_H

#include "base/unfinished.h"

struct new_file {
	int fd;
	/* private */
	int directory; /* -1: not a regular file, written directly */
	char *name;
	char temporary[UNFINISHED_NAME]; /* empty: an unnamed file */
	bool replaces, keeps_fd;
};

/*
 * PATH "-" is standard output; devices, FIFOs and sockets are written directly. REPLACES: an
 * existing file is replaced when this one is kept; a symbolic link is replaced itself, not its
 * target. 0, or -errno: -EEXIST if the file exists and is not to be replaced; ret->fd is -1 then.
 */
int new_file_open(struct new_file *ret, const char *path, bool replaces);
/* In a directory, whose descriptor stays the caller's; an existing file is replaced. */
int new_file_open_at(struct new_file *ret, int directory, const char *name, mode_t mode);
/* Whether it will replace a regular file, and what stat() says of that. */
bool new_file_older(const struct new_file *f, struct stat *ret);
/* Gives the file its name. 0 or -errno; -EEXIST: somebody created the name meanwhile. */
int new_file_keep(struct new_file *f);
/* Discards the file unless it was kept. */
void new_file_drop(struct new_file *f);

#endif
