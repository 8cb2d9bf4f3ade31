/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what the ring buffers of a dead machine hold into a trace.dat, which says of its kernel
 * what a recorder would have said.
 */
#ifndef PANTRACE_TRACE_VMCORE_EXTRACT_H
#define PANTRACE_TRACE_VMCORE_EXTRACT_H

#include "base/diag.h"

/* Of one CPU in one buffer. */
struct vmcore_counts {
	const char *instance; /* "" = the kernel's own */
	u32 cpu;
	u64 kept; /* events in the file */
	u64 overwritten; /* by the kernel, for newer ones */
	u64 dropped; /* by the kernel, for want of room */
	u64 unreadable; /* that the dump should have */
};

struct vmcore_extracted {
	VECTOR(struct vmcore_counts) all; /* by instance and CPU */
	u64 bytes, kept, unreadable; /* bytes: of the file */
	struct arena arena; /* of the names */
};

/*
 * dump: its path. instance: only this one ("" = the kernel's own); NULL = all that have events. The
 * file is written as any recording is. 0 or -errno with a diagnostic; release in any case.
 */
int vmcore_extract(const char *dump, const char *instance, const char *output, struct diag *d,
		   struct vmcore_extracted *ret);
void vmcore_extracted_release(struct vmcore_extracted *e);

#endif
