/* SPDX-License-Identifier: MIT */
/* Events as text. The tool uses this for events that it finds in files. */
#ifndef PANTRACE_LIB_EVENT_H
#define PANTRACE_LIB_EVENT_H

#include <pantrace/pantrace.h>

/* "type:name type:name" of the fields of EVENT, cut to SIZE. */
__attribute__((visibility("hidden"))) void pt_event_fields(const struct pantrace_event *event,
							   char *ret, size_t size);

#endif
