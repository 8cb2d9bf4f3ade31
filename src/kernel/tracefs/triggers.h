/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes triggers of events: the command that removes one, and all triggers of an instance. */
#ifndef PANTRACE_KERNEL_TRACEFS_TRIGGERS_H
#define PANTRACE_KERNEL_TRACEFS_TRIGGERS_H

#include "base/base.h"

/*
 * What removes a line of a trigger file, malloc'ed: "hist:keys=pid [active]" -> "!hist:keys=pid";
 * "traceoff:count=2 if x" -> "!traceoff".
 */
char *tracefs_trigger_undo(const char *line);
/*
 * Removes every trigger of the instance in this directory. It must be done where histograms refer
 * to each other's variables: rmdir refuses such an instance, and a synthetic event that they make
 * cannot be removed. 0, or -EBUSY if some are still there.
 */
int tracefs_triggers_remove(const char *directory);

#endif
