/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events by their number: format, fields and compiled print format, read and compiled when an event
 * of that number is first asked for. Of the running kernel (tracefs), or of a recording (its format
 * texts).
 */
#ifndef PANTRACE_TRACE_FTRACE_EVENT_TABLE_H
#define PANTRACE_TRACE_FTRACE_EVENT_TABLE_H

#include "kernel/kernel.h"
#include "trace/print_format/print_format.h"
#include "types/type.h"

struct event_info {
	u32 id;
	const char *system, *name;
	u32 name_len;
	const struct type *record; /* members with offsets in the raw record */
	const char *print_fmt; /* the text */
	struct print_format *print; /* never NULL: what cannot be compiled prints its fields */
	const char *refused; /* why the print format could not be compiled; NULL = it was */
	/*
	 * of an event probe of the running kernel: "sched.sched_switch"; NULL = none, or not known
	 */
	const char *probed;
	bool own_printer_known; /* trace_text's: whether a printer of its own was looked for */
	void (*own_printer)(void);
	const struct syscall_text *syscall; /* trace_text's, of sys_enter_*; made with special */
};

struct event_table;

/* Of the running kernel. k must outlive it. */
struct event_table *event_table_live(struct kernel *k);
/* Of a recording: add the texts, then ask. */
struct event_table *event_table_recorded(void);
/* The text of a format file; it is copied. 0 or -EINVAL (no "ID:" in it). */
int event_table_add(struct event_table *t, const char *system, const char *text, size_t len);
void event_table_release(struct event_table *t);

/*
 * Live: the event is likely to be asked for (it was enabled), which saves a search through all of
 * them. 0 or -errno.
 */
int event_table_expect(struct event_table *t, const char *system, const char *name);
/* NULL: no such event. Remembered, also that there is none. */
struct event_info *event_table_get(struct event_table *t, u32 id);
/* The same, but only one that was asked for before. */
struct event_info *event_table_met(struct event_table *t, u32 id);
/* By name; live or recorded. */
struct event_info *event_table_find(struct event_table *t, const char *system, const char *name);
/*
 * A dynamic event's shown name replaces that of the kernel ("probe:f" for "pantrace_71_3300/f").
 * The text must stay.
 */
int event_table_rename(struct event_table *t, const char *system, const char *name,
		       const char *shown);

/* The text of a recorded event's format; NULL: there is none. It stays. */
const char *event_table_text(const struct event_table *t, const char *system, const char *name);
/* The names of a recording's events, until fn returns other than 0; nothing is parsed for it. */
void event_table_each(struct event_table *t,
		      int (*fn)(void *arg, const char *system, const char *name), void *arg);

struct type_store *event_table_types(struct event_table *t);
/* The kernel's BTF (live), or NULL. */
struct btf_source;
struct btf_source *event_table_btf(struct event_table *t);

#endif
