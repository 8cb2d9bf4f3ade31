/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's hist file as a table:
 *
 *	{ common_pid: bash    [  5056], ret: ~ 2^4  } hitcount:     3  count:   300
 */
#ifndef PANTRACE_CMD_HIST_TEXT_H
#define PANTRACE_CMD_HIST_TEXT_H

#include "base/hashmap.h"
#include "view/hist_table.h"

/*
 * The contents of a table at the last report: the kernel's histograms are not emptied, as events
 * between reading and emptying would be lost.
 */
struct hist_history {
	struct hashmap rows; /* the text of the keys -> index into numbers */
	VECTOR(u64) numbers; /* by row: hits, values */
	u64 dropped;
};

/*
 * Adds the rows. history: only adds what is new since then, and updates it; NULL = everything. 0,
 * or -EINVAL.
 */
int hist_text_read(const char *text, struct hist_table *t, struct hist_history *history);
void hist_history_release(struct hist_history *h);

#endif
