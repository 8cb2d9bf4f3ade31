/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/relay/ctf_relay_connect.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "trace/ctf/sink.h"

/* Takes FD. A relay that does not even take connections must not hold the recorder up. */
static int connect_in_time(int fd, const void *address, socklen_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int error;

	if (fd < 0)
		return -errno;
	error = connect(fd, address, size) ? errno : 0;
	if (error == EINPROGRESS) {
		error = ETIMEDOUT;
		if (clock_poll(&p, 1, 1000) == 1 &&
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length))
			error = errno;
	}
	if (!error)
		return fd;
	close(fd);
	return -error;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	return connect_in_time(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			       &address, sizeof(address));
}

static int connect_tcp(const char *where)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strrchr(where, ':');
	char *host = xstrndup(where, colon ? (size_t)(colon - where) : 0);
	const long port = colon ? strtol(colon + 1, NULL, 10) : 0;
	const bool good =
		inet_pton(AF_INET, host, &address.sin_addr) == 1 && port > 0 && port < 65536;

	free(host);
	if (!good)
		return -EINVAL;
	address.sin_port = htons((u16)port);
	return connect_in_time(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			       &address, sizeof(address));
}

/* For the shell at the far end: between single quotes. */
static char *quoted(const char *text)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addch(&out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_addstr(&out, "'\\''");
		else
			strbuf_addch(&out, *text);
	}
	strbuf_addch(&out, '\'');
	return strbuf_detach(&out);
}

/* ssh://[USER@]HOST[:PORT]/DIRECTORY, the directory from the home directory; with two slashes from
 * the root. */
struct place {
	char *host, *port, *directory;
};

static bool place_parse(const char *url, struct place *ret)
{
	const char *start = url + strlen("ssh://"), *slash = strchr(start, '/');
	char *colon;

	*ret = (struct place){0};
	if (!slash || slash == start || *start == '-' || !slash[1])
		return false;
	ret->host = xstrndup(start, (size_t)(slash - start));
	ret->directory = xstrdup(slash + 1);
	colon = strrchr(ret->host, ':');
	if (colon && !strchr(colon, ']')) {
		*colon = 0;
		ret->port = xstrdup(colon + 1);
	}
	return true;
}

static void place_release(struct place *p)
{
	free(p->host);
	free(p->port);
	free(p->directory);
}

int relay_ssh(const char *host, const char *port, const char *words, pid_t *ret_pid)
{
	const char *ssh = getenv("PANTRACE_SSH"), *far = getenv("PANTRACE_REMOTE");
	char *const command = xasprintf("%s %s", far && *far ? far : "pantrace", words);
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		rc = -errno;
		free(command);
		return rc;
	}
	*ret_pid = fork();
	if (*ret_pid == 0) {
		const char *arguments[8];
		size_t n = 0;

		arguments[n++] = ssh && *ssh ? ssh : "ssh";
		if (port) {
			arguments[n++] = "-p";
			arguments[n++] = port;
		}
		arguments[n++] = "--";
		arguments[n++] = host;
		arguments[n++] = command;
		arguments[n] = NULL;
		if (dup2(pair[1], 0) < 0 || dup2(pair[1], 1) < 0)
			_exit(127);
		signal(SIGINT,
		       SIG_IGN); /* Ctrl-C is for the recorder, which still has something to send */
		signal(SIGPIPE, SIG_DFL);
		execvp(arguments[0], (char *const *)arguments);
		_exit(127);
	}
	close(pair[1]);
	rc = *ret_pid < 0 ? -errno : pair[0];
	if (rc < 0)
		close(pair[0]);
	free(command);
	return rc;
}

static int connect_ssh(const char *url, pid_t *ret_pid)
{
	struct place place;
	char *directory, *words;
	int rc;

	if (!place_parse(url, &place))
		return -EINVAL;
	directory = quoted(place.directory);
	words = xasprintf("relay --stdio %s", directory);
	rc = relay_ssh(place.host, place.port, words, ret_pid);
	free(directory);
	free(words);
	place_release(&place);
	return rc;
}

int relay_connect(const char *to, pid_t *ret_pid)
{
	*ret_pid = 0;
	if (str_starts(to, "ssh://"))
		return connect_ssh(to, ret_pid);
	if (str_starts(to, "unix:"))
		return connect_unix(to + 5);
	if (str_starts(to, "tcp:"))
		return connect_tcp(to + 4);
	return -EINVAL;
}

void relay_carrier_end(pid_t *pid, bool wait)
{
	if (*pid <= 0)
		return;
	for (int i = 0; i < (wait ? 50 : 1); i++) {
		if (waitpid(*pid, NULL, WNOHANG)) {
			*pid = 0;
			return;
		}
		if (wait)
			clock_poll(NULL, 0, 20);
	}
	kill(*pid, SIGTERM);
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

/* ---- how a recorder greets ---- */

static void host_name(char to[64], const char *given)
{
	if (given)
		snprintf(to, 64, "%s", given);
	else if (gethostname(to, 63))
		strcpy(to, "host");
	for (char *c = to; *c; c++) {
		const char one[2] = {*c, 0};

		if (!ctf_name_is_plain(one) && (*c != '.' || c == to))
			*c = '_';
	}
	if (!*to)
		strcpy(to, "host");
}

struct relay_hello relay_hello_of(const char *host)
{
	struct relay_hello h = {.magic = RELAY_MAGIC, .protocol = RELAY_PROTOCOL};

	snprintf(h.version, sizeof(h.version), "%s", PANTRACE_VERSION);
	host_name(h.host, host);
	if (getrandom(h.session, sizeof(h.session), 0) != sizeof(h.session))
		memcpy(h.session, &(u64[2]){clock_now_ms(CLOCK_MONOTONIC), (u64)getpid()},
		       sizeof(h.session));
	return h;
}

void relay_tell_no_answer(const char *to, int err, struct diag *d)
{
	if (err == -EINVAL) {
		diag_error(d, NO_SPAN, "'%s' does not name a relay", to);
		diag_hint(d, "ssh://[USER@]HOST[:PORT]/DIRECTORY, unix:SOCKET or tcp:ADDRESS:PORT");
		return;
	}
	diag_error(d, NO_SPAN, "no relay answers at %s%s%s", to, err ? ": " : "",
		   err ? strerror(-err) : "");
	if (str_starts(to, "ssh://"))
		diag_hint(d, "is pantrace installed there, in the PATH of a command given to ssh?");
	else
		diag_hint(d, "`pantrace relay --listen %s DIRECTORY` starts one", to);
}
