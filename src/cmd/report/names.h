/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_NAMES_H
#define PANTRACE_CMD_REPORT_NAMES_H

#include "lang/predicate/recorded.h"
#include "trace/recording.h"

/*
 * For each name that no recording declares, prints a warning with the nearest one: globs of events,
 * fields in conditions, and `fields` (may be NULL). Called after everything has been read.
 */
void report_names_check(struct recordings *all, const struct expr *const *where, size_t nr_where,
			const struct string_list *fields, struct diag *d);

#endif
