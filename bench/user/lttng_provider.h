/* SPDX-License-Identifier: MIT */
/* The same events for LTTng-UST; "off" is never enabled. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench_lttng
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PROVIDER_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench_lttng, one, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench_lttng, string, LTTNG_UST_TP_ARGS(int, i, const char *, s),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)
						       lttng_ust_field_string(s, s)))
LTTNG_UST_TRACEPOINT_EVENT(bench_lttng, reject, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench_lttng, off, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
#endif

#include <lttng/tracepoint-event.h>
