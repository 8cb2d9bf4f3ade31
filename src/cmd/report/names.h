/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_NAMES_H
#define PANTRACE_CMD_REPORT_NAMES_H

#include "lang/predicate/recorded.h"
#include "trace/recording.h"

/*
 * Names that were asked for, of events (globs) and of fields in conditions, which nothing of these
 * declares: a warning for each in d, with the nearest name. To be called when all is read.
 */
void report_names_check(struct recordings *all, const struct expr *const *where, size_t nr_where,
			struct diag *d);

#endif
