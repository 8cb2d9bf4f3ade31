/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of an event's text, as tracepoints print them: "pid=17 comm=a b next=3 ==> ...". A value
 * goes on to the next NAME= or to " ==> ", as names of threads have blanks: a thread that is
 * called "a pid=1" cannot be told from two fields. And "NR 59 (...)", "NR 59 = 0" of
 * raw_syscalls: id, ret.
 */
#ifndef PANTRACE_TRACE_TEXT_FIELDS_H
#define PANTRACE_TRACE_TEXT_FIELDS_H

#include "trace/field_value.h"
#include "trace/text/dialect.h"

/* Returning other than 0 ends it. */
typedef int text_field_fn(void *arg, struct text_range name, struct text_range value);

int text_fields_each(struct text_range text, text_field_fn *fn, void *arg);
struct field_value text_field_value(struct text_range value);

#endif
