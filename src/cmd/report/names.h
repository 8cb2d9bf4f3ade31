/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_NAMES_H
#define PANTRACE_CMD_REPORT_NAMES_H

#include "lang/predicate/recorded.h"
#include "trace/recording.h"

/*
 * Warns, with the nearest name, of each name that none of the recordings declares: globs of events,
 * fields in conditions, and other fields that were asked for (NULL = none). Called when everything
 * is read.
 */
void report_names_check(struct recordings *all, const struct expr *const *where, size_t nr_where,
			const struct string_list *fields, struct diag *d);

#endif
