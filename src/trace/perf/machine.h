/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a perf.data tells of the machine as it was: names of threads, what was mapped where. Records
 * are told in the order of time; answers are of that time. Names of addresses come from files that
 * are the recorded ones: by build-id, or, where none was recorded, not changed since.
 */
#ifndef PANTRACE_TRACE_PERF_MACHINE_H
#define PANTRACE_TRACE_PERF_MACHINE_H

#include "base/strbuf.h"
#include "binary/debug/lines.h"
#include "binary/debug/unwind.h"
#include "trace/perf/perf_data.h"
#include "trace/recorded_stack.h"

struct perf_machine;

struct perf_machine_options {
	const char *const *places; /* directories where files are looked for */
	size_t nr_places;
	bool no_symbols;
};

struct perf_machine *perf_machine_new(const struct perf_data *data,
				      const struct perf_machine_options *options);
void perf_machine_release(struct perf_machine *m);
/* Any record but samples; others than of tasks and mappings change nothing. */
void perf_machine_tell(struct perf_machine *m, const struct perf_record *r);
/* A thread's name, as it is; ":TID" if none was told. */
const char *perf_machine_comm(struct perf_machine *m, u32 tid);

/* Mappings that were left out, as there were more than anyone believes. */
u64 perf_machine_left_out(const struct perf_machine *m);

enum perf_mode { PERF_MODE_KERNEL, PERF_MODE_USER, PERF_MODE_OTHER };

/* Where an address of a process leads. Strings stay until it is released. */
struct recorded_frame perf_machine_place(struct perf_machine *m, u32 pid, enum perf_mode mode,
					 u64 address);
/*
 * Functions that are inlined at an address of a process outside of the kernel, innermost first,
 * demangled: how many are in *ret, which stays until it is released.
 */
u32 perf_machine_inlines(struct perf_machine *m, u32 pid, u64 address, const char *const **ret);
/* How the caller's frame is found from there; NULL: nobody knows. */
const struct unwind_row *perf_machine_unwind_rule(struct perf_machine *m, u32 pid, u64 address);

/* ---- unwind.c ---- */

/*
 * The callers outside of the kernel of a sample with registers and stack (--call-graph dwarf),
 * the sampled address first, then those of the calls: at most `most`. Returns how many.
 */
size_t perf_unwind(struct perf_machine *m, const struct perf_event_attr *attr,
		   const struct perf_sample *s, u64 *ret, size_t most);

#endif
