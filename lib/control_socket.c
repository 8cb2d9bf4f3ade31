// SPDX-License-Identifier: MIT
#include "control_socket.h"
#include <errno.h>
#include <fcntl.h>
#include <pantrace/protocol.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS	  500 /* for a client that connects and sends nothing */
#define OLD_S	  1 /* younger sockets may be about to be listened to */
#define ENTRIES	  4096 /* bytes of a directory's entries that a new process looks at */
#define SWEEP_MAX 16 /* sockets that it removes */

static struct {
	int fd;
	uint64_t inode;
	pid_t pid; /* whose socket PATH is */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
} control = {.fd = -1};

static bool directory_good(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

static int directory_make(const char *path)
{
	if (mkdir(path, geteuid() ? 0700 : 0755) && errno != EEXIST)
		return -errno;
	return directory_good(path) ? 0 : -EPERM;
}

/* Whether somebody listens at ADDRESS. */
static bool listened_to(const struct sockaddr_un *address)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true;
	yes = !connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN;
	close(fd);
	return yes;
}

static int socket_bind(int fd, const char *directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const unsigned int pid = (unsigned int)getpid();
	int rc;

	for (int attempt = 0; attempt < 3; attempt++) {
		/* the plain name, unless a process of another pid namespace has it */
		if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path),
				     attempt == 2 ? "%s/%u-%llx" : "%s/%u", directory, pid,
				     (unsigned long long)__builtin_ia32_rdtsc()) >=
		    sizeof(address.sun_path))
			return -ENAMETOOLONG;
		rc = bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
		if (!rc) {
			memcpy(control.path, address.sun_path, sizeof(control.path));
			__atomic_store_n(&control.pid, (pid_t)pid, __ATOMIC_RELEASE);
			return 0;
		}
		if (rc != -EADDRINUSE)
			return rc;
		if (attempt == 0 && !listened_to(&address))
			unlink(address.sun_path);
	}
	return rc;
}

/*
 * Removes the socket of a process that has ended; for a process of another PID namespace that is
 * found out by connecting.
 */
static bool socket_sweep(int directory, const char *path, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int pid = atoi(name);
	struct stat st;

	if (pid <= 0 || !kill(pid, 0) || errno != ESRCH ||
	    (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", path, name) >=
		    sizeof(address.sun_path) ||
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_mtime + OLD_S >= time(NULL) || listened_to(&address))
		return false;
	return !unlinkat(directory, name, 0);
}

/*
 * A program that ends removes nothing itself: the ending thread may be confined, and die of a
 * system call that it never made before. So each process that starts removes what is left of
 * others.
 */
static void sockets_sweep(const char *path)
{
	char entries[ENTRIES] __attribute__((aligned(8)));
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	const long n = fd < 0 ? -1 : syscall(SYS_getdents64, fd, entries, sizeof(entries));

	for (long at = 0, removed = 0; at < n && removed < SWEEP_MAX;) {
		const struct entry64 *const entry = (const void *)(entries + at);

		at += entry->size;
		removed += socket_sweep(fd, path, entry->name);
	}
	if (fd >= 0)
		close(fd);
}

int pt_socket_make(bool high)
{
	char directory[sizeof(control.path)];
	struct stat st;
	int fd, other, rc = pt_runtime_directory(directory, sizeof(directory));

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (high ? 0 : SOCK_NONBLOCK), 0);
	if (fd < 0)
		return -errno;
	if (high && (other = fcntl(fd, F_DUPFD_CLOEXEC, PT_HIGH_FD)) >= 0) {
		close(fd);
		fd = other;
	}
	/* the socket's name gets this mode */
	if (fchmod(fd, 0600) || fstat(fd, &st)) {
		rc = -errno;
		goto out;
	}
	rc = directory_good(directory) ? 0 : directory_make(directory);
	if (!rc)
		rc = socket_bind(fd, directory);
	if (!rc && listen(fd, 64))
		rc = -errno;
	if (rc)
		goto out;
	control.fd = fd;
	control.inode = st.st_ino;
	sockets_sweep(directory);
	return fd;
out:
	close(fd);
	return rc;
}

bool pt_socket_ours(void)
{
	struct stat st;

	return control.fd >= 0 && !fstat(control.fd, &st) && S_ISSOCK(st.st_mode) &&
	       st.st_ino == control.inode;
}

void pt_socket_remove(void)
{
	if (__atomic_load_n(&control.pid, __ATOMIC_ACQUIRE) == getpid())
		unlink(control.path);
}

void pt_socket_forget(bool in_our_table)
{
	if (in_our_table && pt_socket_ours())
		close(control.fd);
	control.fd = -1;
}

void pt_socket_touch(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (__atomic_load_n(&control.pid, __ATOMIC_ACQUIRE) != getpid())
		return;
	memcpy(address.sun_path, control.path, sizeof(control.path));
	listened_to(&address);
}

/* ---- a connection ---- */

/*
 * Only root and the process's own user may ask: neither a former user nor one of another namespace.
 */
static bool peer_good(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || size != sizeof(peer))
		return false;
	return !peer.uid || peer.uid == geteuid();
}

static int send_part(int fd, const char *head, const char *text, size_t n, int pass)
{
	struct iovec iov[] = {{(void *)head, strlen(head)}, {(void *)text, n}};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} ancillary = {0};
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
	int rc;

	if (pass >= 0) {
		message.msg_control = &ancillary;
		message.msg_controllen = sizeof(ancillary);
		ancillary.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						    .cmsg_level = SOL_SOCKET,
						    .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&ancillary.header), &pass, sizeof(pass));
	}
	do /* a timeout makes a stop and SIGCONT end it, too */
		rc = sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
	while (rc == -EINTR);
	return rc;
}

static void answer_send(int fd, const struct pt_answer *answer, int rc)
{
	const size_t most = PANTRACE_MESSAGE_MAX / 2;
	const char *at = answer->text, *const end = answer->text + answer->used;
	char head[300];

	if (rc) {
		snprintf(head, sizeof(head), "error %d %s%s%.*s\n", -rc, strerrordesc_np(-rc),
			 answer->used ? ": " : "", (int)(answer->used > 200 ? 200 : answer->used),
			 answer->used ? answer->text : "");
		send_part(fd, head, NULL, 0, -1);
		return;
	}
	while ((size_t)(end - at) > most) {
		const char *cut = memrchr(at, '\n', most);

		if (!cut || send_part(fd, "more\n", at, (size_t)(cut + 1 - at), -1))
			return;
		at = cut + 1;
	}
	send_part(fd, "ok\n", at, (size_t)(end - at), answer->fd);
}

void pt_socket_serve(int fd)
{
	static char text[PANTRACE_MESSAGE_MAX];
	const struct timeval limit = {.tv_usec = WAIT_MS * 1000};
	struct pt_answer answer = {.fd = -1};
	ssize_t n;
	int rc;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!peer_good(fd))
		return;
	/* the kernel drops descriptors that are sent along: the message has no room for them */
	do
		n = recv(fd, text, sizeof(text), MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return;
	rc = (size_t)n > sizeof(text) ? -EMSGSIZE : pt_request(text, (size_t)n, &answer);
	answer_send(fd, &answer, rc);
	if (answer.fd >= 0)
		close(answer.fd);
	if (answer.text)
		munmap(answer.text, answer.room);
}
