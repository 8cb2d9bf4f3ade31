/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lines of a source file a probe can be put at, of a function or of the file.
 *
 * A line counts if the first instruction of some statement of it has no other line: what is asked
 * for the line of that address gets this line. Where a function begins that is the line of its
 * declaration; in an inlined copy each line of it counts.
 */
#ifndef PANTRACE_BINARY_DEBUG_LISTING_H
#define PANTRACE_BINARY_DEBUG_LISTING_H

#include "base/vector.h"
#include "binary/elf/file.h"

/* A place of a line. */
struct debug_listed_line {
	u32 line;
	u64 address; /* virtual */
	bool is_inlined; /* the code is in another function, which this one is inlined in */
};

/* Where a function is declared; a file: line 0. */
struct debug_listed_function {
	char *file;
	u32 line;
};

struct debug_listing {
	char *file; /* as the debug information names it: absolute, or relative to `directory` */
	char *directory; /* where it was compiled; NULL = unknown */
	u32 base; /* the line that the function begins in; 0: of a file */
	VECTOR(struct debug_listed_line) lines; /* by line and address */
	/* -ENOENT: the nearest line of it that has code; 0 = there is none */
	u32 nearest;
	VECTOR(struct debug_listed_function) others; /* of the same name, which are not shown */
};

/*
 * Lines [from, to] of a function, counted from the one that it begins in; UINT32_MAX = to its end.
 * name as for debug_each_entry(); source NULL or the end of its file's path. 0, -ENODATA, -ENOENT
 * with file set: no such line has code; without: there is no such function. To be released in any
 * case.
 */
int debug_list_function(struct elf_file *f, const char *name, const char *source, u32 from, u32 to,
			struct debug_listing *ret);
/* The same of a file, which `source` is the end of. */
int debug_list_file(struct elf_file *f, const char *source, u32 from, u32 to,
		    struct debug_listing *ret);
/*
 * Calls fn for each function with code of its own that is declared at a line of a file, of which no
 * statement comes. fn's non-zero result, 0, -ENODATA or -ENOENT.
 */
int debug_each_declared(struct elf_file *f, const char *source, u32 line,
			int (*fn)(void *arg, u64 address), void *arg);
void debug_listing_release(struct debug_listing *l);

#endif
