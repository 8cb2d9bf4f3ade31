/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From definitions in terms of the source (probe/definition/point.h) to what the kernel takes:
 * places as file offsets or as symbols and offsets, variables as fetch arguments. Nothing is
 * written here.
 *
 *	struct translator *t = translator_new(k, d, &config);
 *	struct translation result;
 *	if (t && !translate(t, "handle:4 len buf:string", &result)) ... result.places.items[0] ...
 *	translation_release(&result);
 *	translator_release(t);
 */
#ifndef PANTRACE_PROBE_DEFINITION_TRANSLATE_H
#define PANTRACE_PROBE_DEFINITION_TRANSLATE_H

#include "binary/debug/variable.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/dynamic_event.h"
#include "probe/definition/point.h"

struct translate_config {
	const char *file; /* program or library: any name of it; NULL = the kernel */
	pid_t pid; /* FILE is as this process sees it; 0 = none */
	const char *vmlinux; /* kernel: another one's file; NULL = the running one */
	const char *module; /* kernel: its name or the path of its .ko; NULL = none */
	const char *symfs; /* files are looked for below this folder; NULL = none */
	const char *debug_path; /* more places of debug files; NULL = none */
	const char *source; /* folder of the source; NULL = as the debug info says */
	u32 max_probes; /* places of one definition; 0 = 128 */
	bool no_inlines; /* only functions themselves, no inlined copies */
	bool externs; /* $vars: also variables of other source files */
	bool is_live; /* the kernel is going to be told: what it cannot take is refused */
	/* kernel: places begin at symbols, not at the kernel's beginning: other builds have them */
	bool by_symbol;
};

struct translated_place {
	struct tracefs_command command; /* "PLACE ARGS", what stands behind the event's name */
	const char *signature; /* names and types of the arguments: alike = one event */
	const char *group; /* as given, or by the target: "probe_demo"; or by the SDT event */
	const char *event; /* as given, or by the point: "handle_L4" */
};

/* Two places with the same names and arguments are one event. */
static inline bool translated_place_is_alike(const struct translated_place *x,
					     const struct translated_place *y)
{
	return str_eq(x->event, y->event) && str_eq(x->group, y->group) &&
	       str_eq(x->signature, y->signature);
}

struct translation {
	struct point_definition definition;
	bool is_user, is_return;
	const char *shown; /* the point as messages have it: "handle:4 in /tmp/demo" */
	VECTOR(struct translated_place) places;
};

struct translator;

/*
 * d and everything that config points to must outlive it; nothing is shown of what it costs to
 * look for a file that is not there: NULL with a diagnostic.
 */
struct translator *translator_new(struct kernel *k, struct diag *d,
				  const struct translate_config *config);
void translator_release(struct translator *t); /* NULL is fine */
/* The file of the target: a program, or vmlinux; NULL: the running kernel's symbols only. */
struct elf_file *translator_file(struct translator *t);
/*
 * Opens the file with debug information of the running kernel or its module, if it is installed,
 * and is of this build. True: translator_file() is there.
 */
bool translator_find_debug(struct translator *t);
/* Says that the target's debug information, or a part of it, is not there. -ENODATA. */
int translator_refuse(struct translator *t, struct span at);
/*
 * To be asked when answers have been found: 0, or -errno, said: a file was cut short or written
 * over while it was read.
 */
int translator_check(struct translator *t);
/*
 * Translates one definition; text must outlive d. 0, or -errno with a diagnostic. To be released in
 * any case; its strings live as long as t.
 */
int translate(struct translator *t, const char *text, struct translation *ret);
void translation_release(struct translation *r);
/*
 * Makes the events of a translation: one for all places that have its name and the same arguments.
 * modifier: as for dynamic_events_define_as(). shown: what the events are called; NULL = as their
 * places say. fn is told of each new event. 0 or -errno with a diagnostic; what was made before it
 * stays in the set.
 */
int translation_make(const struct translation *t, struct dynamic_events *set, const char *modifier,
		     const char *shown,
		     void (*fn)(void *arg, const struct dynamic_event *e,
				const struct translated_place *place),
		     void *arg);
/*
 * The same without looking: the lines are what the text was translated to before, for this very
 * build of the target ("p:GROUP/EVENT PLACE ARGUMENTS", as perf's cache has them).
 */
int translate_cached(struct translator *t, const char *text, const char *const *lines, size_t count,
		     struct translation *ret);

/* Where a probe of a point can fetch variables. */
struct point_place {
	struct debug_point at; /* of translator_file() */
	bool is_line; /* the point is a line of a file */
};
/*
 * Calls fn for each of them until it returns non-zero, which is the result. text as for
 * translate(), but without arguments.
 */
int translator_each_place(struct translator *t, const char *text,
			  int (*fn)(void *arg, const struct point_place *place), void *arg);

#endif
