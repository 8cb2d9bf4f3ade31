/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses -> names, of the kernel and of processes. Processes may have exited by then, if
 * symbolizer_note_process() noted them in time.
 */
#ifndef PANTRACE_BINARY_PROCESS_SYMBOLIZE_H
#define PANTRACE_BINARY_PROCESS_SYMBOLIZE_H

#include "kernel/kernel.h"

struct symbolizer;

struct symbol_name {
	const char *function; /* demangled if asked; NULL = unknown */
	const char *module; /* path of the object or kernel module; NULL */
	u64 offset; /* from the function's start */
	const char *source_file; /* with debug info and if asked; NULL */
	u32 line;
	const char *build_id; /* hex; NULL */
	u64 file_offset; /* in the object */
};

struct symbolizer *symbolizer_new(struct kernel *k, bool demangle_names);
void symbolizer_release(struct symbolizer *s);
/*
 * From now on names of user addresses come with source file and line where DWARF is at hand (it is
 * read then).
 */
void symbolizer_want_lines(struct symbolizer *s);
/* Kernel address. False if unknown. Strings live as long as s. */
bool symbolize_kernel(struct symbolizer *s, u64 address, struct symbol_name *ret);
/*
 * User address in process pid (0 = unknown process). False if no function is known; module,
 * build_id and file_offset are filled in as far as they are known even then. Uses /proc/PID/maps
 * (cached per process and re-read once when an address is not covered), /proc/PID/root, separate
 * debug files, /tmp/perf-PID.map of the process's owner.
 */
bool symbolize_user(struct symbolizer *s, pid_t pid, u64 address, struct symbol_name *ret);
/*
 * Functions inlined at an address of a process, innermost first, and the place in the function
 * around them.
 */
struct symbol_places {
	u32 count;
	struct symbol_place {
		const char *function, *file; /* file NULL = unknown; function NULL in outer */
		u32 line;
	} inlines[16], outer;
};
/*
 * is_return: the address is where a call returns to; the call before it is meant. NULL without
 * debug info; lives as long as s.
 */
const struct symbol_places *symbolize_places(struct symbolizer *s, pid_t pid, u64 address,
					     bool is_return);
/*
 * Remember the mappings of a process while it lives (on the first stack or usym seen from it, at
 * exec). Cheap if known.
 */
void symbolizer_note_process(struct symbolizer *s, pid_t pid);
/*
 * What the kernel tells of processes as it happens (perf_event_open(2): PERF_RECORD_COMM with exec,
 * FORK, MMAP2): also what ends before anything is asked is known then.
 */
void symbolizer_tell_exec(struct symbolizer *s, pid_t pid);
void symbolizer_tell_fork(struct symbolizer *s, pid_t child, pid_t parent);
/* path as the kernel names it: a file, "//anon", "[vdso]" ... */
void symbolizer_tell_mapping(struct symbolizer *s, pid_t pid, u64 start, u64 length, u64 offset,
			     u64 inode, const char *path);
/*
 * ASK is called when an address lies in no mapping that is known: it tells what has happened since,
 * and the address is looked up once more.
 */
void symbolizer_ask(struct symbolizer *s, void (*ask)(void *arg), void *arg);

#endif
