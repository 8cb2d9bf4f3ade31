/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is there when it is whole, and not before: it has no name while it is written, so
 * that nothing is left of it, whatever ends the process.
 *
 *	rc = new_file_open(&f, path, replaces);
 *	... write to f.fd ...
 *	rc = rc ?: new_file_keep(&f);
 *	new_file_drop(&f);	// in any case
 */
#ifndef PANTRACE_BASE_NEW_FILE_H
#define PANTRACE_BASE_NEW_FILE_H

#include "base/base.h"

struct new_file {
	int fd;
	/* the rest is its own */
	int directory; /* -1: what is no regular file, written as it is */
	char *name;
	char *temporary; /* NULL = it has no name yet */
	bool replaces, keeps_fd;
};

/*
 * PATH "-" is standard output; a device, FIFO or socket is written to. REPLACES: a file that is
 * there goes when this one is kept; a link goes itself, not what it leads to. 0, or -errno: -EEXIST
 * if one is there that is not to be replaced. ret->fd is -1 then.
 */
int new_file_open(struct new_file *ret, const char *path, bool replaces);
/* Gives it its name. 0 or -errno; -EEXIST: somebody else did meanwhile. */
int new_file_keep(struct new_file *f);
/* What was not kept is gone. */
void new_file_drop(struct new_file *f);

#endif
