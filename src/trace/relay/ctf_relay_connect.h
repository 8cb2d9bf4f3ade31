/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways to a relay: a socket, or a program that carries what is written to it, as ssh does. */
#ifndef PANTRACE_TRACE_RELAY_CTF_RELAY_CONNECT_H
#define PANTRACE_TRACE_RELAY_CTF_RELAY_CONNECT_H

#include <sys/types.h>

#include "base/diag.h"
#include "trace/relay/relay_protocol.h"

/*
 * TO: ssh://[USER@]HOST[:PORT]/DIRECTORY, unix:SOCKET, tcp:ADDRESS:PORT. A descriptor or -errno
 * (-EINVAL: none of these); *ret_pid is the program in between, or 0, and is to be given to
 * relay_carrier_end().
 */
int relay_connect(const char *to, pid_t *ret_pid);
/*
 * Runs pantrace with WORDS, which its shell reads, at [USER@]HOST, and talks to it: a descriptor or
 * -errno, as above. port: NULL = ssh's own.
 */
int relay_ssh(const char *host, const char *port, const char *words, pid_t *ret_pid);
/* After the descriptor was closed; wait: for up to a second before it is ended. */
void relay_carrier_end(pid_t *pid, bool wait);

/* How a recorder greets: a session of its own, of a host, NULL = this one. */
struct relay_hello relay_hello_of(const char *host);
/* Why nobody answered at that place: -errno. */
void relay_tell_no_answer(const char *to, int err, struct diag *d);

#endif
