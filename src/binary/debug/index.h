/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a question about a whole file of debug information would have to be looked for in all of its
 * units: names of functions, their copies, lines, external variables and types. It is kept in the
 * user's cache, in a file for each build-id, so that a question opens the units that it needs.
 *
 *	FOLDER/pantrace/index/5ba784b4c0...8d      FOLDER: $XDG_CACHE_HOME, or $HOME/.cache
 *
 *	 0  "PTINDX3\0"                     ┐
 *	 8  u64 bytes of this file          │ header; numbers are little-endian, as those of
 *	16  u64 checksum of what follows    │ every table
 *	24  the debug file's identity       │
 *	 …  where each table is             ┘
 *	    units      die                                 in the order of .debug_info
 *	    ranges     start, end, unit                    code of units
 *	    paths      path, uses                          of sources, as they are first named
 *	    uses       unit, number of lines, lines ...    LEB128, each less the one before it
 *	    names      name, linkage name, first site      of functions, each pair once
 *	    sites      die, function                       code of them; function 0: the function
 *	                                                   itself, else what the copy is inlined in
 *	    code       start, size, die                    of functions, by address
 *	    declared   line, path, die                     functions with code of their own, by the
 *	                                                   line that declares them
 *	    forms      hash, name                          what a name can be called, by hash
 *	    variables  hash, name, die                     external ones, by hash
 *	    types      hash, name, die                     definitions at the top of units, by hash;
 *	                                                   of several of a kind the first one
 *	    strings    NUL-terminated, the first one empty
 *
 * A file is believed if it is the user's own, whole, and of the very debug file (its build-id, size
 * and time). It is written beside its place and renamed, so that no reader sees half of one, and
 * any number of writers may do so at once. All of them together take at most 512 MB: the ones that
 * nobody has used for the longest time go. Where none can be had, everything works without.
 *
 * The environment: PANTRACE_INDEX=never, and =always, which also indexes what is small.
 */
#ifndef PANTRACE_BINARY_DEBUG_INDEX_H
#define PANTRACE_BINARY_DEBUG_INDEX_H

#include <time.h>

#include "base/vector.h"
#include "binary/elf/file.h"

struct debug_index;

/* The debug file that it is of. */
struct index_identity {
	char build_id[2 * 64 + 8]; /* hex, zeros behind it */
	char shared[2 * 64 + 8]; /* of what dwz took out of it; "" = nothing */
	u64 size;
	s64 seconds; /* of its last change */
	u32 nanoseconds, zero;
};

/*
 * The index of a file, opened or built on the first call; NULL: it has none. For questions that are
 * asked before anything runs: it may write a file. Lives as long as f.
 */
const struct debug_index *debug_index(struct elf_file *f);
/* The same, if there was such a question before. */
const struct debug_index *debug_index_opened(struct elf_file *f);

/* ---- what it says; offsets are those of DIEs, strings are its own ---- */

struct index_list {
	VECTOR(u32) list; /* units or offsets; rising, each once */
};

u32 index_unit_die(const struct debug_index *x, u32 unit);
/* The first unit that has code at an address; UINT32_MAX = none. */
u32 index_unit_at(const struct debug_index *x, u64 address);
/* The first path that ends so (debug_path_ends_with()), in the order of units; NULL = none. */
const char *index_path(const struct debug_index *x, const char *end);
/* The lowest line from `line` on that has a statement in such a file; 0 = none. */
u32 index_next_line(const struct debug_index *x, const char *end, u32 line);
/* The units that name such a file; with a line (0 = any): that have a statement of it. */
void index_units_of(const struct debug_index *x, const char *end, u32 line, struct index_list *ret);

struct index_name {
	u32 i;
	const char *name, *linkage; /* NULL = none */
};
/*
 * Calls fn for the names of functions that may be called `pattern`, which has to be compared; all
 * of them, if it has wildcards. fn's non-zero result, or 0.
 */
int index_each_name(const struct debug_index *x, const char *pattern,
		    int (*fn)(void *arg, const struct index_name *n), void *arg);
/* Does a function have this linkage name? */
bool index_has_linkage(const struct debug_index *x, const char *linkage);
/* Code of a function: itself (function 0), or a copy within another. */
struct index_site {
	u32 die, function;
};
const struct index_site *index_sites(const struct debug_index *x, const struct index_name *n,
				     u32 *ret_count);
/* The function that has the code at an address; 0 = none that is known. */
u32 index_function_at(const struct debug_index *x, u64 address);
/* Functions that have code of their own and are declared at a line of a file with this path. */
void index_declared(const struct debug_index *x, const char *path, u32 line,
		    struct index_list *ret);
/* External variables of a name (NULL: all), and types; offsets rise. */
void index_variables(const struct debug_index *x, const char *name, struct index_list *ret);
void index_types(const struct debug_index *x, const char *name, struct index_list *ret);

/* ---- those that are kept: index_file.c ---- */

struct index_kept {
	const char *build_id; /* hex */
	u64 size;
	time_t used; /* last, to a day */
};
/* Calls fn for each of the user's. 0, or -errno: -ENOENT, there is no folder of them. */
int index_each_kept(int (*fn)(void *arg, const struct index_kept *k), void *arg);
/* Removes one; it is made again when it is needed. 0 or -errno. */
int index_remove(const char *build_id);

/* ---- index_file.c, index_build.c ---- */

/* Takes over the bytes (malloc'ed). NULL, and they are freed: they are no index of that file. */
struct debug_index *index_parse(void *data, size_t len, const struct index_identity *of);
void index_release(struct debug_index *x); /* NULL is fine */
/* All of a file, malloc'ed. False: there are parts that it cannot cover. */
bool index_build(struct elf_file *f, const struct index_identity *of, u8 **ret, size_t *ret_len);
/* 0 or -errno. */
int index_load(const struct index_identity *of, u8 **ret, size_t *ret_len);
void index_store(const struct index_identity *of, const u8 *data, size_t len);

#endif
