/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes as the symbolizer knows them: their executable mappings, each file opened once for all
 * processes that map it.
 *
 * A process may call exec() or end, and its number be given out again. Each change makes a new
 * `struct process` in front of the older ones of the same pid; what was seen of an ended process
 * stays until the cache is full.
 */
#ifndef PANTRACE_BINARY_PROCESS_CACHE_H
#define PANTRACE_BINARY_PROCESS_CACHE_H

#include "binary/elf/file.h"
#include "binary/process/perf_map.h"
#include "binary/process/maps.h"

struct process_cache;

/* A mapped file. elf NULL: it is not ELF. Shared and counted. */
struct object {
	struct elf_file *elf;
	struct {
		u64 device, inode, size, mtime; /* mtime in ns */
	} id;
	u32 users;
};

struct process {
	struct process *next; /* of the same bucket, newest first */
	pid_t pid;
	u64 exe_device, exe_inode;
	u64 checked_at, read_at, perf_map_at; /* CLOCK_MONOTONIC ns; 0 = never */
	u64 last_use; /* counts questions, for the eviction */
	struct process_maps maps;
	struct object **objects; /* same index as maps.list; NULL = could not be opened */
	/* for its perf map; only filled in when it has anonymous code */
	bool has_jit, in_our_mount_namespace;
	pid_t namespace_pid;
	uid_t uid, effective_uid;
	struct perf_map *perf_map;
	u64 perf_map_size;
};

struct process_cache *process_cache_new(void);
void process_cache_release(struct process_cache *c);
/* The newest view of a process, read if it is not known or has called exec() since; NULL = unknown
 * and gone. */
struct process *process_cache_get(struct process_cache *c, pid_t pid);
/* Reads the mappings again because an address is not covered; false if they were read just before
 * or the process is gone. */
bool process_cache_reread(struct process_cache *c, struct process *p);
/*
 * What the kernel tells of processes as it happens (PERF_RECORD_COMM with exec, FORK, MMAP2), so
 * that also those are known that end before anything is asked. m.path need not outlive the call.
 */
void process_cache_exec(struct process_cache *c, pid_t pid);
void process_cache_fork(struct process_cache *c, pid_t child, pid_t parent);
void process_cache_map(struct process_cache *c, pid_t pid, const struct process_mapping *m);
/* The next older view of the same pid, or NULL. */
struct process *process_cache_older(struct process *p);
/* Looks an address up in the process's perf map, which is read (again) as needed. */
const char *process_jit_symbol(struct process *p, u64 address, u64 *ret_offset);

#endif
