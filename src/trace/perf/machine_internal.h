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
	struct perf_build_id kernel_id; /* as its mapping says */
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
void perf_hex(const u8 *bytes, size_t n, char *to);

#endif
