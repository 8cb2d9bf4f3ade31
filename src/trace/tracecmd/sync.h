/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparing clocks with trace-cmd's agent, or its host (protocol.h). */
#ifndef PANTRACE_TRACE_TRACECMD_SYNC_H
#define PANTRACE_TRACE_TRACECMD_SYNC_H

#include "trace/tracecmd/message.h"

/*
 * When its trace clock said MACHINE, our CLOCK_MONOTONIC was between these: the best of as many
 * probes as it sends.
 */
struct tracecmd_moment {
	u64 machine_ns, least_ns, most_ns;
};

typedef VECTOR(struct tracecmd_moment) tracecmd_moments;

/* 0; -EAGAIN: it has nothing to tell this time; another -errno: it will have nothing any more. */
int tracecmd_compare(struct tracecmd_stream *s, struct tracecmd_moment *ret);
/* As the agent: is compared, by CLOCK_MONOTONIC, until the host stops that. 0 or -errno. */
int tracecmd_be_compared(struct tracecmd_stream *s);

#endif
