/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops privileges once everything is attached and only reading is left: capabilities, new
 * privileges by exec (no_new_privs) and, where possible, all system calls that reading does not
 * need (seccomp(2)). The tracer reads names and files that the traced programs control: an
 * exploited parser gains no more than a reader has.
 *
 * Applies to the calling thread and the processes that it starts; the system-call filter applies to
 * all threads. Processes that were started before are not affected.
 */
#ifndef PANTRACE_KERNEL_SANDBOX_SANDBOX_H
#define PANTRACE_KERNEL_SANDBOX_SANDBOX_H

#include "base/base.h"

/*
 * What the run still has to do, beyond reading maps and buffers, for which BPF and PERFMON are
 * kept.
 */
enum sandbox_need {
	SANDBOX_KERNEL_NAMES = 1 << 0, /* functions of the kernel are read now and then: SYSLOG */
	/* programs of other users, by process: SYS_PTRACE, DAC_READ_SEARCH */
	SANDBOX_USER_FILES = 1 << 1,
	/* a command that may run as another user is to be ended: KILL */
	SANDBOX_CHILD = 1 << 2,
	SANDBOX_WRITES = 1 << 3, /* files are made: DAC_OVERRIDE, and no filter */
	/* instrumented programs join: their sockets, rings, owners; and no filter */
	SANDBOX_PROGRAMS = 1 << 4,
	SANDBOX_TRACEFS = 1 << 5, /* ftrace is switched off again: no filter */
};

struct sandbox_capability {
	u32 bit;
	const char *name;
	u32 needs; /* kept for one of these; 0 = for all runs */
	const char *why;
};

/* Those that may be kept. Ends with a NULL name. */
extern const struct sandbox_capability sandbox_capabilities[];

/*
 * Drops the rest. 0 or -errno: then less was dropped, and the run may go on. needs: enum
 * sandbox_need, or'ed.
 */
int sandbox_enter(u32 needs);
/* Does this kernel filter system calls for us (seccomp(2), on this architecture)? */
bool sandbox_can_filter(void);
/*
 * How many system calls the filter refused (EPERM). Each was reported on stderr: either the filter
 * has a gap, or the tracer was exploited.
 */
u32 sandbox_refused(void);
/* The words of the option that switches it off. */
#define SANDBOX_OPTION_NAME "keep-privileges"
#define SANDBOX_OPTION_HELP \
	"keep all privileges while events are read (doctor shows what is given up)"

#endif
