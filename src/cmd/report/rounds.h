/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --every: a table of what is recorded now, again and again; on a terminal as a screen. */
#ifndef PANTRACE_CMD_REPORT_ROUNDS_H
#define PANTRACE_CMD_REPORT_ROUNDS_H

#include "cmd/report/reading.h"

/* Makes the recording of a round. EXIT_OK or a code (said). */
typedef int report_record_fn(const struct arguments *a, const struct report_analysis *row,
			     struct live *l);
/* The table of a recording as it is printed. r: NULL = of two recordings. */
void report_table_text(const struct asked *asked, struct reading *r, const struct report_table *t,
		       struct strbuf *out);
/*
 * Until q, Ctrl-C, or the time of -d is over. Each round is recorded by a process of its own, so
 * that the screen answers meanwhile. Returns an exit code.
 */
int report_rounds(const struct asked *asked, struct live *l, report_record_fn *record);

#endif
