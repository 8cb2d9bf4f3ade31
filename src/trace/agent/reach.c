/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/reach.h"

#include <ctype.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/clock.h"
#include "base/options.h"
#include "trace/agent/protocol.h"
#include "trace/agent/qemu.h"
#include "trace/ctf/sink.h"
#include "trace/relay/ctf_relay_connect.h"
#include "trace/tracecmd/protocol.h"
#include "trace/tracecmd/stand_in.h"

#define CONNECT_MS 5000
#define TRACECMD   "trace-cmd:"

char *agent_way_name(const char *where, const char **ret_way)
{
	const char *const equals = strchr(where, '=');
	char *name = equals ? xstrndup(where, (size_t)(equals - where)) : NULL;

	*ret_way = where;
	if (name && ctf_name_is_plain(name)) {
		*ret_way = equals + 1;
		return name;
	}
	free(name);
	return isalpha((unsigned char)*where) && ctf_name_is_plain(where) ? xstrdup(where) : NULL;
}

/* "CID" or "CID:PORT" */
static bool parse_vsock(const char *text, struct sockaddr_vm *ret)
{
	char *const copy = xstrdup(text), *const colon = strchr(copy, ':');
	u64 cid, port = AGENT_PORT;
	bool good;

	if (colon)
		*colon = 0;
	good = !parse_u64(copy, &cid) && cid < VMADDR_CID_ANY &&
	       (!colon || !parse_u64(colon + 1, &port)) && port < VMADDR_PORT_ANY;
	free(copy);
	*ret = (struct sockaddr_vm){.svm_family = AF_VSOCK,
				    .svm_cid = good ? (u32)cid : 0,
				    .svm_port = good ? (u32)port : 0};
	return good;
}

/* The agent checks that only root can have this port. */
static void bind_as_root(int fd)
{
	struct sockaddr_vm own = {.svm_family = AF_VSOCK,
				  .svm_cid = VMADDR_CID_ANY,
				  .svm_port = AGENT_PORTS_OF_ROOT - 1};

	while (own.svm_port && bind(fd, (const struct sockaddr *)&own, sizeof(own)) &&
	       errno == EADDRINUSE)
		own.svm_port--;
}

static int connect_vsock(const struct sockaddr_vm *address)
{
	struct pollfd p = {.fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			   .events = POLLOUT};
	socklen_t size = sizeof(int);
	int err;

	if (p.fd < 0)
		return -errno;
	bind_as_root(p.fd);
	err = connect(p.fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;
	if (err == EINPROGRESS) {
		err = ETIMEDOUT;
		if (clock_poll(&p, 1, CONNECT_MS) == 1 &&
		    getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = errno;
	}
	if (!err)
		return p.fd;
	close(p.fd);
	return -err;
}

/* "[USER@]HOST[:PORT]" */
static int connect_ssh(const char *text, pid_t *ret_pid)
{
	char *const host = xstrdup(text);
	char *colon = strrchr(host, ':'), *port = NULL;
	int fd = -EINVAL;

	if (colon && !strchr(colon, ']')) {
		*colon = 0;
		port = colon + 1;
	}
	if (*host && *host != '-')
		fd = relay_ssh(host, port, "agent -", ret_pid);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	free(host);
	return fd;
}

/* ---- trace-cmd's agent ---- */

bool agent_is_tracecmd(const char *way)
{
	return str_starts(way, TRACECMD);
}

/* machine: "vsock:CID" or "tcp:ADDRESS". What is sent is sent at once, and both ends wait. */
static int connect_machine(const char *machine, u32 port)
{
	char *const url = xasprintf("%s:%u", machine, port);
	struct sockaddr_vm address;
	const int on = 1;
	pid_t none;
	int fd = -EINVAL;

	if (str_starts(url, "tcp:"))
		fd = relay_connect(url, &none);
	else if (parse_vsock(url + strlen("vsock:"), &address))
		fd = connect_vsock(&address);
	free(url);
	if (fd < 0)
		return fd;
	fcntl(fd, F_SETFL, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* "CID[:PORT]" or "ADDRESS[:PORT]" */
static int connect_tracecmd(const char *text, char *const *words, u32 count, pid_t *ret_pid)
{
	const char *const colon = strchr(text, ':');
	const size_t n = colon ? (size_t)(colon - text) : strlen(text);
	char *const machine =
		xasprintf("%s:%.*s", memchr(text, '.', n) ? "tcp" : "vsock", (int)n, text);
	struct tracecmd_asked asked = {.connect = connect_machine, .machine = machine};
	VECTOR(char *) all = {0};
	u64 port = TRACECMD_PORT;
	int fd = -EINVAL;

	vector_push(&all, (char *)"-C"); /* on whose time line we put them */
	vector_push(&all, (char *)"mono");
	for (u32 i = 0; i < count; i++)
		vector_push(&all, words[i]);
	asked.words = all.items;
	asked.count = (u32)all.len;
	if (!colon || (!parse_u64(colon + 1, &port) && port <= UINT32_MAX))
		fd = asked.fd = connect_machine(machine, (u32)port);
	if (fd >= 0)
		fd = tracecmd_stand_in(&asked, ret_pid);
	vector_free(&all);
	free(machine);
	return fd;
}

/* ---- all of them ---- */

static int connect_way(const char *way, struct diag *d, pid_t *ret_pid)
{
	const unsigned int errors = d->errors;
	struct sockaddr_vm address;
	char *url = ctf_name_is_plain(way) ? agent_way_of_guest(way, d) : NULL;
	int fd;

	if (url) {
		fd = connect_way(url, d, ret_pid);
		free(url);
		return fd;
	}
	if (d->errors != errors)
		return -EEXIST; /* it was said why */
	if (str_starts(way, "ssh:"))
		return connect_ssh(way + 4 + 2 * str_starts(way + 4, "//"), ret_pid);
	if (parse_vsock(str_starts(way, "vsock:") ? way + 6 : way, &address))
		return connect_vsock(&address);
	if (!strchr(way, '/') && !str_starts(way, "unix:"))
		return -EINVAL;
	url = str_starts(way, "unix:") ? xstrdup(way) : xasprintf("unix:%s", way);
	fd = relay_connect(url, ret_pid);
	free(url);
	return fd;
}

static void refuse_unknown(const char *way, struct diag *d)
{
	char *const guests = agent_guests();

	diag_error(d, NO_SPAN, "--guest '%s': " AGENT_WAYS " is meant", way);
	if (guests)
		diag_hint(d, "guests of QEMU here: %s", guests);
	free(guests);
}

int agent_reach(const char *way, char *const *words, u32 count, struct diag *d, pid_t *ret_pid)
{
	const bool is_tracecmd = agent_is_tracecmd(way);
	const unsigned int errors = d->errors;
	int fd;

	*ret_pid = 0;
	if (is_tracecmd && !words) {
		diag_error(d, NO_SPAN, "--guest '%s': trace-cmd's agent runs no scripts", way);
		return -EINVAL;
	}
	fd = is_tracecmd ? connect_tracecmd(way + strlen(TRACECMD), words, count, ret_pid)
			 : connect_way(way, d, ret_pid);
	if (fd >= 0 || d->errors != errors)
		return fd;
	if (fd == -EINVAL)
		refuse_unknown(way, d);
	else
		diag_error(d, NO_SPAN, "--guest '%s': no agent is there: %s", way, strerror(-fd));
	if (fd == -EAFNOSUPPORT || fd == -ENODEV)
		diag_hint(d, "this kernel has no vsock (module vhost_vsock): a virtio-serial port "
			     "needs none");
	else if (is_tracecmd)
		diag_hint(d,
			  "in the guest: trace-cmd agent; by TCP: trace-cmd agent -N OUR-ADDRESS");
	else if (fd != -EINVAL)
		diag_hint(d, "in the guest: pantrace agent (its --help shows what QEMU needs)");
	return fd;
}

pid_t agent_process(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_vm vm;
		struct sockaddr_un local;
	} peer = {0};
	struct ucred made = {0};
	socklen_t size = sizeof(peer) - 1, made_size = sizeof(made);

	if (getpeername(fd, &peer.any, &size))
		return 0;
	if (peer.any.sa_family == AF_VSOCK)
		return agent_guest_process(peer.vm.svm_cid, NULL);
	if (peer.any.sa_family != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &made, &made_size))
		return 0;
	/* libvirt creates the socket for its QEMU */
	return agent_guest_process(0, peer.local.sun_path) ?: made.pid;
}
