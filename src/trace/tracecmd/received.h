/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What trace-cmd's agent records, as it comes, into a trace.dat that a carrier takes: its head by
 * the control connection, then the pages of each CPU by one of its own, in a thread of its own.
 */
#ifndef PANTRACE_TRACE_TRACECMD_RECEIVED_H
#define PANTRACE_TRACE_TRACECMD_RECEIVED_H

#include "base/diag.h"
#include "base/recording_file.h"
#include "trace/tracecmd/message.h"
#include "trace/tracecmd/sync.h"

struct tracecmd_received;

/*
 * Reads the head. machine_to_real: what is to be added to its CLOCK_MONOTONIC for the calendar. 0
 * or -errno with a diagnostic.
 */
int tracecmd_received_begin(struct tracecmd_stream *control, const struct tracecmd_response *r,
			    s64 machine_to_real, struct recording_carrier *carrier, struct diag *d,
			    struct tracecmd_received **ret);
/* Takes the pages of each CPU from these, which become its own. */
void tracecmd_received_start(struct tracecmd_received *r, const int *fds);
/* Readable when a CPU has ended. */
int tracecmd_received_fd(const struct tracecmd_received *r);
bool tracecmd_received_has_ended(struct tracecmd_received *r);
/* From now on CPUs may end. cut: those that have not are cut off, once what is there is taken. */
void tracecmd_received_expect_end(struct tracecmd_received *r, bool cut);

struct tracecmd_totals {
	u64 bytes, lost;
	u32 uncounted; /* CPUs of which nobody can tell what is lost */
};

/*
 * Waits until all have ended, and finishes the file. moments: how its clock stood to ours. Frees r.
 */
struct tracecmd_totals tracecmd_received_end(struct tracecmd_received *r,
					     const tracecmd_moments *moments);
/* Nothing was begun, or nobody takes it any more. NULL is fine. */
void tracecmd_received_abandon(struct tracecmd_received *r);

#endif
