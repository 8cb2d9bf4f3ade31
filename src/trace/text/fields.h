/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splits the text of a tracepoint into fields: "pid=17 comm=a b next=3 ==> ...". Thread names may
 * contain spaces, so a value extends to the next NAME= or " ==> "; a thread named "a pid=1" cannot
 * be told from two fields. Also "NR 59 (...)" and "NR 59 = 0" of raw_syscalls: id, ret.
 */
#ifndef PANTRACE_TRACE_TEXT_FIELDS_H
#define PANTRACE_TRACE_TEXT_FIELDS_H

#include "base/json.h"
#include "trace/field_value.h"
#include "trace/text/dialect.h"

/* A result other than 0 stops the walk. */
typedef int text_field_fn(void *arg, struct text_range name, struct text_range value);

int text_fields_each(struct text_range text, text_field_fn *fn, void *arg);

/*
 * A field of the event, or its period; unless only_field also comm, cpu, pid and tid. FIELD_NONE:
 * there is none.
 */
struct field_value text_event_value(const struct text_event *e, const char *name, bool only_field);
/* All of them: as a JSON object, in which none stands twice; one after the other. */
void text_event_json(const struct text_event *e, struct json *j);
void text_event_values(const struct text_event *e, field_value_fn *fn, void *arg);

#endif
