/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the machine: tasks and mappings (machine.c), names of addresses (place.c). */
#ifndef PANTRACE_TRACE_PERF_MACHINE_INTERNAL_H
#define PANTRACE_TRACE_PERF_MACHINE_INTERNAL_H

#include "base/hashmap.h"
#include "kernel/kernel.h"
#include "trace/perf/machine.h"

/* Something that is mapped: a file, memory without one, a module. */
struct object {
	const char *path; /* as recorded */
	const char *shown;
	char build_id[41]; /* hex; "" = not recorded */
	struct elf_file *elf;
	bool looked_for;
	struct hashmap names; /* of symbols, demangled: by their address */
	struct hashmap inlines; /* by address: struct inlines */
	struct hashmap variables; /* by address: struct variables, of locals.c */
	struct hashmap passed; /* by struct passed_key: struct access, of locals.c */
	struct unwind_rows rows; /* by address */
	bool rows_were_read;
};

/* Functions that are inlined at an address. */
struct inlines {
	u32 count;
	const char *names[];
};

struct mapping {
	u64 start, end, offset; /* of the file */
	struct object *object;
};

struct process {
	VECTOR(struct mapping) list; /* by address, apart from each other */
};

struct thread {
	const char *comm; /* NULL = not told */
	u32 pid, ppid; /* 0 = not told */
};

struct perf_machine {
	const struct perf_data *data;
	struct perf_machine_options options;
	struct arena arena;
	struct hashmap threads, processes; /* by u32 */
	struct hashmap objects; /* "BUILD-ID PATH" */
	struct process kernel; /* modules and programs of BPF */
	struct kernel *running;
	bool kernel_looked_for;
	struct ksyms *symbols; /* of the recorded kernel; NULL = not to be had */
	struct ksyms *in_file; /* the same, where they are those that the recording holds */
	struct perf_build_id kernel_id; /* as its mapping says */
	struct recorded_mapping kernel_map; /* that one; length 0 = not told */
	/* its file with symbols, where it is not the running one; NULL = not found */
	struct elf_file *vmlinux;
	u64 vmlinux_text;
	u64 text_at; /* where the recorded kernel has its _text; 0 = not said */
	u32 last_tid;
	struct thread *last;
	size_t mappings;
	u64 left_out;
};

struct process *perf_machine_process(struct perf_machine *m, u32 pid);
/* The first mapping that ends behind the address: an index. */
size_t perf_machine_find(const struct process *p, u64 address);
/* What is mapped at an address of a process; NULL = nothing. */
const struct mapping *perf_machine_mapping(struct perf_machine *m, u32 pid, u64 address);
/* The object's file, and where in its memory the address is; NULL = it is not to be had. */
struct elf_file *perf_machine_code(struct perf_machine *m, const struct mapping *in, u64 address,
				   u64 *ret_at);
void perf_locals_release(struct object *o); /* locals.c */
void perf_hex(const u8 *bytes, size_t n, char *to);

#endif
