/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace crash: the last events of what has ended.
 *
 *	crash.c		options; rings of programs
 *	vmcore.c	ring buffers out of a dump of the machine's memory
 *	../boot/crash.c	memory that outlives a crash
 */
#ifndef PANTRACE_CMD_CRASH_CRASH_H
#define PANTRACE_CMD_CRASH_CRASH_H

#include "base/diag.h"

/* instance: NULL = all. Returns an exit code. */
int crash_vmcore(const char *dump, const char *instance, const char *output, bool json,
		 struct diag *d);

#endif
