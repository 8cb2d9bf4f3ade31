/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What commands do with the events that they made (s->events): kprobe, uprobe, and tpoint with an
 * event probe.
 */
#ifndef PANTRACE_CMD_FTRACE_PROBES_H
#define PANTRACE_CMD_FTRACE_PROBES_H

#include "cmd/ftrace/session.h"

/* -v: their formats, with the names that the user gave. Returns the exit code. */
int ftrace_probes_show(struct ftrace_session *s);
/*
 * Sets a condition (lang/predicate/) as the filter of the event of this name in tracefs; messages
 * use `shown` if it is not NULL. 0 or -errno with a diagnostic.
 */
int ftrace_filter_set(struct ftrace_session *s, const char *system, const char *event,
		      const char *shown, const char *filter);
/* Sets the filter of all of them. 0 or -errno with a diagnostic. */
int ftrace_probes_filter(struct ftrace_session *s, const char *definition, const char *filter);
/*
 * Enables them. If there are several, those that the kernel refuses are left out: *ret_enabled is
 * how many are on. 0, or -errno with a diagnostic if none is.
 */
int ftrace_probes_enable(struct ftrace_session *s, u32 *ret_enabled);
/*
 * Makes an event probe, Documentation/trace/eprobetrace.rst: e:[NAME] SYSTEM:EVENT [ARGUMENT...]
 * [if FILTER] (also SYSTEM.EVENT, SYSTEM/EVENT). text must outlive the diag. 0 or -errno with a
 * diagnostic.
 */
int ftrace_probes_attach(struct ftrace_session *s, const char *text);
/* Does the text define an event probe? */
bool ftrace_probes_is_definition(const char *text);

#endif
