/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a histogram counts, in the words of the kernel's histogram triggers
 * (Documentation/trace/histogram.rst):
 *
 *	[SYSTEM:]EVENT:keys=FIELD[.FORM][,...][:vals=...][:sort=...][:size=N][:name=NAME][:pause]
 *	[if FILTER]
 *
 * Blanks may stand for the colons between the parts, and "hist:" before them.
 */
#ifndef PANTRACE_CMD_HIST_SPEC_H
#define PANTRACE_CMD_HIST_SPEC_H

#include "base/diag.h"
#include "lang/predicate/predicate.h"
#include "types/type.h"
#include "view/hist_table.h"

#define HIST_MAX_KEYS	3u /* HIST_KEY_FIELDS_MAX of the kernel, and its number of values */
#define HIST_MAX_VALUES 3u
#define HIST_MAX_SIZE	131072u /* TRACING_MAP_BITS_MAX, 2^17 */

/* Where a column's number comes from. */
enum hist_source {
	HIST_FROM_FIELD,
	HIST_FROM_THREAD, /* common_pid: the thread's number */
	HIST_FROM_CPU, /* cpu, common_cpu */
	HIST_FROM_TIME, /* common_timestamp */
	HIST_FROM_STACK, /* stacktrace, common_stacktrace */
	HIST_FROM_LATENCY, /* latency: us since the first event (--from) */
};

struct hist_spec {
	const char *text; /* the whole, a source of the diag */
	u16 file;
	const char *system, *event; /* system NULL: not named */
	struct span event_at;
	struct hist_column columns[HIST_MAX_KEYS + HIST_MAX_VALUES]; /* the keys, then the values */
	enum hist_source sources[HIST_MAX_KEYS + HIST_MAX_VALUES];
	/* .string: what a pointer of the process points to */
	bool is_user_string[HIST_MAX_KEYS + HIST_MAX_VALUES];
	bool is_dynamic_string[HIST_MAX_KEYS + HIST_MAX_VALUES];
	struct span places[HIST_MAX_KEYS + HIST_MAX_VALUES];
	u32 nkeys, ncolumns;
	struct hist_sort sorts[HIST_MAX_SORTS];
	u32 nsorts;
	u64 size; /* entries; 0 = not said */
	const char *name; /* shared by histograms of several events; NULL = its own */
	bool is_paused;
	/* of a dynamic event that BPF counts; NULL = an event of tracefs */
	const struct hist_definition *definition;
	const char *shown; /* the event's name in titles; NULL = system:event */
	bool has_latency; /* set before it is resolved: `latency` is a field */
	const char *filter; /* the text after "if"; NULL = none */
	struct expr *condition; /* it, resolved (lang/predicate/) */
};

/*
 * Parses `text` (strings of the result are in the arena, text itself must outlive the diag).
 * has_event: it begins with an event. 0, or -EINVAL with a diagnostic at the place.
 */
int hist_spec_parse(struct arena *a, struct diag *d, const char *text, bool has_event,
		    struct hist_spec *ret);
/*
 * Looks the fields up in the event's record and checks signs, strings, and forms that a field
 * cannot have. store: the record's. -ENOENT or -EINVAL with a diagnostic.
 */
int hist_spec_resolve(struct hist_spec *s, struct diag *d, struct type_store *store,
		      const struct type *record);
/* A field of the event that is not a number. */
bool hist_member_is_string(const struct type_member *m);
/*
 * "sched:sched_switch keys=next_comm vals=hitcount sort=hitcount size=2048": the title of the
 * table.
 */
const char *hist_spec_title(struct arena *a, const struct hist_spec *s);

#endif
