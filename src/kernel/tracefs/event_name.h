/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses tracepoint names as people write them: sched:sched_switch or sched/sched_switch, with or
 * without "tracepoint:" or "t:" in front. Reports unknown events and fields with the nearest names.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_EVENT_NAME_H
#define PANTRACE_KERNEL_TRACEFS_EVENT_NAME_H

#include "base/diag.h"
#include "kernel/kernel.h"

/* Behind "tracepoint:" or "t:"; points into the word. */
const char *event_name_bare(const char *word);
/* Is "SYSTEM:EVENT", both of which may have wildcards, an event of this kernel? */
bool event_name_is_known(struct kernel *k, const char *name);

/* Hints "did you mean 'SYSTEM:EVENT'?" if a similar name exists. True if it did. */
bool event_name_hint(struct kernel *k, struct diag *d, const char *name);
/*
 * Reports that there is no such event, with the nearest names. system: NULL = not given. -ENOENT,
 * or -EACCES if the events cannot be read.
 */
int event_name_refuse(struct kernel *k, struct diag *d, struct span at, const char *system,
		      const char *event);

/*
 * Fields of an event by the text of its format file. Returning anything but 0 from fn ends it;
 * returns that.
 */
int event_fields_each(const char *format, int (*fn)(void *arg, const char *name, const char *type),
		      void *arg);
/* Reports that there is no such field, with the nearest names. event: "SYSTEM:EVENT". */
void event_field_refuse(struct diag *d, struct span at, const char *event, const char *format,
			const char *field);

#endif
