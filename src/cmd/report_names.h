/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_NAMES_H
#define PANTRACE_CMD_REPORT_NAMES_H

#include "base/options.h"
#include "trace/ctf_filter.h"

/* Names that were asked for, of events (globs) and of fields in conditions, which the traces of the set do not declare: a warning
 * for each in d, with the nearest name. To be called when all is read. */
void report_names_check(const struct ctf_set *set, const struct string_list *events,
			const struct ctf_condition *conditions, size_t count, struct diag *d);

#endif
