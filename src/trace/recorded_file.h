/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files whose addresses a recording has: the very ones, or none. */
#ifndef PANTRACE_TRACE_RECORDED_FILE_H
#define PANTRACE_TRACE_RECORDED_FILE_H

#include "binary/elf/file.h"

struct recorded_file_search {
	/*
	 * directories in which it is looked for first: as PLACE/path, PLACE/name and
	 * PLACE/.build-id/xx/yyy[.debug]
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
