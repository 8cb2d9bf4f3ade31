/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a host finds the agent. Who can reach it can record everything here: the port and the
 * socket are their owner's, vsock takes only connections of the host, from a port that its root
 * alone may use.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/options.h"
#include "cmd/agent/agent.h"
#include "trace/agent/protocol.h"
#include "trace/tracecmd/protocol.h"

#define PORTS	"/sys/class/virtio-ports"
#define LOOK_MS 200 /* between two looks for a host, where poll() cannot tell */

/* ---- a virtio-serial port ---- */

/* The device of the port with this name, malloc'ed; found as udev does. NULL: there is none. */
static char *find_port(const char *name)
{
	DIR *const dir = opendir(PORTS);
	char *found = NULL, *path, *text;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir))) {
		path = xasprintf(PORTS "/%s/name", e->d_name);
		if (*e->d_name != '.' && !file_read(path, 256, &text, NULL)) {
			text[strcspn(text, "\n")] = 0;
			if (str_eq(text, name))
				found = xasprintf("/dev/%s", e->d_name);
			free(text);
		}
		free(path);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int open_port(struct agent_door *door, const char *path)
{
	door->kind = DOOR_PORT;
	door->fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return door->fd < 0 ? -errno : 0;
}

/* ---- vsock ---- */

static int listen_vsock(struct agent_door *door, u32 port, u32 peer)
{
	const struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};

	door->kind = DOOR_VSOCK;
	door->peer = peer;
	door->fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (door->fd < 0)
		return -errno;
	return bind(door->fd, (const struct sockaddr *)&address, sizeof(address)) ||
			       listen(door->fd, 8)
		       ? -errno
		       : 0;
}

static bool may_connect(const struct agent_door *door, int fd)
{
	struct sockaddr_vm peer;
	socklen_t size = sizeof(peer);

	if (door->kind != DOOR_VSOCK)
		return true;
	if (getpeername(fd, (struct sockaddr *)&peer, &size))
		return false;
	if (peer.svm_cid == door->peer &&
	    (door->is_for_tracecmd || peer.svm_port < AGENT_PORTS_OF_ROOT))
		return true;
	complain("agent", "CID %u, port %u is refused: root of CID %u may connect", peer.svm_cid,
		 peer.svm_port, door->peer);
	return false;
}

/* ---- all of them ---- */

static int open_somewhere(struct agent_door *door, const char *where, u32 peer)
{
	struct stat st;
	u64 port = AGENT_PORT;

	if (str_eq(where, "-")) {
		door->kind = DOOR_STDIO;
		return isatty(STDIN_FILENO) ? -ENOTSUP : 0;
	}
	if (str_starts(where, "vsock")) {
		if (where[5] &&
		    (where[5] != ':' || parse_u64(where + 6, &port) || port >= VMADDR_PORT_ANY))
			return -EINVAL;
		return listen_vsock(door, (u32)port, peer);
	}
	if (!stat(where, &st) && S_ISCHR(st.st_mode))
		return open_port(door, where);
	if (!str_starts(where, "unix:") && !strchr(where, '/'))
		return -EINVAL;
	door->kind = DOOR_UNIX;
	door->path = where + (str_starts(where, "unix:") ? 5 : 0);
	door->fd = listen_unix(door->path);
	return MIN(door->fd, 0);
}

static int refuse(struct agent_door *door, const char *where, int err, struct diag *d)
{
	if (err == -EINVAL)
		diag_error(d, NO_SPAN,
			   "'%s': vsock[:PORT], a path of a port or of a socket, or - is meant",
			   where);
	else if (err == -ENOTSUP)
		diag_error(d, NO_SPAN, "- is standard input and output of ssh, not a terminal");
	else
		diag_error(d, NO_SPAN, "'%s': %s", where, strerror(-err));
	agent_door_close(door);
	return err;
}

int agent_door_open(struct agent_door *door, const char *where, u32 peer, struct diag *d)
{
	char *const port = where ? NULL : find_port(AGENT_VIRTIO_PORT);
	const char *const chosen = where ?: port ?: "vsock";
	int err;

	*door = (struct agent_door){.fd = -1};
	snprintf(door->name, sizeof(door->name), "%s", chosen);
	err = port ? open_port(door, port) : open_somewhere(door, chosen, peer);
	if (err) {
		refuse(door, chosen, err, d);
		if (!where && !port)
			diag_hint(d, "there is no virtio-serial port " AGENT_VIRTIO_PORT
				     ", nor vsock: `pantrace agent --help` shows what QEMU needs");
	}
	free(port);
	return err;
}

int agent_door_open_tracecmd(struct agent_door *door, const char *where, u32 peer, struct diag *d)
{
	int err;

	if (where && !str_starts(where, "vsock")) {
		diag_error(d, NO_SPAN, "'%s': trace-cmd comes by vsock[:PORT] (%u)", where,
			   TRACECMD_PORT);
		return -EINVAL;
	}
	err = agent_door_open(door, where && where[5] ? where : "vsock:823", peer, d);
	door->is_for_tracecmd = true;
	return err;
}

static int wait_for_host(struct agent_door *door, int stop, int *ret)
{
	struct pollfd fds[] = {{door->fd, POLLIN, 0}, {stop, POLLIN, 0}};

	for (;;) {
		poll(fds, ARRAY_SIZE(fds), -1);
		if (fds[1].revents)
			return -EINTR;
		if (door->kind == DOOR_PORT) {
			if (fds[0].revents & POLLIN && !(fds[0].revents & POLLHUP))
				break;
			clock_poll(&fds[1], 1, LOOK_MS); /* POLLHUP: no host is connected */
			continue;
		}
		*ret = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (*ret >= 0 && may_connect(door, *ret))
			return 0;
		if (*ret >= 0)
			close(*ret);
		else /* too many open files, or the host has left */
			clock_poll(&fds[1], 1, LOOK_MS);
	}
	*ret = door->fd;
	return 0;
}

int agent_door_wait(struct agent_door *door, int stop, int *ret_in, int *ret_out)
{
	int rc;

	if (door->kind == DOOR_STDIO) {
		*ret_in = STDIN_FILENO;
		*ret_out = STDOUT_FILENO;
		fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
		fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
		return 0;
	}
	rc = wait_for_host(door, stop, ret_in);
	*ret_out = *ret_in;
	return rc;
}

void agent_door_part(struct agent_door *door, int in, int out)
{
	if (door->kind == DOOR_UNIX || door->kind == DOOR_VSOCK)
		close(in);
}

void agent_door_close(struct agent_door *door)
{
	if (door->fd >= 0 && door->path)
		unlink(door->path);
	if (door->fd >= 0)
		close(door->fd);
	door->fd = -1;
}
