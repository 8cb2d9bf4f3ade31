/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings in memory that outlives the kernel: an instance of the command line,
 * trace_instance=NAME^traceoff@LABEL (Linux 6.12; Documentation/trace/debugging.rst). After a crash
 * and a warm reboot it still holds the events.
 *
 * What else it takes to read them, formats, symbols, names of tasks and the place of the clock,
 * goes with the kernel that wrote them. So it is written to LAST_BOOT_FOLDER/NAME.dat, a trace.dat
 * without events, before the recording begins.
 */
#ifndef PANTRACE_RECORD_FTRACE_LAST_BOOT_H
#define PANTRACE_RECORD_FTRACE_LAST_BOOT_H

#include "record/ftrace/extract.h"

#define LAST_BOOT_FOLDER "/var/lib/pantrace"

/*
 * Has the instance record. 0 or -errno with a diagnostic: it records already, or holds what the
 * boot before has recorded, which nobody has read yet.
 */
int last_boot_arm(struct instance *in);
/*
 * Writes what the boot before has recorded into a trace.dat; it is taken out. 0 or -errno with a
 * diagnostic: there is nothing; it is of this boot; nothing says how to read it.
 */
int last_boot_read(struct instance *in, const char *path, bool version_6, struct extracted *ret);

#endif
