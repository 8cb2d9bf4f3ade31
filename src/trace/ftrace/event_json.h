/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event of the kernel holds, as JSON: its fields by their names, the frames of a stack. */
#ifndef PANTRACE_TRACE_FTRACE_EVENT_JSON_H
#define PANTRACE_TRACE_FTRACE_EVENT_JSON_H

#include "base/json.h"
#include "trace/ftrace/event_table.h"
#include "trace/ring/page.h"
#include "trace/ftrace/symbols.h"

struct event_json_names {
	struct ksyms *kernel;
	/* The name of an address of a process; false: it has none. NULL = none has. */
	bool (*user)(void *arg, pid_t process, u64 address, struct strbuf *name);
	void *arg;
};

/* {...}; empty where INFO is NULL. */
void event_json_fields(struct json *j, const struct event_info *info, const struct page_event *e,
		       const struct event_json_names *names);
/*
 * "fields": {...}, or "frames": [...] of a stack, innermost first; a member of the object that is
 * open.
 */
void event_json_add(struct json *j, const struct event_info *info, const struct page_event *e,
		    const struct event_json_names *names);

#endif
