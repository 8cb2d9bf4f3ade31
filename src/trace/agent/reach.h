/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a host reaches an agent. */
#ifndef PANTRACE_TRACE_AGENT_REACH_H
#define PANTRACE_TRACE_AGENT_REACH_H

#include <sys/types.h>

#include "base/diag.h"

#define AGENT_WAYS                                                                    \
	"the name or PID of a QEMU guest, a vsock CID, a path of a Unix socket, "     \
	"ssh:[USER@]HOST[:PORT], or trace-cmd:CID or ADDRESS[:PORT] for trace-cmd's " \
	"agent"

/*
 * [NAME=]WAY, and a WAY is the name or PID of a QEMU guest, CID, vsock:CID[:PORT], /PATH,
 * unix:PATH, ssh:[USER@]HOST[:PORT], trace-cmd:CID[:PORT] or trace-cmd:ADDRESS[:PORT]. The NAME, or
 * that of the guest, malloc'ed, or NULL; *ret_way is the way.
 */
char *agent_way_name(const char *where, const char **ret_way);
/* Whether it leads to trace-cmd's agent, which takes words of `trace-cmd record`. */
bool agent_is_tracecmd(const char *way);
/*
 * Connects: a descriptor that does not wait, or -errno with a diagnostic. words: that will be sent
 * for a recording; NULL: it is none. *ret_pid: ssh, or what stands in for trace-cmd's agent, for
 * relay_carrier_end() (trace/relay/ctf_relay_connect.h), or 0.
 */
int agent_reach(const char *way, char *const *words, u32 count, struct diag *d, pid_t *ret_pid);
/*
 * The process that the machine at the other end is: QEMU's, whose socket or CID this is, or
 * whoever made the socket. 0: not known.
 */
pid_t agent_process(int fd);

#endif
