/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files whose addresses a recording has: the very ones, or none. */
#ifndef PANTRACE_TRACE_RECORDED_FILE_H
#define PANTRACE_TRACE_RECORDED_FILE_H

#include "binary/elf/file.h"

struct recorded_file_search {
	/*
	 * directories in which it, or its debug file, is looked for first: as PLACE/path[.debug],
	 * PLACE/name[.debug], [PLACE/usr/lib/debug/].build-id/xx/yyy with nothing, .debug, /elf or
	 * /debug behind it. Then come its own path, /usr/lib/debug, the caches of debuginfod's
	 * client and of perf.
	 */
	const char *const *places;
	size_t nr_places;
	const char *path;
	const char *build_id; /* hex, as recorded; "" = it was not */
	/* without build-id: the file at its path will do if it was not written since; 0 = none */
	s64 unchanged_since_ns;
};

/* NULL: it is not there. elf_file_close() ends it. */
struct elf_file *recorded_file_open(const struct recorded_file_search *s);

#endif
