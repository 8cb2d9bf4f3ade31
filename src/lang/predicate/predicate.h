/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on events, wherever a person writes one: filters of the ftrace commands, of hist, of
 * tools and of programs' events, triggers, report -w. All are predicates of the script language,
 * and come to the same three ends:
 *
 *	text of a script	compiled for the kernel, or for the interpreter in the program
 *	the kernel's own filter	predicate/kernel.c
 *	an answer		for events of a recording: predicate/recorded.h
 *
 * A name is the event's field of that name, else what scripts call so (comm, pid, tid, cpu ...).
 * args.NAME is always the field. COMM, CPU and common_pid of ftrace are comm, cpu and tid.
 */
#ifndef PANTRACE_LANG_PREDICATE_PREDICATE_H
#define PANTRACE_LANG_PREDICATE_PREDICATE_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "kernel/tracefs/command.h"
#include "lang/syntax/ast.h"

/* The event that a condition refers to. */
struct predicate_event {
	const char *name; /* for messages */
	const char *hint; /* the command that shows its fields; NULL = none */
	VECTOR(const char *) fields;
	bool is_open; /* its fields are not known yet: any name may be a field */
};

/*
 * Describes SYSTEM:EVENT of the running kernel, shown under another name if that is not NULL.
 * Everything is in the arena except the list, which predicate_event_release() frees. An event whose
 * format cannot be read is open.
 */
void predicate_event_live(struct arena *a, struct kernel *k, const char *system, const char *event,
			  const char *shown, struct predicate_event *ret);
void predicate_event_release(struct predicate_event *event);

/*
 * Parses a condition; NULL with a diagnostic. The text becomes a source of the diag, which shows it
 * under this name ("filter"). Everything is in the arena of the diag.
 */
struct expr *predicate_parse(struct diag *d, const char *name, const char *text);
/* Resolves its names for the event. 0, or -ENOENT with a diagnostic at the unknown name. */
int predicate_bind(struct expr *e, const struct predicate_event *event, struct diag *d);

/*
 * Appends a bound condition as script text. Fields get the prefix `args` ("args."), except those
 * named `variable` (NULL = none, "*" = all), which get "$".
 */
void predicate_script(const struct expr *e, const struct diag *d, const char *variable,
		      struct strbuf *out);
/* The three steps in one: parses, binds, appends as script text. 0 or -errno. */
int predicate_to_script(const char *text, const struct predicate_event *event, struct diag *d,
			const char *variable, struct strbuf *out);
/*
 * Appends a bound condition as the kernel's filter of the event (Documentation/trace/events.rst,
 * "Event filtering"); each word keeps its place in the text. 0, or -EINVAL with a diagnostic: the
 * kernel's filters cannot express it.
 */
int predicate_kernel(const struct expr *e, const struct predicate_event *event, struct diag *d,
		     struct tracefs_command *out);
/* Can they express it? d: the one that it was parsed with; nothing is added. */
bool predicate_kernel_can(const struct expr *e, struct diag *d);
/* The three steps in one. Sets of CPUs ("CPUS{1-3}") are the kernel's alone and pass through. */
int predicate_to_kernel(const char *text, const struct predicate_event *event, struct diag *d,
			struct tracefs_command *out);

#endif
