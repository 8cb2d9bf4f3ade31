/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of an object of JSON, as our own writer has it, as debug annotations of Perfetto. */
#ifndef PANTRACE_TRACE_WRITERS_ANNOTATION_H
#define PANTRACE_TRACE_WRITERS_ANNOTATION_H

#include "base/strbuf.h"

/* One message of this field for each member. */
void annotations_add(struct strbuf *out, u32 field, const char *json, size_t n);

#endif
