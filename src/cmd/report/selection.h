/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which events of recordings are meant: the options that the commands on recordings share. */
#ifndef PANTRACE_CMD_REPORT_SELECTION_H
#define PANTRACE_CMD_REPORT_SELECTION_H

#include "base/options.h"
#include "lang/predicate/recorded.h"
#include "trace/recording.h"

struct selection_arguments {
	struct string_list events, where;
	const char *begin, *end;
	bool utc;
	u64 limit;
};

/* Rows of an option table; AT: where the struct above lies in the values of the options. */
/* clang-format off */
#define SELECTION_OPTIONS(AT)                                                                      \
	{'e', "event", "GLOB", "only events whose name matches, as in 'app:*'; may be repeated",   \
	 OPTION_LIST, (AT) + offsetof(struct selection_arguments, events)},                        \
	{'w', "where", "CONDITION",                                                                \
	 "only events for which this holds, as between the slashes of a script; "                  \
	 "FIELD=VALUE takes * and ?; may be repeated",                                             \
	 OPTION_LIST, (AT) + offsetof(struct selection_arguments, where)},                         \
	{'b', "begin", "TIME",                                                                     \
	 "from this time on: HH:MM:SS, YYYY-MM-DD HH:MM:SS, or seconds since the epoch",           \
	 OPTION_STRING, (AT) + offsetof(struct selection_arguments, begin)},                       \
	{'E', "end", "TIME", "up to this time", OPTION_STRING,                                     \
	 (AT) + offsetof(struct selection_arguments, end)},                                        \
	{'n', "limit", "N", "end after this many events", OPTION_U64,                              \
	 (AT) + offsetof(struct selection_arguments, limit)}
/* clang-format on */

struct selection {
	const struct selection_arguments *arguments;
	VECTOR(const struct expr *) where;
	s64 begin_ns, end_ns;
	bool is_all; /* neither conditions nor times */
	u64 count; /* of events that passed */
};

/* Conditions, before recordings are opened; in the diag's arena. 0 or -EINVAL with a diagnostic. */
int selection_conditions(struct selection *s, struct diag *d);
/* Times, when they are. 0, or EXIT_USAGE, told. */
int selection_window(struct selection *s, struct recordings *all, const struct command_spec *spec);
bool selection_holds(const struct selection *s, struct recording *r);
/* Counts those that pass. */
static inline bool selection_passes(struct selection *s, struct recording *r)
{
	const bool yes = s->is_all || selection_holds(s, r);

	s->count += yes;
	return yes;
}
/* The limit is reached. */
bool selection_is_over(const struct selection *s);
void selection_release(struct selection *s);

#endif
