/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the current contents of a buffer to a trace.dat, as a recorder would: the same pages,
 * formats, symbols and names. The events are consumed.
 */
#ifndef PANTRACE_RECORD_FTRACE_EXTRACT_H
#define PANTRACE_RECORD_FTRACE_EXTRACT_H

#include "kernel/tracefs/instance.h"

struct extract_request {
	const char *path;
	bool is_snapshot; /* take the snapshot buffer */
	bool version_6, is_plain; /* is_plain: without compression */
	bool of_boot; /* it holds what happened since boot: trace_clock_place() */
	/*
	 * A trace.dat: what that says besides its events is written, not what the running kernel
	 * says, which has not recorded what the buffer holds. NULL = the kernel.
	 */
	const char *head;
	bool only_head; /* no events, and the number of this boot; nothing is counted */
};

/* Counts of one CPU or of all. */
struct extract_counts {
	u32 cpu;
	u64 kept; /* events in the file */
	u64 overwritten, dropped; /* since the buffer was cleared; not in the file */
	u64 unwritten; /* events that could not be written */
};

struct extracted {
	struct extract_counts all, *each; /* free(each) */
	u32 cpu_count;
	u64 bytes; /* of the file */
};

/* Returns 0, or -errno with a diagnostic. Events that could not be written are only counted. */
int kernel_extract(struct instance *in, const struct extract_request *r, struct extracted *ret);

#endif
