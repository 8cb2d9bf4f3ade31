/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests of this machine, found from QEMU's processes: those of root, of our own user, and of the
 * user as whom libvirt runs them (libvirt-qemu, qemu). Any other user's process could pose as QEMU;
 * it is found by its number only.
 */
#ifndef PANTRACE_TRACE_AGENT_QEMU_H
#define PANTRACE_TRACE_AGENT_QEMU_H

#include <sys/types.h>

#include "base/diag.h"

/*
 * The way to the agent of a guest, by its name (QEMU's -name) or the number of its process:
 * "unix:PATH" of its port pantrace.0, or "vsock:CID"; malloc'ed. NULL: no guest is called so. With
 * a diagnostic: the guest has neither, or there are two of that name.
 */
char *agent_way_of_guest(const char *name, struct diag *d);
/* The process of the guest with this CID of vsock (or 0), or this socket (or NULL); 0: none. */
pid_t agent_guest_process(u64 cid, const char *path);
/* Names of all guests, "a, b", malloc'ed; NULL: there are none. */
char *agent_guests(void);

#endif
