/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of xentrace's records, and the meaning of their words. */
#ifndef PANTRACE_TRACE_XEN_EVENTS_H
#define PANTRACE_TRACE_XEN_EVENTS_H

#include "trace/xen/file.h"

/* Whose numbers the reasons of exits are; as the field `isa` of kvm:kvm_exit. */
enum xen_isa { XEN_ISA_UNKNOWN, XEN_ISA_VMX, XEN_ISA_SVM };

struct xen_value {
	const char *name;
	u64 number; /* sign-extended if is_signed */
	u8 bits; /* as for field_value: 8, 16, 32, 64 */
	bool is_signed, is_hex;
	const char *label; /* of this number; NULL = none */
};

#define XEN_VALUES_MAX 16

struct xen_event; /* a kind of record with one layout */
struct xen_events; /* all known ones */

struct xen_events *xen_events_new(void);
void xen_events_release(struct xen_events *all);
/* Never NULL: an unknown record gets the event "unknown" of its class, which shows its words. */
const struct xen_event *xen_events_get(const struct xen_events *all, const struct xen_record *r);
/* "xen_sched:runstate_change". Equal names are the same pointer. */
const char *xen_event_name(const struct xen_event *e);
/* Fills in ret[XEN_VALUES_MAX]; returns how many there are. */
u32 xen_event_values(const struct xen_event *e, const struct xen_record *r, enum xen_isa isa,
		     struct xen_value *ret);
/* Calls fn with the name of each event, or field, until it returns other than 0; returns that. */
int xen_events_each(const struct xen_events *all, int (*fn)(void *arg, const char *name),
		    void *arg);
int xen_fields_each(const struct xen_events *all, int (*fn)(void *arg, const char *name),
		    void *arg);
/*
 * The kind of machine that this record can only come from. Up to Xen 4.17 an exit does not say
 * whose number its reason is, but many numbers exist on one kind only.
 */
enum xen_isa xen_record_proves(const struct xen_record *r);

#endif
