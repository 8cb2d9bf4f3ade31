/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory that is there when all its files are whole, and not before: until then they have no
 * names, so that nothing is left of them, whatever ends the process. (File systems that know no
 * such files hold them in an unfinished directory meanwhile: unfinished.h.)
 *
 *	rc = new_directory_open(&d, path);
 *	fd = new_directory_file(&d, "metadata");	// any number
 *	rc = new_directory_keep(&d);
 *	new_directory_drop(&d);	// in any case
 */
#ifndef PANTRACE_BASE_NEW_DIRECTORY_H
#define PANTRACE_BASE_NEW_DIRECTORY_H

#include "base/unfinished.h"
#include "base/vector.h"

struct new_directory {
	/* private */
	int parent, below; /* below: the temporary one; -1 = it is not made yet */
	char *name;
	char temporary[UNFINISHED_NAME]; /* empty: none */
	VECTOR(struct new_directory_file {
		char *name;
		int fd;
	})
	files;
};

/* 0, or -errno: -EEXIST if there is anything of this name. */
int new_directory_open(struct new_directory *ret, const char *path);
/* A descriptor to write to, which stays the directory's; or -errno. */
int new_directory_file(struct new_directory *d, const char *name);
/* Gives all of it its name. 0 or -errno; -EEXIST: somebody made the name meanwhile. */
int new_directory_keep(struct new_directory *d);
/* Discards everything unless it was kept. Zero-initialised is fine. */
void new_directory_drop(struct new_directory *d);

#endif
