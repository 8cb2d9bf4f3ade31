/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a source file that debug information names. */
#ifndef PANTRACE_BINARY_DEBUG_SOURCE_H
#define PANTRACE_BINARY_DEBUG_SOURCE_H

#include <time.h>

#include "base/base.h"

enum { DEBUG_SOURCE_MAX = 64 << 20 }; /* bytes of a file that are believed */

struct debug_source {
	/* where it is; of a failure: where it was looked for first */
	char *path;
	char *text; /* NUL-terminated */
	size_t len;
	struct timespec modified;
};

/*
 * file: absolute, or below `directory`, where the program was compiled (NULL = unknown). prefix:
 * the folder that holds the source now (-s), below which the path and each of its ends is looked
 * for; symfs: the folder that stands for "/". Either may be NULL. 0 or -errno; -EFBIG; -EPERM: no
 * regular file; -EACCES, for root: a file that others may not read, since anybody's program names
 * any file. To be released in any case.
 */
int debug_source_read(const char *file, const char *directory, const char *prefix,
		      const char *symfs, struct debug_source *ret);
/* In words. */
const char *debug_source_why(int err);
void debug_source_release(struct debug_source *s);

#endif
