/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects events of recordings: options shared by report, convert and the pictures. */
#ifndef PANTRACE_CMD_REPORT_SELECTION_H
#define PANTRACE_CMD_REPORT_SELECTION_H

#include "base/options.h"
#include "cmd/report/opening.h"
#include "lang/predicate/recorded.h"
#include "trace/recording.h"

struct selection_arguments {
	struct string_list events, where;
	const char *begin, *end;
	bool utc;
	u64 limit;
};

/* Rows of an option table. AT: offset of struct selection in the options' values. */
/* clang-format off */
#define SELECTION_OPTIONS(AT)                                                                      \
	{'e', "event", "GLOB", "only events whose name matches, as in 'app:*'; may be repeated",   \
	 OPTION_LIST, (AT) + offsetof(struct selection_arguments, events)},                        \
	{'w', "where", "CONDITION",                                                                \
	 "only events for which this holds, as between the slashes of a script; "                  \
	 "FIELD=VALUE takes * and ?; may be repeated",                                             \
	 OPTION_LIST, (AT) + offsetof(struct selection_arguments, where)},                         \
	{'b', "begin", "TIME",                                                                     \
	 "from this time on: HH:MM:SS, YYYY-MM-DD HH:MM:SS, or seconds since the epoch (as "       \
	 "recorded, in pictures of a recording without a date)",                                   \
	 OPTION_STRING, (AT) + offsetof(struct selection_arguments, begin)},                       \
	{'E', "end", "TIME", "up to this time", OPTION_STRING,                                     \
	 (AT) + offsetof(struct selection_arguments, end)},                                        \
	{'n', "limit", "N", "end after this many events", OPTION_U64,                              \
	 (AT) + offsetof(struct selection_arguments, limit)}
/* clang-format on */

/*
 * For recordings_options.recorded_times: of one recording, unless --begin or --end is of a clock on
 * a day, which only recordings that know it have.
 */
bool selection_takes_recorded(const struct selection_arguments *a, const char *const *paths);

struct selection {
	const struct selection_arguments *arguments;
	VECTOR(const struct expr *) where;
	s64 begin_ns, end_ns;
	bool is_all; /* no conditions and no times */
	u64 count; /* number of events that passed */
};

/*
 * Parses the conditions; called before recordings are opened. Uses the diag's arena. Returns 0 or
 * -EINVAL with a diagnostic.
 */
int selection_conditions(struct selection *s, struct diag *d);
/*
 * Parses the times; called once recordings are open: other parts of them need not be read. Returns
 * 0, or EXIT_USAGE after printing why.
 */
int selection_window(struct selection *s, struct recordings *all, const struct command_spec *spec,
		     struct diag *d);
/*
 * Both, and opens the recordings in between: ALL, which is new. Returns 0, or an exit code; what is
 * wrong is in the diagnostic, or said.
 */
int selection_open(struct selection *s, struct recordings *all, const char *const *paths,
		   const struct command_spec *spec, struct diag *d);
/* Does the condition hold for the event that r is at? */
bool condition_holds(const struct expr *e, struct recording *r);
bool selection_holds(const struct selection *s, struct recording *r);
/* Also counts the events that pass. */
static inline bool selection_passes(struct selection *s, struct recording *r)
{
	const bool yes = s->is_all || selection_holds(s, r);

	s->count += yes;
	return yes;
}
/* True once the limit is reached. */
bool selection_is_over(const struct selection *s);
/*
 * The next event that passes, until the limit; its `lost` includes what was lost before the events
 * that were left out since the one before. NULL: the end, or a time so far off that differences of
 * times would overflow (a diagnostic).
 */
struct recording *selection_next(struct selection *s, struct recordings *all, struct diag *d);
void selection_release(struct selection *s);

#endif
