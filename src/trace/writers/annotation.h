/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the members of a JSON object, from base/json.h, into Perfetto's debug annotations. */
#ifndef PANTRACE_TRACE_WRITERS_ANNOTATION_H
#define PANTRACE_TRACE_WRITERS_ANNOTATION_H

#include "base/strbuf.h"

/* One message of this field for each member. */
void annotations_add(struct strbuf *out, u32 field, const char *json, size_t n);

#endif
