/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the machine before the first event: processes, files, mappings, mounts and more, in
 * state.ndjson of the recording's directory. Its lines are described in doc/json.md.
 */
#ifndef PANTRACE_RECORD_STATE_DUMP_H
#define PANTRACE_RECORD_STATE_DUMP_H

#include "record/record.h"

/*
 * Leaves out what cannot be read; counts what is beyond the limits in its last line. 0, or -errno
 * with a diagnostic: the file cannot be written.
 */
int state_dump_write(const struct record_run *run);
/* The recording failed to begin. */
void state_dump_remove(const struct record_run *run);

#endif
