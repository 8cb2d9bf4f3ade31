/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs and definitions of probes by build-id: perf's ~/.debug, read and written.
 *
 *	ROOT/.build-id/56/a784b4c0...8d -> ../../usr/bin/demo/56a784b4c0...8d
 *	ROOT/usr/bin/demo/56a784b4c0...8d/elf       a copy of the program
 *	ROOT/usr/bin/demo/56a784b4c0...8d/probes    its definitions (entries.h)
 *	ROOT/[kernel.kallsyms]/4a5a9b0a.../probes   those of a kernel
 *
 * All of it must belong to the user and be writable by nobody else, else it is refused. Below ROOT
 * no link is followed; those in .build-id are read, and lead nowhere but to a directory below ROOT.
 * Files are written beside their place and renamed, so that a reader never sees half of one.
 */
#ifndef PANTRACE_PROBE_CACHE_CACHE_H
#define PANTRACE_PROBE_CACHE_CACHE_H

#include "base/diag.h"
#include "probe/cache/entries.h"

#define CACHE_KERNEL "[kernel.kallsyms]" /* the origin of a kernel's entries */

struct probe_cache;

/*
 * path NULL: ~/.debug. create: it is made if it is missing; else -ENOENT without a message. Other
 * errors are said.
 */
int probe_cache_open(struct diag *d, const char *path, bool create, struct probe_cache **ret);
void probe_cache_close(struct probe_cache *c); /* NULL is fine */

/* What is known of one build-id. */
struct cached_file {
	char *build_id; /* hex */
	char *origin; /* the path of the program that was added, or CACHE_KERNEL */
	int directory; /* -1: the link leads nowhere */
	bool has_program; /* a copy of it is there */
	u64 size; /* bytes of its files */
};
void cached_file_release(struct cached_file *f); /* zeros are not fine: directory is closed */

/* 0, or -ENOENT: nothing is known of the build-id. Other errors are said. */
int probe_cache_find(struct probe_cache *c, struct diag *d, const char *build_id,
		     struct cached_file *ret);
/* The same; what is missing is made, with a copy of the program that origin names. */
int probe_cache_add(struct probe_cache *c, struct diag *d, const char *build_id, const char *origin,
		    struct cached_file *ret);
/*
 * In the order of build-ids; those that lead nowhere, too. Links that no cache has made are told
 * as warnings. Ends when fn returns non-zero, and returns that.
 */
int probe_cache_each(struct probe_cache *c, struct diag *d,
		     int (*fn)(void *arg, struct cached_file *f), void *arg);
/* All files of a build-id, and directories that are empty then. 0 or -errno, said. */
int probe_cache_remove(struct probe_cache *c, struct diag *d, const struct cached_file *f);

/* The definitions of a file: none if it has none. 0 or -errno, said. */
int cached_file_read(const struct cached_file *f, struct diag *d, struct cache_entries *ret);
/*
 * Reads them, has `change` change them, and writes them, while no other pantrace does: `change`
 * returns 0, or what is returned then without anything written.
 */
int cached_file_change(const struct cached_file *f, struct diag *d,
		       int (*change)(void *arg, struct cache_entries *e), void *arg);
/* What is wrong with it, malloc'ed; NULL = nothing. */
char *cached_file_check(const struct cached_file *f);
/* Whether the program that was added has gone or changed since. */
bool cached_file_is_outdated(const struct cached_file *f);

#endif
