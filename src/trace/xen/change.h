/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A change of a virtual CPU's state, as an event of a recording. */
#ifndef PANTRACE_TRACE_XEN_CHANGE_H
#define PANTRACE_TRACE_XEN_CHANGE_H

#include "trace/recording.h"
#include "trace/xen/file.h"

struct xen_change {
	u32 domain, vcpu;
	s64 tid; /* 0 = an idle one */
	enum xen_state before, now;
};

static inline bool xen_is_change(const struct recorded_kind *k)
{
	return str_eq(k->name, "xen_sched:runstate_change");
}

/* False: a field is missing or out of range. */
static inline bool xen_change_of(struct recording *r, struct xen_change *ret)
{
	s64 domain, vcpu, before, now;

	if (!recorded_number(r, "dom", &domain) || !recorded_number(r, "vcpu", &vcpu) ||
	    !recorded_number(r, "old_state", &before) || !recorded_number(r, "new_state", &now) ||
	    before < 0 || before >= XEN_STATES || now < 0 || now >= XEN_STATES)
		return false;
	*ret = (struct xen_change){.domain = (u32)domain,
				   .vcpu = (u32)vcpu,
				   .tid = xen_tid((u32)domain, (u32)vcpu),
				   .before = (enum xen_state)before,
				   .now = (enum xen_state)now};
	return true;
}

#endif
