/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pantrace report` reads: CTF traces, recordings of the kernel, directories of both. */
#ifndef PANTRACE_CMD_REPORT_INPUTS_H
#define PANTRACE_CMD_REPORT_INPUTS_H

#include "trace/ctf/trace.h"

struct report_recordings {
	VECTOR(char *) paths; /* each a trace.dat */
};

/*
 * Adds the traces at PATH to the set, and its recordings to the list. is_recording: it is one, or
 * is to be told that it is not. 0 or -errno with a diagnostic.
 */
int report_input_add(const char *path, bool is_recording, struct ctf_set *set,
		     struct report_recordings *recordings, struct diag *d);
void report_recordings_release(struct report_recordings *recordings);

#endif
