/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What DWARF says of a file's code: source lines, and functions with their parameters. From the
 * file itself or its separate debug file, by libdw; nothing is read before the first question.
 */
#ifndef PANTRACE_BINARY_DEBUG_LINES_H
#define PANTRACE_BINARY_DEBUG_LINES_H

#include "binary/elf/file.h"
#include "binary/location.h"
#include "types/type.h"

/* 0 if the file has DWARF that can be read, else -ENODATA. */
int debug_available(struct elf_file *f);
/* A file of split debug information that was looked for and is not there; NULL = none yet. */
const char *debug_lacks(struct elf_file *f);
/* The source line of a virtual address: 0, -ENODATA (no DWARF) or -ENOENT. The string lives as long
 * as f. */
int debug_line_at(struct elf_file *f, u64 address, const char **ret_file, u32 *ret_line);
/*
 * Calls fn for each virtual address where a probe at FILE:LINE belongs: one per function and per
 * inlined copy. FILE matches the end of a source path at a '/'. If no code stands at the line, the
 * nearest later one with code is meant; *ret_line (may be NULL) says which. With a column (0 = any)
 * only code of exactly that line and column. Returns fn's non-zero result, 0, -ENODATA or -ENOENT.
 */
int debug_each_address(struct elf_file *f, const char *file, u32 line, u32 column,
		       int (*fn)(void *arg, u64 address), void *arg, u32 *ret_line);

/*
 * The lowest line from `line` on that has code in such a file, if the index says it at once; 0 = it
 * does not.
 */
u32 debug_next_line(struct elf_file *f, const char *file, u32 line);
/* The path of a source file of the code that ends so; NULL = none. Lives as long as f. */
const char *debug_source_named(struct elf_file *f, const char *end);
/* "lib/a.c" is an end of "/src/lib/a.c", "b/a.c" and ".c" are none. */
bool debug_path_ends_with(const char *path, const char *end);

struct debug_inline {
	const char *function; /* mangled where the language does so */
	const char *file; /* NULL = unknown */
	u32 line;
};
/*
 * The functions that are inlined at a virtual address, innermost first, each with the place that is
 * executed in it. *ret_outer: the place in the function that has the address (function NULL).
 * Strings live as long as f.
 */
u32 debug_inlines_at(struct elf_file *f, u64 address, struct debug_inline *ret, u32 max,
		     struct debug_inline *ret_outer);

/*
 * The function that a source line belongs to whose code is at a virtual address, inlined or not;
 * its linkage name if it has one. NULL = unknown. Lives as long as f.
 */
const char *debug_function_of_line(struct elf_file *f, u64 address, const char *source, u32 line);

struct debug_function {
	const char *name; /* as in the source */
	const struct type *args; /* struct with a member per parameter; NULL = none */
	/*
	 * Same index as members; how the parameter is fetched when the function is entered:
	 * LOCATION_ACCESS, or LOCATION_NONE, whose access says why.
	 */
	const struct location *locations;
	const char *const *spellings; /* same index: the types as in the source, "const char*" */
	const struct type *retval; /* type_void() for void */
	struct location retval_location; /* when the function returns */
};
/*
 * The function that starts at a virtual address. Types, names and locations are allocated in the
 * store's arena; struct members are read when asked for, so f must stay open as long as the types
 * are used. 0, -ENODATA or -ENOENT.
 */
int debug_function_at(struct elf_file *f, u64 address, struct type_store *types,
		      struct debug_function *ret);
/* "struct x", "union x", "enum x" or a typedef's name as the file's own code defines it; NULL if it
 * does not. */
const struct type *debug_type_named(struct elf_file *f, struct type_store *types, const char *name);

#endif
