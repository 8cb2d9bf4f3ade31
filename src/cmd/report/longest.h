/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `report` prints of a latency trace, which has text in place of events. */
#ifndef PANTRACE_CMD_REPORT_LONGEST_H
#define PANTRACE_CMD_REPORT_LONGEST_H

#include "cmd/report/reading.h"

/* For recordings_each(): other than 0 if it is one. */
int report_longest_has(struct recording *r, void *arg);
/*
 * Prints all of them, in the form that was asked for. *ret_is_all: nothing else is there. 0, or
 * -errno with a diagnostic or of a write.
 */
int report_longest(struct reading *r, bool *ret_is_all);

#endif
