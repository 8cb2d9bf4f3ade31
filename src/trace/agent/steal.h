/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steal: how long virtual CPUs of this machine were ready to run while their host gave its CPUs to
 * others, as this machine's own kernel counts it (proc(5), stat). It counts in ticks, of 10 ms.
 */
#ifndef PANTRACE_TRACE_AGENT_STEAL_H
#define PANTRACE_TRACE_AGENT_STEAL_H

#include "base/base.h"

#define STEAL_CPUS 1024u

struct steal {
	u32 count; /* CPUs, by number; one that is offline has 0 */
	u64 ns[STEAL_CPUS]; /* since boot */
};

/* Without /proc: of no CPU. */
void steal_read(struct steal *ret);
/* The text of /proc/stat. */
void steal_parse(struct steal *ret, const char *text);

#endif
