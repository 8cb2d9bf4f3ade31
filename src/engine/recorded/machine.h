/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interprets a script's programs over recordings: the eBPF (RFC 9669) that lang/bpf/ emits, by the
 * instruction table of lib/vm_ops.h, with the helpers that scripts use (helpers.c).
 *
 * Everything a program may access (stacks, the event's record, map values, records it sends) lies
 * in one range of memory, and each access is checked against it. None of our own data is there, so
 * a wrong program can at worst print wrong numbers. Reading outside the range and the event ends
 * the run with an error at that place in the script.
 */
#ifndef PANTRACE_ENGINE_RECORDED_MACHINE_H
#define PANTRACE_ENGINE_RECORDED_MACHINE_H

#include "engine/recorded/memory_map.h"
#include "trace/recording.h"

#define MACHINE_CONTEXT 65536u /* the most bytes of an event's record */

/* The thread of the event; -1 and "" where the recording does not say. */
struct machine_thread {
	s64 cpu, pid, tid;
	char comm[16];
};

struct machine_event {
	const u8 *record; /* NULL = none */
	u32 size; /* of the record */
	u32 cookie; /* of the target that fired */
	u64 now; /* on the recording's clock, ns */
	u64 wall_ns; /* since the epoch */
	u64 function; /* of a probe: its address; 0 = it is none */
};

/* Why a run ended early. */
struct machine_failure {
	const char *why; /* NULL = it has not */
	struct span span;
	bool is_unknown; /* this event lacks a value; other events may have it */
};

struct machine_record {
	u8 *data;
	u32 size;
	bool is_sent;
};

struct machine {
	struct script *script;
	struct diag *diag;
	u8 *memory; /* mapped: stacks, context, heap, values of maps */
	u64 size;
	u8 *context, *heap;
	u32 context_size; /* of the current event */
	u32 heap_used;
	struct memory_map **maps; /* by the script's index; NULL = not in memory */
	struct machine_program *programs;
	VECTOR(struct machine_record) records; /* sent by the program, in order */
	struct machine_event event;
	struct machine_failure failure;
	struct machine_program *running;
	u64 random, steps; /* steps: instructions that the program may still run */
	u32 unplaced; /* enum place_part: parts that no event has */
	bool takes_stacks; /* a loaded program asks for stacks */
	/* Read at most once per event, when a program asks. */
	void (*ask_thread)(void *arg, struct machine_thread *ret);
	/* The event's stack, innermost frame first, and its length; -1 = not recorded. */
	s64 (*ask_stack)(void *arg, bool is_user, u64 *frames, u32 most);
	void *arg;
	bool has_thread;
	struct machine_thread thread;
};

/*
 * Allocates memory and maps for a script; sets the maps in `open`. Returns 0, or -errno with a
 * diagnostic. Call machine_end() even after an error.
 */
int machine_begin(struct machine *m, struct script *script, struct diag *diag,
		  struct open_map *open);
/*
 * Prepares a program. Returns -EINVAL with diagnostics if it needs the running kernel, or memory
 * that no recording holds.
 */
int machine_load(struct machine *m, u32 program);
/* Sets the event that programs run on. Returns false if its record is too large. */
bool machine_event(struct machine *m, const struct machine_event *event);
/*
 * Runs a program on the event. Returns false with the reason in m->failure. Records that it sent
 * stay in m->records until machine_clear().
 */
bool machine_run(struct machine *m, u32 program);
void machine_clear(struct machine *m);
void machine_end(struct machine *m);

/* ---- for helpers.c and origin.c ---- */

/* r: the registers; arguments start at r[1]. Failures are set by machine_fail(). */
typedef u64 machine_helper(struct machine *m, u64 *r);

struct machine_function {
	s32 id;
	machine_helper *helper;
	u32 needs; /* enum place_part: parts that events must have */
};

/* NULL: there is no such helper over recordings. */
const struct machine_function *machine_function_find(s32 id);
void machine_fail(struct machine *m, const char *why, bool is_unknown);
/* The n bytes at this address, or NULL if a program may not access them. */
u8 *machine_at(struct machine *m, u64 address, u64 size);
/* Memory until the end of the event; NULL: there is none left. */
u8 *machine_heap(struct machine *m, u64 size);
const struct machine_thread *machine_thread(struct machine *m);
/* Calls a function of the running program, given its address as programs see it. */
u64 machine_call_back(struct machine *m, u64 function, u64 *arguments, u32 n);

/* origin.c: refuses reads of addresses that are values of the event: 0, or -EINVAL as above. */
int machine_check_reads(struct diag *d, const struct bpf_code *code);

#endif
