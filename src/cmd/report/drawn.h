/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recordings that a picture is made of: their options, and how they are read.
 *
 *	rc = drawn_open(&d, paths);
 *	while (!rc && (r = drawn_next(&d)))
 *		... takes the event ...
 *	drawn_end(&d, NULL);
 *	... draws ...
 *	rc = drawn_code(&d);
 *	drawn_release(&d);
 */
#ifndef PANTRACE_CMD_REPORT_DRAWN_H
#define PANTRACE_CMD_REPORT_DRAWN_H

#include "cmd/report/selection.h"

/* Events: of more a page tells no details. */
#define DRAWN_DETAILS_MOST 200000

struct drawn_arguments {
	struct selection_arguments selection;
	struct opening_arguments opening;
};

/* Rows of an option table. AT: offset of struct drawn_arguments in the options' values. */
/* clang-format off */
#define DRAWN_OPTIONS(AT)                                                                          \
	{0, NULL, NULL, "Which events", OPTION_HEADING, 0},                                        \
	SELECTION_OPTIONS((AT) + offsetof(struct drawn_arguments, selection)),                     \
	{0, "utc", NULL, "--begin and --end are in UTC", OPTION_FLAG,                              \
	 (AT) + offsetof(struct drawn_arguments, selection.utc)},                                  \
	OPENING_OPTIONS((AT) + offsetof(struct drawn_arguments, opening))
/* clang-format on */

struct drawn {
	const struct command_spec *spec;
	const struct drawn_arguments *arguments;
	struct diag diag; /* DIAG_INIT */
	bool needs_times; /* refuse recordings whose events have none */
	/* ---- once it is open ---- */
	const char *const *paths; /* ends with NULL */
	struct recordings *all;
	struct selection selection;
	bool is_unplaced; /* the wall clock of an event is unknown */
	/* ---- after drawn_end() ---- */
	u64 lost;
	bool is_damaged, has_gaps;
};

/* No path: perf.data. 0, or an exit code (said). */
int drawn_open(struct drawn *d, char *const *paths);
/* The next event that is wanted, see selection_next(). NULL: the end. */
struct recording *drawn_next(struct drawn *d);
/* All has been read: says what was wrong. fields: see report_names_check(). */
void drawn_end(struct drawn *d, const struct string_list *fields);
/* The event's fields: "prev_pid=1 next_pid=7", behind what is in out. */
void drawn_add_fields(struct recording *r, struct strbuf *out);
/* The paths, separated by blanks. */
void drawn_add_files(const struct drawn *d, struct strbuf *out);
/* Says what the tracer lost. EXIT_OK, EXIT_LOST or EXIT_FAILED. */
enum exit_code drawn_code(const struct drawn *d);
void drawn_release(struct drawn *d);

#endif
