/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a perf.data tells of the machine as it was: names of threads, what was mapped where. Records
 * are told in the order of time; answers are of that time. Names of addresses come from files that
 * are the recorded ones: by build-id, or, where none was recorded, not changed since.
 */
#ifndef PANTRACE_TRACE_PERF_MACHINE_H
#define PANTRACE_TRACE_PERF_MACHINE_H

#include "base/strbuf.h"
#include "binary/debug/evaluate.h"
#include "binary/debug/lines.h"
#include "binary/debug/unwind.h"
#include "trace/perf/perf_data.h"
#include "trace/recorded_stack.h"
#include "trace/recorded_task.h"

struct perf_machine;

struct perf_machine_options {
	const char *const *places; /* directories where files are looked for */
	size_t nr_places;
	bool no_symbols;
	struct type_store *types; /* of variables; NULL = they are not asked for */
};

struct perf_machine *perf_machine_new(const struct perf_data *data,
				      const struct perf_machine_options *options);
void perf_machine_release(struct perf_machine *m);
/* Any record but samples; others than of tasks and mappings change nothing. */
void perf_machine_tell(struct perf_machine *m, const struct perf_record *r);
/* A thread's name, as it is; ":TID" if none was told. */
const char *perf_machine_comm(struct perf_machine *m, u32 tid);

/* Threads it was told of up to now. */
void perf_machine_tasks(struct perf_machine *m, recorded_task_fn *fn, void *arg);

/* Mappings that were left out, as there were more than anyone believes. */
u64 perf_machine_left_out(const struct perf_machine *m);

enum perf_mode { PERF_MODE_KERNEL, PERF_MODE_USER, PERF_MODE_OTHER };

/* Where an address of a process leads. Strings stay until it is released. */
struct recorded_frame perf_machine_place(struct perf_machine *m, u32 pid, enum perf_mode mode,
					 u64 address);
/* What is mapped at an address of a process; false: nothing was told. */
bool perf_machine_mapped(struct perf_machine *m, u32 pid, enum perf_mode mode, u64 address,
			 struct recorded_mapping *ret);
#define PERF_INLINES_MAX 16u
/*
 * Functions that are inlined at an address of a process outside of the kernel, innermost first,
 * demangled: how many are in *ret, which stays until it is released; at most PERF_INLINES_MAX.
 */
u32 perf_machine_inlines(struct perf_machine *m, u32 pid, u64 address, const char *const **ret);
/* How the caller's frame is found from there; NULL: nobody knows. */
const struct unwind_row *perf_machine_unwind_rule(struct perf_machine *m, u32 pid, u64 address);

/* Are variables asked for? */
bool perf_machine_wants_locals(const struct perf_machine *m);
/* n bytes of the code at an address of a process; NULL: they are not to be had. */
const u8 *perf_machine_code_bytes(struct perf_machine *m, u32 pid, u64 address, u64 n);
/* Where the caller's registers are, as unwind_saved_at() has it. */
int perf_machine_saved(struct perf_machine *m, u32 pid, u64 address, struct unwind_saved *ret);

/* ---- unwind.c ---- */

/* A frame of a program. */
struct perf_frame {
	u64 address; /* the sampled one, or in the call */
	bool is_call; /* the next inner frame returns behind it */
	struct known_thread thread; /* if variables are asked for: without bias */
};

/*
 * The callers outside of the kernel of a sample with registers and stack (--call-graph dwarf),
 * the sampled address first, then those of the calls: at most `most`. Returns how many.
 */
size_t perf_unwind(struct perf_machine *m, const struct perf_event_attr *attr,
		   const struct perf_sample *s, struct perf_frame *ret, size_t most);

/* ---- locals.c ---- */

/* The frames of a process, innermost first, and one of them. */
struct perf_frames {
	struct perf_machine *machine;
	u32 pid;
	const struct perf_frame *list;
	size_t count, at;
};
/*
 * Fills in the variables of *to: of the frame, or of the depth-th function that is inlined there,
 * innermost first. Their values are in the arena.
 */
void perf_locals_read(const struct perf_frames *f, u32 depth, struct arena *values,
		      struct recorded_frame *to);

#endif
