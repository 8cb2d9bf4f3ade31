// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/proxy.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define CHANNEL_SIZE (8 << 20) /* of what waits in it */

static int in_order(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* All but these: whoever reads our output sees its end, though we may not come to ours. */
static void close_others(int *keep, u32 nr)
{
	u32 next = 0;

	qsort(keep, nr, sizeof(*keep), in_order);
	for (u32 i = 0; i < nr; next = (u32)keep[i++] + 1)
		if ((u32)keep[i] > next)
			syscall(SYS_close_range, next, (u32)keep[i] - 1, 0);
	syscall(SYS_close_range, next, ~0u, 0);
}

/* The terminal's signals are for our parent, who still needs answers then. */
static void child_begin(pid_t parent, const int *keep, u32 nr_keep, int channel)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	int all[8];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (u32 i = 0; i < nr_keep; i++)
		all[i] = keep[i];
	all[nr_keep] = channel;
	close_others(all, nr_keep + 1);
	while (file_raise_limit())
		;
}

pid_t proxy_fork(const int *keep, u32 nr_keep, int *ret_channel)
{
	const pid_t parent = getpid();
	const int size = CHANNEL_SIZE;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	/* the first only until privileges are given up */
	if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	pid = fork();
	if (!pid) {
		child_begin(parent, keep, nr_keep, ends[1]);
		*ret_channel = ends[1];
		return 0;
	}
	pid = pid < 0 ? -errno : pid;
	close(ends[1]);
	*ret_channel = pid < 0 ? -1 : ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

int proxy_send(int channel, const void *data, size_t size, int fd, bool wait)
{
	union ancillary ancillary = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(void *)data, size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&ancillary.header), &fd, sizeof(fd));
		message.msg_control = &ancillary;
		message.msg_controllen = sizeof(ancillary);
	}
	do
		n = sendmsg(channel, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

ssize_t proxy_receive(int channel, void *data, size_t size, int *ret_fd, bool wait)
{
	union ancillary ancillary;
	struct iovec iov = {data, size};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	const struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do
		n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	c = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n < 0 ? -errno : n;
}

bool proxy_is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

bool proxy_has_descriptors(int socket)
{
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	return recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT) >= 0 &&
	       message.msg_flags & MSG_CTRUNC;
}

void proxy_close(int socket)
{
	char byte;
	int channel;

	if (!proxy_fork(&socket, 1, &channel)) {
		/* as long as we have it */
		while (recv(channel, &byte, 1, 0) < 0 && errno == EINTR)
			;
		_exit(0);
	}
	close(socket);
	if (channel >= 0)
		close(channel);
}
