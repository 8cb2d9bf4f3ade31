/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Analyses of a recording: what `pantrace report` prints instead of the lines of the events. Each
 * analysis is a file with one row and a line in REPORT_ANALYSES, which also gives its option.
 */
#ifndef PANTRACE_CMD_REPORT_ANALYSIS_H
#define PANTRACE_CMD_REPORT_ANALYSIS_H

#include "cmd/report/table.h"
#include "trace/clock/relation.h"
#include "trace/recording.h"

/* Its option, the name of its row (analysis_NAME), and a description for --help. */
/* clang-format off */
#define REPORT_ANALYSES(X)                                                                        \
	X(sched, "time of each thread running, waiting for a CPU, asleep; wakeups, migrations")    \
	X(syscalls, "calls, errors and time of each system call, like strace -c")                 \
	X(faults, "page faults of each thread")                                                   \
	X(block, "requests, bytes and latency of each disk and operation")                        \
	X(locks, "waits for locks of the kernel and of programs (futex), by lock and caller; "    \
		 "-g: by stack")                                                                   \
	X(functions, "calls, total and own time of each function that function_graph traced")   \
	X(exits, "exits of virtual machines (KVM, Xen) by reason, with the time to the next entry")\
	X(vcpus, "virtual CPUs of KVM: time in the guest, in the host for it, halted, waiting")    \
	X(domains, "virtual CPUs of Xen's domains: time running, runnable, blocked, offline")      \
	X(initcalls, "how long each part of the kernel, and each module, took to start")          \
	X(hwlat, "gaps that the tracer hwlat found in the time of each CPU: hardware, firmware")   \
	X(osnoise, "what the tracer osnoise saw taken from each CPU, and by what")                 \
	X(timerlat, "latency of the timer on each CPU, as the tracer timerlat measured it")       \
	X(mmiotrace, "reads and writes of devices' memory by each mapping (tracer mmiotrace)")
/* clang-format on */

/* The options that analyses understand. */
struct analysis_request {
	/* --top */
	const char *keys; /* "event,task"; "" = chosen by what the recording has */
	const char *sum; /* a field; NULL = events are counted */
	const char *call_graph; /* "caller", "callee"; NULL = none */
	bool children;
	double percent_limit;
	/* --latency */
	const char *latency; /* "FROM,TO[,KEY]" */
	/* --calls, --annotate */
	const char *function;
	struct string_list files; /* directories where programs' files are looked for */
	/* of all */
	bool per_task; /* --syscalls, --locks, --exits */
	bool by_comm; /* threads of one name count as one, to compare recordings */
};

/* An event that an analysis reads. */
struct analysis_event {
	const char *name; /* a glob; it may match the name without its system */
	u8 role; /* the analysis's own number for it, from ANALYSIS_ROLES on */
	bool is_needed; /* the recording must have at least one event of this role */
};

enum { ANALYSIS_NOT_ASKED, ANALYSIS_NO_ROLE, ANALYSIS_ROLES };

struct report_analysis {
	/*
	 * The events that it reads, ended by a row of zeros. NULL = all events, with the role
	 * ANALYSIS_ROLES.
	 */
	const struct analysis_event *events;
	/* Used instead of `events` if set: returns the role of a kind, or ANALYSIS_NO_ROLE. */
	u8 (*role)(void *state, const struct recorded_kind *k);
	bool needs_no_times;
	/*
	 * What is recorded for it: events as -e of record takes them, ended by NULL, with their
	 * stacks, of the whole machine even beside a command; or samples, if -e names no
	 * event. Neither: record_command says how.
	 */
	const char *const *record;
	bool record_samples, record_stacks, record_machine;
	const char *record_command;
	/* Returns NULL with a diagnostic if the request cannot be understood. */
	void *(*begin)(const struct analysis_request *q, struct diag *d);
	/* A machine whose recording stands beside its host's; before all events. May be NULL. */
	void (*machine)(void *state, struct clock_relation *m);
	void (*feed)(void *state, struct recording *r, u8 role);
	/*
	 * Called where the recording lost events: anything still open must not be ended by a later
	 * event. NULL = losses do not matter.
	 */
	void (*lost)(void *state);
	/*
	 * Is this event one of those that are counted in the row of these names (depth + 1)? Asked
	 * of a state that makes no table. NULL = its rows are not made of single events.
	 */
	bool (*holds)(void *state, struct recording *r, const char *const *names, u32 depth);
	/* Fills in the table. Adds a diagnostic to d if there is nothing to show. */
	void (*finish)(void *state, struct report_table *ret, struct diag *d);
	/* Prints text below the table (not in JSON or CSV); NULL = none. */
	void (*text)(void *state, const struct table_style *style, struct strbuf *out);
	void (*release)(void *state);
};

extern const struct report_analysis analysis_top, analysis_latency, analysis_calls,
	analysis_annotate;
#define REPORT_ANALYSIS_ROW(name, help) extern const struct report_analysis analysis_##name;
REPORT_ANALYSES(REPORT_ANALYSIS_ROW)
#undef REPORT_ANALYSIS_ROW

/* ---- a running analysis ---- */

struct analysis {
	const struct report_analysis *row;
	void *state;
	u64 roles; /* bit mask of the roles seen so far */
};

/* True if the word is a key of --top; any other word is the name of a field. */
bool analysis_is_key(const char *word);
/* The analysis with this option, or NULL. */
const struct report_analysis *analysis_named(const char *name);
/* Returns 0, or -EINVAL with a diagnostic. A row of NULL means no analysis. */
int analysis_begin(struct analysis *a, const struct report_analysis *row,
		   const struct analysis_request *q, struct diag *d);
void analysis_machines(struct analysis *a, struct recordings *all);
void analysis_feed(struct analysis *a, struct recording *r);
void analysis_lost(struct analysis *a);
/* Leaves the table empty if there is an error in d. */
void analysis_finish(struct analysis *a, struct report_table *ret, struct diag *d);
void analysis_release(struct analysis *a);

/* ---- helpers for analyses (analysis.c) ---- */

/* Adds a hint: the command that records its events. */
void analysis_hint_record(const struct report_analysis *row, struct diag *d);

/*
 * The value of the first of these fields (a list ended by NULL) that the event has; 0 if it has
 * none.
 */
u64 analysis_number(struct recording *r, const char *const *names);
/* The CPU that the event was on; 0 if unknown. */
u64 analysis_cpu(struct recording *r);
/*
 * For keys: the host, in the upper 32 bits, as recordings of several may be on one time line; and
 * the thread on it. Idle CPUs, which share a thread number, count as a thread each.
 */
u64 analysis_host(struct recording *r);
u64 analysis_thread(struct recording *r);
/* Weights, of this field, are not summed up: the sum would not be one. */
void analysis_refuse_sum(const char *field, struct diag *d);
/* Appends a frame's function, or its address in the object. */
void analysis_symbol(const struct recorded_frame *f, struct strbuf *out);
/* Appends "make-1234", or just "make" if by_comm is set. */
void analysis_task(struct recording *r, bool by_comm, struct strbuf *out);

#endif
