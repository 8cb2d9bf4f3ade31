/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `pantrace report` can make of the events of a recording besides their lines: a table. Each
 * analysis is a file with a row, and a line in REPORT_ANALYSES, from which its option follows.
 */
#ifndef PANTRACE_CMD_REPORT_ANALYSIS_H
#define PANTRACE_CMD_REPORT_ANALYSIS_H

#include "cmd/report/table.h"
#include "trace/recording.h"

/* The name of its option and its row (analysis_NAME), and what it shows. */
/* clang-format off */
#define REPORT_ANALYSES(X)                                                                        \
	X(sched, "for each thread: how long it was ready and waited for a CPU, ran, slept; "      \
		 "wake-ups, migrations")                                                          \
	X(syscalls, "for each system call: how many, errors, how long they took, as strace -c")   \
	X(faults, "page faults of each thread")                                                   \
	X(block, "for each disk and operation: requests, bytes, how long they took")
/* clang-format on */

/* What was asked for. */
struct analysis_request {
	/* --top */
	const char *keys; /* "event,task"; "" = what suits the recording */
	const char *sum; /* a field; NULL = events are counted */
	const char *call_graph; /* "caller", "callee"; NULL = none */
	bool children;
	double percent_limit;
	/* --latency */
	const char *latency; /* "FROM,TO[,KEY]" */
	/* of all */
	bool per_task; /* --syscalls */
	bool by_comm; /* threads of one name are one: to compare recordings */
};

/* An event that an analysis is made of. */
struct analysis_event {
	const char *name; /* a glob, also of short names */
	u8 role; /* what the analysis calls it; from ANALYSIS_ROLES on */
	bool is_needed; /* one of its role must have been recorded */
};

enum { ANALYSIS_NOT_ASKED, ANALYSIS_NO_ROLE, ANALYSIS_ROLES };

struct report_analysis {
	/* Ends with a row of zeros; NULL = every event, whose role is ANALYSIS_ROLES. */
	const struct analysis_event *events;
	/* In their place: the role of a kind, else ANALYSIS_NO_ROLE. */
	u8 (*role)(void *state, const struct recorded_kind *k);
	const char *record; /* what -e of record it takes, for a hint */
	/* NULL with a diagnostic: what was asked for cannot be understood. */
	void *(*begin)(const struct analysis_request *q, struct diag *d);
	void (*feed)(void *state, struct recording *r, u8 role);
	/* Events are missing here: what began before is not ended behind it. NULL: no matter. */
	void (*lost)(void *state);
	/* A diagnostic in d: nothing can be said. */
	void (*finish)(void *state, struct report_table *ret, struct diag *d);
	/* What stands below the table in text; NULL = nothing. */
	void (*text)(void *state, const struct table_style *style, struct strbuf *out);
	void (*release)(void *state);
};

extern const struct report_analysis analysis_top, analysis_latency;
#define REPORT_ANALYSIS_ROW(name, help) extern const struct report_analysis analysis_##name;
REPORT_ANALYSES(REPORT_ANALYSIS_ROW)
#undef REPORT_ANALYSIS_ROW

/* ---- one under way ---- */

struct analysis {
	const struct report_analysis *row;
	void *state;
	u64 roles; /* bits: met so far */
};

/* Whether --top knows the word; what it does not know is a field. */
bool analysis_is_key(const char *word);
/* The row of an option; NULL = there is none. */
const struct report_analysis *analysis_named(const char *name);
/* 0, or -EINVAL with a diagnostic. row NULL: nothing is analysed. */
int analysis_begin(struct analysis *a, const struct report_analysis *row,
		   const struct analysis_request *q, struct diag *d);
void analysis_feed(struct analysis *a, struct recording *r);
void analysis_lost(struct analysis *a);
/* The table is empty where there is an error in d. */
void analysis_finish(struct analysis *a, struct report_table *ret, struct diag *d);
void analysis_release(struct analysis *a);

/* ---- for them (analysis.c) ---- */

/* The value of a field that goes by any of these names (ends with NULL); 0 if it has none. */
u64 analysis_number(struct recording *r, const char *const *names);
/* comm, tid or cpu of the event's context; 0 if it is not known. */
u64 analysis_context(struct recording *r, const char *name);
/* "make-1234", or "make" alone if requests are by comm. Appended. */
void analysis_task(struct recording *r, bool by_comm, struct strbuf *out);

#endif
