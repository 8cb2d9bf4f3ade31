/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by probe/cache/cache.c and probe/cache/file.c. */
#ifndef PANTRACE_PROBE_CACHE_INTERNAL_H
#define PANTRACE_PROBE_CACHE_INTERNAL_H

#include "probe/cache/cache.h"

struct probe_cache {
	char *path;
	int root;
};

/* The program that f->origin names, if it still has the build-id. 0 or -errno, said. */
int cached_file_copy_program(const struct cached_file *f, struct diag *d);

#endif
