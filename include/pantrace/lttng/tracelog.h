/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST's tracelog(LEVEL, ...), and vtracelog() for a va_list: the event log:message with this
 * level.
 */
#ifndef PANTRACE_LTTNG_TRACELOG_H
#define PANTRACE_LTTNG_TRACELOG_H
#include <lttng/tracepoint.h>
#define tracelog(level, ...)			      PANTRACE_LOG_AT(level, __VA_ARGS__)
#define lttng_ust_tracelog(level, ...)		      PANTRACE_LOG_AT(level, __VA_ARGS__)
#define vtracelog(level, format, arguments)	      PANTRACE_VLOG_AT(level, format, arguments)
#define lttng_ust_vtracelog(level, format, arguments) PANTRACE_VLOG_AT(level, format, arguments)
#endif
