/* SPDX-License-Identifier: MIT */
/* LTTng-UST's tracef(), and vtracef() for a va_list: the event log:message. */
#ifndef PANTRACE_LTTNG_TRACEF_H
#define PANTRACE_LTTNG_TRACEF_H
#include <pantrace/pantrace.h>
#define tracef(...)			     PANTRACE_LOG_AT(PANTRACE_DEBUG, __VA_ARGS__)
#define lttng_ust_tracef(...)		     PANTRACE_LOG_AT(PANTRACE_DEBUG, __VA_ARGS__)
#define vtracef(format, arguments)	     PANTRACE_VLOG_AT(PANTRACE_DEBUG, format, arguments)
#define lttng_ust_vtracef(format, arguments) PANTRACE_VLOG_AT(PANTRACE_DEBUG, format, arguments)
#endif
