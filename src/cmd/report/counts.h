/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_COUNTS_H
#define PANTRACE_CMD_REPORT_COUNTS_H

#include "trace/recording.h"

/* Prints a line for each kind that has events, the most frequent first. */
void report_counts_print(struct recordings *all, bool is_json);

#endif
