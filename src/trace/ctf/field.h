/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_TRACE_CTF_FIELD_H
#define PANTRACE_TRACE_CTF_FIELD_H

#include "trace/ctf/trace.h"
#include "trace/field_value.h"

/*
 * A field of the event, of its contexts or of its packet, as it is shown; members after dots.
 */
struct field_value ctf_event_field(const struct ctf_event *event, const char *name);
/* The same, of its contexts and its packet alone. */
struct field_value ctf_event_context(const struct ctf_event *event, const char *name);
/* All fields of its own, members after dots. */
void ctf_event_values(const struct ctf_event *event, field_value_fn *fn, void *arg);
/* Where its own fields begin, behind its contexts. */
struct ctf_cursor ctf_event_payload(const struct ctf_event *event);

#endif
