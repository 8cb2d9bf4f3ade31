/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who owns an object in tracefs. Everything that pantrace makes there has its process and the
 * process's start time in the name: a later run recognises what a killed one left, and a new
 * process with a reused PID is not taken for the owner.
 *
 *	instances/pantrace-PID-START	a ring buffer of its own
 *	events/pantrace_PID_START/x	a probe event
 *	events/synthetic/pantrace_PID_START_x
 *
 * START is the 22nd field of /proc/PID/stat: clock ticks since boot.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_OWNER_H
#define PANTRACE_KERNEL_TRACEFS_OWNER_H

#include <sys/types.h>

#include "kernel/kernel.h"

struct tracefs_owner {
	pid_t pid;
	u64 start;
};

/* "pantrace_PID_START" and its NUL. */
#define TRACEFS_OWNER_NAME 48

struct tracefs_owner tracefs_owner_self(void);
/* Fills in "pantrace?PID?START" with the separator '-' (instances) or '_' (events). */
void tracefs_owner_name(const struct tracefs_owner *o, char separator,
			char ret[TRACEFS_OWNER_NAME]);
/*
 * Does the name begin with an owner's? *ret_rest (may be NULL): what follows it ("", "/x",
 * "_x", "-2").
 */
bool tracefs_owner_parse(const char *name, struct tracefs_owner *ret, const char **ret_rest);
/*
 * Is the owner still there: as a process, or (from another PID namespace) by the lock that it holds
 * on its instance? When in doubt, yes.
 */
bool tracefs_owner_alive(struct kernel *k, const struct tracefs_owner *o);

#endif
