/* SPDX-License-Identifier: MIT */
/*
 * What an event does besides being recorded: filters decide for each session whether it is
 * recorded, and scripts of tools are called. An event without filter or script has no hooks.
 */
#ifndef PANTRACE_LIB_HOOKS_H
#define PANTRACE_LIB_HOOKS_H

#include "internal.h"
#include "vm.h"

#define PT_PROGRAMS 8 /* of one session for one event */

/* What a session counts an event by; constant. */
struct pt_programs {
	unsigned int nr;
	const struct pt_vm *vm[PT_PROGRAMS];
};

/* Allocated once for an event and never freed: threads may be using it. */
struct pantrace_hooks {
	uint32_t aggregates; /* bits of sessions that only count */
	const struct pt_programs *programs[PT_SESSIONS];
	uint32_t filtered; /* bits of sessions that have a filter */
	uint32_t scripts; /* bits of sessions that are scripts: no rings, the script is called */
	uint64_t hash; /* 63 bits, of provider, name and fields: what a script knows the event by */
	const struct pt_vm *filter[PT_SESSIONS];
	struct pt_vm_view view;
	struct pt_vm_range
		range; /* is_so: all sessions have this one filter, and none is a script */
};

/* Whether no session wants the event, as far as one comparison tells. */
static inline bool pt_hooks_reject(const struct pantrace_hooks *hooks, const unsigned char *record)
{
	return __atomic_load_n(&hooks->range.is_so, __ATOMIC_ACQUIRE) &&
	       !pt_vm_range_accepts(&hooks->range, record);
}

/*
 * Adds a filter to RULES, in place of one for the same: IMAGE is loaded, or found among those
 * loaded before. HASH: see struct pt_rule_filter. -E2BIG: there are too many.
 */
PT_HIDDEN int pt_filter_add(struct pt_rules *rules, const char *glob, size_t n, uint64_t hash,
			    const void *image, size_t size);
/* The same with the image as hexadecimal digits. */
PT_HIDDEN int pt_filter_add_hex(struct pt_rules *rules, const char *glob, size_t n, uint64_t hash,
				const char *hex, size_t digits);

enum pt_filter_fit {
	PT_FILTER_NONE, /* no filter is for an event of this name */
	PT_FILTER_OTHER, /* there are some, compiled for other fields: the event cannot be judged */
	PT_FILTER_FITS,
};
/* Whether RULES have a filter for the event "FULL"; the last that fits is *RET, unless that is
 * NULL. */
PT_HIDDEN enum pt_filter_fit pt_filter_of(const struct pt_rules *rules,
					  const struct pantrace_event *event, const char *full,
					  const struct pt_vm **ret);
/* Adds a program that counts the events of HASH; its image as hexadecimal digits. */
PT_HIDDEN int pt_aggregate_add_hex(struct pt_rules *rules, uint64_t hash, const char *hex,
				   size_t digits);
/* Appends the filters and programs of FROM to those of TO. */
PT_HIDDEN int pt_filters_append(struct pt_rules *to, const struct pt_rules *from);

/* Updates EVENT's hooks for SESSIONS, the bits of those that want it. The lock is held. -ENOMEM. */
PT_HIDDEN int pt_hooks_follow(struct pantrace_event *event, uint32_t sessions);
/* Whether session NUMBER wants the event, and its filter, if it has one, accepts it. */
PT_HIDDEN bool pt_hooks_accept(const struct pantrace_event *event, unsigned int number,
			       const unsigned char *record, size_t size);
/*
 * Runs the event's programs in SESSIONS: in scripts and in those that only count. Returns the other
 * sessions, which still have to be asked one by one.
 */
PT_HIDDEN uint32_t pt_hooks_run(const struct pantrace_event *event, uint32_t sessions,
				const unsigned char *record, size_t size);

#endif
