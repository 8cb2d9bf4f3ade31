/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a host reaches an agent. */
#ifndef PANTRACE_TRACE_AGENT_REACH_H
#define PANTRACE_TRACE_AGENT_REACH_H

#include <sys/types.h>

#include "base/diag.h"

#define AGENT_WAYS                                                                   \
	"the name or PID of a QEMU guest, a vsock CID, a path of a Unix socket, or " \
	"ssh:[USER@]HOST[:PORT]"

/*
 * [NAME=]WAY, and a WAY is the name or PID of a QEMU guest, CID, vsock:CID[:PORT], /PATH, unix:PATH
 * or ssh:[USER@]HOST[:PORT]. The NAME, or that of the guest, malloc'ed, or NULL; *ret_way is the
 * way.
 */
char *agent_way_name(const char *where, const char **ret_way);
/*
 * Connects: a descriptor that does not wait, or -errno with a diagnostic. *ret_pid: ssh, for
 * relay_carrier_end() (trace/relay/ctf_relay_connect.h), or 0.
 */
int agent_reach(const char *way, struct diag *d, pid_t *ret_pid);
/*
 * The process that the machine at the other end is: QEMU's, whose socket or CID this is, or
 * whoever made the socket. 0: not known.
 */
pid_t agent_process(int fd);

#endif
