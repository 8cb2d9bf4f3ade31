/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over recordings, as one time line, for what was asked: lines of events, counts, or a
 * table.
 */
#ifndef PANTRACE_CMD_REPORT_READING_H
#define PANTRACE_CMD_REPORT_READING_H

#include <signal.h>

#include "cmd/report/options.h"
#include "view/value.h"

/* Lost events. */
struct losses {
	u64 places;
	s64 first_ns, last_ns; /* time of the event that follows the loss */
	u64 untold; /* lost before events that the selection left out */
	u64 placed; /* total of the losses whose place is known */
	bool is_cycles; /* the times are */
};

struct reading {
	/* ---- the caller's ---- */
	const volatile sig_atomic_t *interrupted; /* set: it ends */
	/* Asked every 64 Ki events; false: it ends. NULL = nobody asks. */
	bool (*go_on)(void *arg, u64 events);
	void *arg;
	bool is_quiet; /* what is to be told stays in diag; of losses only the exit code speaks */
	/*
	 * Lines instead of the table, in recordings_lines(), of at most `most` events: those that
	 * count in this row of it. NULL = all as asked.
	 */
	const struct table_row *row;
	u64 most;
	/* ---- its own ---- */
	const struct asked *asked;
	struct recordings *recordings;
	struct diag diag;
	struct selection selection;
	struct analysis analysis;
	struct losses losses;
	u64 events; /* read */
	u64 lines; /* of the row's events */
	s64 first_ns, last_ns; /* times of the first and last event that was read */
	/* --locals: */
	struct type_store types;
	struct value_printer values;
};

/*
 * Reads everything. If that makes a table, *ret gets it; it is empty if there is nothing to show.
 * What is wrong is reported, and the returned exit code says so. reading_release() in any case.
 */
enum exit_code reading_run(struct reading *r, const struct asked *asked, char **paths,
			   struct report_table *ret);
void reading_release(struct reading *r);

#endif
