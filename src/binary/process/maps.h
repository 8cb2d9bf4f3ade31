/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, from /proc/PID/maps (proc(5)). */
#ifndef PANTRACE_BINARY_PROCESS_MAPS_H
#define PANTRACE_BINARY_PROCESS_MAPS_H

#include "base/arena.h"
#include "base/vector.h"

enum mapping_kind {
	MAPPING_FILE, /* path is the file as the process sees it */
	MAPPING_DELETED, /* path is what it was called */
	MAPPING_ANONYMOUS, /* JIT code: //anon, [heap], memfd ...; path = its name or "" */
	MAPPING_VDSO,
	MAPPING_OTHER, /* [vsyscall] and the like */
};

struct process_mapping {
	u64 start, end;
	u64 offset; /* in the file, of start */
	u64 inode;
	u32 major, minor;
	enum mapping_kind kind;
	bool is_data; /* it holds no code */
	const char *path;
};

struct process_maps {
	bool with_data; /* to be read: also those that hold no code */
	struct arena arena; /* paths */
	VECTOR(struct process_mapping) list; /* by address */
};

/*
 * Parses the text of a maps file; unless maps->with_data says otherwise, only executable mappings
 * are kept. Lines that are not understood are left out.
 */
void process_maps_parse(struct process_maps *maps, const char *text);
/* 0 or -errno (-ENOENT, -ESRCH: the process is gone). A process without mappings (kernel thread,
 * zombie) gives -ESRCH. */
int process_maps_read(struct process_maps *maps, pid_t pid);
void process_maps_release(struct process_maps *maps);
const struct process_mapping *process_maps_find(const struct process_maps *maps, u64 address);
/* Calls fn for each executable mapping until it returns non-zero, which is the result; -errno. */
int process_each_mapping(pid_t pid, int (*fn)(void *arg, const struct process_mapping *m),
			 void *arg);

/* library.c */
/*
 * A path of the process as a path from here: the same one if it means the same file, else below
 * /proc/PID/root. Malloc'ed; NULL if there is none.
 */
char *process_path(pid_t pid, const char *path);
const char *path_base_name(const char *path);
bool library_name_matches(const char *file, const char *name);

#endif
