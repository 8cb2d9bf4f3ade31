/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace run --guest: a script that runs on another machine, by its agent. */
#ifndef PANTRACE_CMD_RUN_GUEST_H
#define PANTRACE_CMD_RUN_GUEST_H

#include "base/base.h"

/*
 * Sends the script and its arguments, and prints what it prints there until it ends, or a signal
 * ends it. where: trace/agent/reach.h; format: "text", "json". Its exit code there, or that of a
 * failure here.
 */
int run_in_guest(const char *where, const char *format, const char *text, char *const *arguments,
		 int count);

#endif
