/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dynamic linker's cache of libraries, both formats that ldconfig(8) has written. */
#ifndef PANTRACE_BINARY_ELF_LD_CACHE_H
#define PANTRACE_BINARY_ELF_LD_CACHE_H

#include "base/base.h"

/* Calls fn for each entry in the file's order (newest versions first) until it returns non-zero,
 * which is the result; -errno. */
int ld_cache_each(const char *file, int (*fn)(void *arg, const char *soname, const char *path),
		  void *arg);
int ld_cache_parse(const void *data, size_t len,
		   int (*fn)(void *arg, const char *soname, const char *path), void *arg);

#endif
