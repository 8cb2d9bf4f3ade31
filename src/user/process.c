// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <pantrace/protocol.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/glob.h"

#define ANSWER_MAX (32u << 20)

int user_runtime(char *ret, size_t size)
{
	const char *given = secure_getenv("PANTRACE_RUNTIME"),
		   *user = secure_getenv("XDG_RUNTIME_DIR");
	const uid_t uid = geteuid();
	int n;

	if (given && *given == '/')
		n = snprintf(ret, size, "%s", given);
	else if (!uid)
		n = snprintf(ret, size, "/run/pantrace");
	else if (user && *user == '/')
		n = snprintf(ret, size, "%s/pantrace", user);
	else
		n = snprintf(ret, size, "/tmp/pantrace-%u", (unsigned int)uid);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int user_runtime_make(char *ret, size_t size, struct diag *d)
{
	struct stat st;
	int rc = user_runtime(ret, size);

	if (rc) {
		diag_error(d, NO_SPAN, "the path of the runtime directory is too long");
		return rc;
	}
	if (mkdir(ret, geteuid() ? 0700 : 0755) && errno != EEXIST) {
		rc = -errno;
		diag_error(d, NO_SPAN, "%s: cannot be made: %s", ret, strerror(-rc));
		return rc;
	}
	if (lstat(ret, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022)) {
		diag_error(d, NO_SPAN,
			   "%s: is not a directory that only its owner, uid %u, can write to", ret,
			   (unsigned int)geteuid());
		diag_hint(d, "remove it, or set PANTRACE_RUNTIME to another directory");
		return -EPERM;
	}
	/* everybody's programs look for root's sessions; whatever the umask of who made it was */
	if (!geteuid() && !secure_getenv("PANTRACE_RUNTIME") && (st.st_mode & 07777) != 0755)
		chmod(ret, 0755);
	return 0;
}

/* ---- finding sockets ---- */

struct search {
	struct user_processes *found;
	const struct user_selection *which;
	VECTOR(u64) namespaces; /* of mounts, seen already */
};

static bool name_wanted(const struct user_selection *which, const char *name)
{
	for (u32 i = 0; i < which->nr_names; i++)
		if (glob_match(which->names[i], name))
			return true;
	return false;
}

static bool wanted(const struct user_selection *which, const struct user_process *p)
{
	if (!which || (!which->nr_pids && !which->nr_names))
		return true;
	for (u32 i = 0; i < which->nr_pids; i++)
		if (which->pids[i] == p->pid)
			return true;
	return name_wanted(which, p->name);
}

static void name_read(struct user_process *p)
{
	char path[32], *text;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)p->pid);
	if (file_read(path, 64, &text, &len)) {
		snprintf(p->name, sizeof(p->name), "?");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	snprintf(p->name, sizeof(p->name), "%.16s", text);
	free(text);
}

/* A program that has just made its socket may not listen yet. */
static bool is_stale(const char *path)
{
	const s64 now = (s64)(clock_now_ms(CLOCK_REALTIME) / 1000);
	struct stat st;

	return !lstat(path, &st) && now - st.st_ctim.tv_sec > 2;
}

/* Connects; a socket that nobody listens at any more is removed. */
static void socket_try(struct search *s, const char *directory, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct user_process p = {.fd = -1};
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory,
			     name) >= sizeof(address.sun_path))
		return;
	p.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p.socket < 0)
		return;
	if (connect(p.socket, (struct sockaddr *)&address, sizeof(address))) {
		if (errno == ECONNREFUSED && is_stale(address.sun_path))
			unlink(address.sun_path);
		if (errno != EAGAIN) { /* gone, not ours, or no socket */
			close(p.socket);
			return;
		}
		p.error = -ETIMEDOUT; /* its queue is full: it does not listen */
	}
	if (!getsockopt(p.socket, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		p.pid = peer.pid;
		p.uid = peer.uid;
	}
	name_read(&p);
	if (!wanted(s->which, &p)) {
		close(p.socket);
		return;
	}
	p.path = xstrdup(address.sun_path);
	vector_push(&s->found->all, p);
}

static void search_directory(struct search *s, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			socket_try(s, directory, entry->d_name);
	if (dir)
		closedir(dir);
}

/* Directories under ROOT ("" or /proc/PID/root) where processes of all users keep their sockets. */
static void search_root(struct search *s, const char *root, const char *besides)
{
	static const struct {
		const char *parent, *prefix, *below;
	} places[] = {{"/run", "pantrace", ""},
		      {"/run/user", "", "/pantrace"},
		      {"/tmp", "pantrace-", ""}};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *parent = xasprintf("%s%s", root, places[i].parent);
		DIR *dir = opendir(parent);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			char *path;

			if (*entry->d_name == '.' || !str_starts(entry->d_name, places[i].prefix) ||
			    (!i && !str_eq(entry->d_name, places[i].prefix)))
				continue;
			path = xasprintf("%s/%s%s", parent, entry->d_name, places[i].below);
			if (!str_eq(path, besides))
				search_directory(s, path);
			free(path);
		}
		if (dir)
			closedir(dir);
		free(parent);
	}
}

static u64 mount_namespace(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/mnt", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool seen(struct search *s, u64 ns)
{
	for (size_t i = 0; i < s->namespaces.len; i++)
		if (s->namespaces.items[i] == ns)
			return true;
	vector_push(&s->namespaces, ns);
	return false;
}

static void search_containers(struct search *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	seen(s, 0);
	seen(s, mount_namespace("self"));
	while (dir && (entry = readdir(dir))) {
		char root[64];

		if (*entry->d_name < '0' || *entry->d_name > '9' ||
		    seen(s, mount_namespace(entry->d_name)))
			continue;
		snprintf(root, sizeof(root), "/proc/%.20s/root", entry->d_name);
		search_root(s, root, "");
	}
	if (dir)
		closedir(dir);
}

void user_connect(struct user_processes *p, const struct user_selection *which)
{
	struct search s = {.found = p, .which = which};
	char own[512];

	if (user_runtime(own, sizeof(own)))
		return;
	search_directory(&s, own);
	/* PANTRACE_RUNTIME names the one place that counts */
	if (!secure_getenv("PANTRACE_RUNTIME")) {
		if (!geteuid())
			search_root(&s, "", own);
		search_containers(&s);
	}
	vector_free(&s.namespaces);
}

/* ---- speaking ---- */

char *user_request(const char *verb, const char *session)
{
	return xasprintf("pantrace %d %s %s%s%s\n", PANTRACE_PROTOCOL, PANTRACE_VERSION, verb,
			 session ? " " : "", session ? session : "");
}

/*
 * A process hangs up on who connects and does not speak at once, which happens to us on a busy
 * machine: not the same as one that has ended. It is asked once more.
 */
static bool ask_again(struct user_process *p, int error, const char *request)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (p->again || p->text || (error != -EPIPE && error != -ECONNRESET))
		return false;
	p->again = true;
	close(p->socket);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	p->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->socket >= 0 &&
	       !connect(p->socket, (struct sockaddr *)&address, sizeof(address)) &&
	       send(p->socket, request, strlen(request), MSG_NOSIGNAL) >= 0;
}

static void finish(struct user_process *p, int error)
{
	if (p->socket < 0) {
		p->error = error;
		return;
	}
	p->error = error;
	close(p->socket);
	p->socket = -1;
}

static void text_add(struct user_process *p, const char *text, size_t n)
{
	const size_t old = p->text ? strlen(p->text) : 0;

	p->text = xrealloc(p->text, old + n + 1);
	memcpy(p->text + old, text, n);
	p->text[old + n] = '\0';
}

/* A descriptor that came along; only the last one is kept. */
static void fd_take(struct user_process *p, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (p->fd >= 0)
				close(p->fd);
			memcpy(&p->fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		}
	}
}

/* One message of an answer. */
static void answer_take(struct user_process *p, char *buffer, const char *request)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} ancillary;
	struct iovec iov = {buffer, PANTRACE_MESSAGE_MAX};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	const ssize_t n = recvmsg(p->socket, &message, MSG_CMSG_CLOEXEC);
	char *newline;
	size_t rest;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		fd_take(p, &message);
	buffer[MAX(n, 0)] = '\0';
	newline = n > 0 ? strchr(buffer, '\n') : NULL;
	if (!newline || (message.msg_flags & MSG_TRUNC) ||
	    (p->text && strlen(p->text) > ANSWER_MAX)) {
		const int error = n < 0 ? -errno : n ? -EBADMSG : -ECONNRESET;

		if (!ask_again(p, error, request))
			finish(p, error);
		return;
	}
	*newline = '\0';
	rest = strlen(newline + 1);
	if (str_eq(buffer, "more") || str_eq(buffer, "ok"))
		text_add(p, newline + 1, rest);
	if (str_eq(buffer, "more"))
		return;
	if (str_starts(buffer, "error ")) {
		char *text;
		const long error = strtol(buffer + 6, &text, 10);

		text_add(p, text + strspn(text, " "), strlen(text + strspn(text, " ")));
		finish(p, error > 0 && error < 4096 ? (int)-error : -EBADMSG);
		return;
	}
	finish(p, str_eq(buffer, "ok") ? 0 : -EBADMSG);
}

void user_ask(struct user_processes *p, const char *request, int timeout_ms)
{
	struct pollfd *polls = xzalloc(sizeof(*polls) * (p->all.len + 1));
	char *buffer = xmalloc(PANTRACE_MESSAGE_MAX + 1);
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + (u64)timeout_ms;

	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];

		if (process->error)
			finish(process, process->error);
		else if (send(process->socket, request, strlen(request), MSG_NOSIGNAL) < 0) {
			const int error = -errno;

			if (!ask_again(process, error, request))
				finish(process, error);
		}
	}
	for (;;) {
		const u64 now = clock_now_ms(CLOCK_MONOTONIC);
		u32 open = 0;

		for (size_t i = 0; i < p->all.len; i++) {
			polls[i] = (struct pollfd){p->all.items[i].socket, POLLIN, 0};
			open += p->all.items[i].socket >= 0;
		}
		if (!open || now >= until || poll(polls, p->all.len, (int)(until - now)) < 0)
			break;
		for (size_t i = 0; i < p->all.len; i++)
			if (p->all.items[i].socket >= 0 && polls[i].revents)
				answer_take(&p->all.items[i], buffer, request);
	}
	for (size_t i = 0; i < p->all.len; i++)
		if (p->all.items[i].socket >= 0)
			finish(&p->all.items[i], -ETIMEDOUT);
	free(buffer);
	free(polls);
}

/* "refused SITES EVENTS" in what a process said of a session. */
static void warn_refused(const struct user_process *p, const char *name, struct diag *d)
{
	const char *line = p->error || !p->text ? NULL : strstr(p->text, "\nrefused ");
	unsigned int sites, events;

	if (!line || sscanf(line, "\nrefused %u %u", &sites, &events) != 2)
		return;
	if (sites)
		diag_warning(
			d, NO_SPAN,
			"process %d (%s): %u places stay off: their memory is sealed, or shared "
			"with other processes",
			(int)p->pid, name, sites);
	if (events)
		diag_warning(
			d, NO_SPAN,
			"process %d (%s): %u events are not recorded: there is no room for their "
			"names and fields",
			(int)p->pid, name, events);
}

void user_warn(const struct user_processes *p, struct diag *d)
{
	for (size_t i = 0; i < p->all.len; i++) {
		const struct user_process *const process = &p->all.items[i];
		struct strbuf name = STRBUF_INIT;

		escape_line(&name, process->name, strlen(process->name));
		if (process->error == -ETIMEDOUT)
			diag_warning(d, NO_SPAN,
				     "process %d (%s) does not answer: it is stopped, or too busy",
				     (int)process->pid, name.data);
		else if (process->error == -EPROTONOSUPPORT)
			diag_warning(d, NO_SPAN, "process %d (%s) is not controlled: %s",
				     (int)process->pid, name.data,
				     process->text ? process->text : "");
		warn_refused(process, name.data, d);
		strbuf_release(&name);
	}
}

void user_processes_release(struct user_processes *p)
{
	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];

		if (process->socket >= 0)
			close(process->socket);
		if (process->fd >= 0)
			close(process->fd);
		free(process->path);
		free(process->text);
	}
	vector_free(&p->all);
}
