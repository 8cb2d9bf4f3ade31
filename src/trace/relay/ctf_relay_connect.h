/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways to a relay: a socket, or a program that carries what is written to it, as ssh does. */
#ifndef PANTRACE_TRACE_RELAY_CTF_RELAY_CONNECT_H
#define PANTRACE_TRACE_RELAY_CTF_RELAY_CONNECT_H

#include <sys/types.h>

#include "base/base.h"

/*
 * TO: ssh://[USER@]HOST[:PORT]/DIRECTORY, unix:SOCKET, tcp:ADDRESS:PORT. A descriptor or -errno
 * (-EINVAL: none of these); *ret_pid is the program in between, or 0, and is to be given to
 * relay_carrier_end().
 */
int relay_connect(const char *to, pid_t *ret_pid);
/* After the descriptor was closed; wait: for up to a second before it is ended. */
void relay_carrier_end(pid_t *pid, bool wait);

#endif
