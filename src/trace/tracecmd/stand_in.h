/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for the agent of a machine that has only trace-cmd's: a process that speaks protocol.h
 * with that, and trace/agent/protocol.h with our recorder, which needs to know no difference.
 */
#ifndef PANTRACE_TRACE_TRACECMD_STAND_IN_H
#define PANTRACE_TRACE_TRACECMD_STAND_IN_H

#include <sys/types.h>

#include "base/base.h"

struct tracecmd_asked {
	int fd; /* connected to the agent; becomes the process's, and is closed here */
	/* Connects to another port of the machine: a descriptor or -errno. */
	int (*connect)(const char *machine, u32 port);
	const char *machine;
	char *const *words; /* of trace-cmd record */
	u32 count;
};

/* A descriptor to speak with, or -errno; *ret_pid ends by itself once that is closed. */
int tracecmd_stand_in(const struct tracecmd_asked *asked, pid_t *ret_pid);

#endif
