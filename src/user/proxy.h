/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that meet other users' programs in the place of root's tool.
 *
 * Whoever closes a file last waits for what closing it takes: a file of a FUSE file system for its
 * owner, who need not answer, a TCP socket for its SO_LINGER. Descriptors that were sent to a
 * socket count, read or not: they are closed with it. So root's tool closes no socket that another
 * user's program can send to: a proxy, with descriptors of its own, holds it as well, takes what
 * comes, and hands on what is memory. Where a proxy does not come to its end, it is left behind.
 */
#ifndef PANTRACE_USER_PROXY_H
#define PANTRACE_USER_PROXY_H

#include <sys/types.h>

#include "base/base.h"

/*
 * Forks. The child, which gets 0, has *RET_CHANNEL and the descriptors KEEP alone, and is killed if
 * we end. The parent gets its pid and the other end of the channel (SOCK_SEQPACKET), or -errno.
 */
pid_t proxy_fork(const int *keep, u32 nr_keep, int *ret_channel);
/*
 * One message, with the descriptor FD unless that is -1. 0 or -errno, -EAGAIN: the channel is full.
 */
int proxy_send(int channel, const void *data, size_t size, int fd, bool wait);
/* One message of at most SIZE. Its length, 0: there is no other end any more, or -errno. */
ssize_t proxy_receive(int channel, void *data, size_t size, int *ret_fd, bool wait);
/* Whether FD is memory (memfd, a file of tmpfs): to be read and closed without a wait. */
bool proxy_is_memory(int fd);
/* Whether messages at SOCKET begin with one that has descriptors; none is taken. */
bool proxy_has_descriptors(int socket);
/* Closes a socket by a process that does nothing else. */
void proxy_close(int socket);

#endif
