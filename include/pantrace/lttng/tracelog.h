/* SPDX-License-Identifier: MIT */
/* LTTng-UST's tracelog(LEVEL, ...): the event log:message with this level. */
#ifndef PANTRACE_LTTNG_TRACELOG_H
#define PANTRACE_LTTNG_TRACELOG_H
#include <lttng/tracepoint.h>
#define tracelog(level, ...)	       PANTRACE_LOG_AT(level, __VA_ARGS__)
#define lttng_ust_tracelog(level, ...) PANTRACE_LOG_AT(level, __VA_ARGS__)
#endif
