/* SPDX-License-Identifier: MIT */
/* The helper's socket: its name in the runtime directory, and what a client on it is answered. */
#ifndef PANTRACE_LIB_CONTROL_SOCKET_H
#define PANTRACE_LIB_CONTROL_SOCKET_H

#include "internal.h"

#define PT_HIGH_FD 48 /* below 64, where a table of descriptors would have to grow */

/*
 * Makes the socket, and removes those of processes that have ended. HIGH: in a descriptor table
 * that is shared with the program; else accept() does not block. Returns the descriptor or a
 * negative errno.
 */
PT_HIDDEN int pt_socket_make(bool high);
/* Whether the socket exists and the program has not closed it. */
PT_HIDDEN bool pt_socket_ours(void);
/* Its name. */
PT_HIDDEN void pt_socket_remove(void);
/* In a forked child. IN_OUR_TABLE: the descriptor was inherited. */
PT_HIDDEN void pt_socket_forget(bool in_our_table);
/* Connects to it, to wake a thread that waits for a connection. */
PT_HIDDEN void pt_socket_touch(void);
/* Answers one request of the client FD, if it has the right to ask. */
PT_HIDDEN void pt_socket_serve(int fd);

#endif
