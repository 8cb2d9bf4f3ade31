/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that LTTng's kernel tracer gives to events and fields (lttng-modules,
 * include/instrumentation/events), for programs that expect these.
 */
#ifndef PANTRACE_TRACE_WRITERS_LTTNG_NAMES_H
#define PANTRACE_TRACE_WRITERS_LTTNG_NAMES_H

#include "base/strbuf.h"
#include "trace/writers/writer.h"

/* The name of the event that r stands at, added to *ret. */
void lttng_event_name(struct recording *r, struct strbuf *ret);
/*
 * Changes *name and *value of a field to those of LTTng. False: LTTng has no such field.
 */
bool lttng_field(const struct recorded_kind *kind, const char **name, size_t *size,
		 struct field_value *value);

#endif
