/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_TIME_H
#define PANTRACE_CMD_REPORT_TIME_H

#include "base/strbuf.h"

/*
 * Parses "2026-01-31 12:34:56.789", seconds since the epoch, or "12:34:56.789" on the day of
 * day_of_ns. Gives nanoseconds since the epoch. Returns 0 or -EINVAL.
 */
int report_time_parse(const char *text, bool utc, s64 day_of_ns, s64 *ret);

/* Appends "12:34:56.789012345", or with as_recorded (the day is unknown) "36586.371974012". */
void report_time_text(s64 ns, bool utc, bool as_recorded, struct strbuf *out);

#endif
