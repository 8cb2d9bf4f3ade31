/* SPDX-License-Identifier: MIT */
/*
 * What LTTng-UST's provider headers include last. There is nothing left to do: <lttng/tracepoint.h>
 * has made the events.
 */
