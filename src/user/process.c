// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <pantrace/protocol.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/foreign.h"
#include "user/owner.h"
#include "user/proxy.h"

#define ANSWER_MAX	(32u << 20)
#define ANSWERS_MAX	(256u << 20) /* of all processes */
#define LOOK_MS		20 /* then we see who cannot answer */
#define QUIET_MS	500 /* then only those are waited for that are running */
#define REASON_MAX	(size_t)300 /* of its text */
#define THREADS_MAX	256
#define MESSAGE_FDS_MAX 253 /* the kernel's own limit */
#define DESCRIPTORS_MAX 100000 /* of all processes */

char *user_request(const char *verb, const char *session)
{
	return xasprintf("pantrace %d %s %s%s%s\n", PANTRACE_PROTOCOL, PANTRACE_VERSION, verb,
			 session ? " " : "", session ? session : "");
}

/*
 * A process hangs up on who connects and does not speak at once, which happens to us on a busy
 * machine: not the same as one that has ended. It is asked once more.
 */
static bool ask_again(struct user_processes *all, struct user_process *p, int error,
		      const char *request)
{
	if (p->again || p->text || (error != -EPIPE && error != -ECONNRESET))
		return false;
	p->again = true;
	user_close_late(all, p->socket, p->uid);
	p->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->socket >= 0 && !foreign_connect(p->socket, p->place) &&
	       send(p->socket, request, strlen(request), MSG_NOSIGNAL) >= 0;
}

static void finish(struct user_process *p, int error)
{
	p->error = error;
	p->done = true;
}

static void text_add(struct user_process *p, const char *text)
{
	const size_t n = strlen(text);

	p->text = xrealloc(p->text, p->text_size + n + 1);
	memcpy(p->text + p->text_size, text, n + 1);
	p->text_size += n;
}

/* Descriptors that came along; only the first that is memory is of use. */
static void fds_take(struct user_processes *all, struct user_process *p, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			all->descriptors++;
			if (p->fd < 0 && proxy_is_memory(fd))
				p->fd = fd;
			else
				user_close_late(all, fd, p->uid);
		}
	}
}

/* One message of an answer; of all answers there may be ROOM bytes more. */
static void answer_take(struct user_processes *all, struct user_process *p, char *buffer,
			const char *request, size_t room)
{
	/* for all that may come: what does not fit is closed at once */
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
	} ancillary;
	struct iovec iov = {buffer, PANTRACE_MESSAGE_MAX};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	char *newline;
	ssize_t n;

	if (proxy_has_descriptors(p->socket) &&
	    (p->fd >= 0 || all->descriptors > DESCRIPTORS_MAX)) {
		finish(p, -EBADMSG);
		return;
	}
	n = recvmsg(p->socket, &message, MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= 0)
		fds_take(all, p, &message);
	buffer[MAX(n, 0)] = '\0';
	newline = n > 0 ? strchr(buffer, '\n') : NULL;
	if (!newline || (message.msg_flags & MSG_TRUNC) ||
	    MIN(room, ANSWER_MAX - p->text_size) < (size_t)n) {
		const int error = n < 0 ? -errno : n ? -EBADMSG : -ECONNRESET;

		if (!ask_again(all, p, error, request))
			finish(p, error);
		return;
	}
	*newline = '\0';
	if (str_eq(buffer, "more") || str_eq(buffer, "ok"))
		text_add(p, newline + 1);
	if (str_eq(buffer, "more"))
		return;
	if (str_starts(buffer, "error ")) {
		char *text;
		const long error = strtol(buffer + 6, &text, 10);

		text_add(p, text + strspn(text, " "));
		finish(p, error > 0 && error < 4096 ? (int)-error : -EBADMSG);
		return;
	}
	finish(p, str_eq(buffer, "ok") ? 0 : -EBADMSG);
}

/* ---- who does not answer ---- */

/*
 * Sockets that an earlier request of this run got no answer from, whichever command's part asked: a
 * run asks several times, and would wait each time.
 */
static struct silent {
	dev_t device;
	ino_t inode;
	bool told;
} * silent;
static size_t nr_silent;

static struct silent *silent_find(const struct user_process *p)
{
	for (size_t i = 0; i < nr_silent; i++)
		if (silent[i].inode == p->inode && silent[i].device == p->device)
			return &silent[i];
	return NULL;
}

void user_silent_note(const struct user_process *p)
{
	if (silent_find(p))
		return;
	silent = xreallocarray(silent, nr_silent + 1, sizeof(*silent));
	silent[nr_silent++] = (struct silent){p->device, p->inode, false};
}

/* The letter in /proc/PID/stat or that of a thread, 0 if there is none. */
static char state_of(const char *path)
{
	char *text, *behind, state = 0;
	size_t len;

	if (file_read(path, 4096, &text, &len))
		return 0;
	behind = strrchr(text, ')');
	if (behind && behind[1] == ' ')
		state = behind[2];
	free(text);
	return state;
}

static int is_running(void *arg, int directory, const char *name)
{
	char *path = xasprintf("/proc/%s/task/%s/stat", (const char *)arg, name);
	const char state = state_of(path);

	free(path);
	return state == 'R' || state == 'D';
}

/*
 * Stopped, or, after a while, asleep all over: what it has not answered by now it does not answer.
 */
static bool is_hopeless(const struct user_process *p, bool after_a_while)
{
	char pid[16], path[32];
	int tasks, rc;
	char state;

	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	state = p->pid ? state_of(path) : 'S';
	if (!state || strchr("TtZX", state))
		return true;
	if (!after_a_while)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = p->pid ? foreign_directory(AT_FDCWD, path, NULL) : -1;
	rc = tasks < 0 ? 0 : foreign_each(tasks, THREADS_MAX, is_running, pid);
	if (tasks >= 0)
		close(tasks);
	return rc != 1;
}

/* Whether one that has not answered is worth waiting for. */
static bool is_awaited(struct user_processes *p, bool after_a_while)
{
	bool any = false;

	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];

		if (process->done)
			continue;
		if (!process->hopeless)
			process->hopeless = is_hopeless(process, after_a_while);
		any |= !process->hopeless;
	}
	return any;
}

/* ---- all of them ---- */

static void requests_send(struct user_processes *p, const char *request)
{
	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];
		const char *const message = process->message ? process->message : request;
		int error = process->error;

		process->hopeless = silent_find(process);
		if (!error && send(process->socket, message, strlen(message), MSG_NOSIGNAL) < 0) {
			error = -errno;
			if (ask_again(p, process, error, message))
				continue;
		}
		if (error)
			finish(process, error == -EAGAIN ? -ETIMEDOUT : error);
	}
}

/* What has come within MS. False: nobody is left who could answer. */
static bool answers_take(struct user_processes *p, struct pollfd *polls, char *buffer,
			 const char *request, int ms)
{
	u32 open = 0;

	for (size_t i = 0; i < p->all.len; i++) {
		const bool done = p->all.items[i].done;

		polls[i] = (struct pollfd){done ? -1 : p->all.items[i].socket, POLLIN, 0};
		open += !done;
	}
	if (!open || clock_poll(polls, p->all.len, ms) < 0)
		return false;
	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];
		const size_t before = process->text_size;

		if (process->done || !polls[i].revents)
			continue;
		answer_take(p, process, buffer, process->message ? process->message : request,
			    ANSWERS_MAX - p->answered);
		p->answered += process->text_size - before;
	}
	return true;
}

void user_exchange(struct user_processes *p, const char *request, int timeout_ms)
{
	struct pollfd *polls = xzalloc(sizeof(*polls) * (p->all.len + 1));
	char *buffer = xmalloc(PANTRACE_MESSAGE_MAX + 1);
	const u64 start = clock_now_ms(CLOCK_MONOTONIC), until = start + (u64)timeout_ms;
	u64 now = start, look = start + MIN((u64)timeout_ms, (u64)LOOK_MS);

	requests_send(p, request);
	while (answers_take(p, polls, buffer, request, (int)(look > now ? look - now : 0))) {
		now = clock_now_ms(CLOCK_MONOTONIC);
		if (now < look)
			continue;
		if (now >= until || !is_awaited(p, now - start >= QUIET_MS))
			break;
		look = MIN(until, now + (now - start >= QUIET_MS ? LOOK_MS : 5 * LOOK_MS));
	}
	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];

		if (process->done)
			continue;
		process->silent = now - start >= QUIET_MS || process->hopeless;
		if (process->silent)
			user_silent_note(process);
		finish(process, -ETIMEDOUT);
	}
	free(buffer);
	free(polls);
}

void user_stays_off_text(struct strbuf *text, pid_t pid, const char *name, u32 sites, int why,
			 u32 events)
{
	static const struct {
		int error;
		const char *reason;
	} reasons[] = {
		{ETXTBSY, "is shared with other processes"},
		{EPERM, "is sealed"},
		{EACCES, "may not be written: /proc/self/mem is refused to it, and the system has "
			 "no code that is written otherwise (SELinux, PR_SET_MDWE)"},
		{EFAULT, "cannot be written: /proc/self/mem is refused to it"},
	};
	const char *reason = "cannot be written";

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].error == why)
			reason = reasons[i].reason;
	strbuf_addf(text, "process %d (", (int)pid);
	escape_line(text, name, strlen(name));
	strbuf_addstr(text, "): ");
	if (sites)
		strbuf_addf(text, "%u place%s in its code stay%s off: the memory %s", sites,
			    plural(sites), sites == 1 ? "s" : "", reason);
	if (sites && events)
		strbuf_addstr(text, "; ");
	if (events)
		strbuf_addf(text,
			    "%u event%s not recorded: there is no room for %s names and "
			    "fields",
			    events, events == 1 ? " is" : "s are", events == 1 ? "its" : "their");
}

void user_warn_stays_off(const struct user_processes *p, struct diag *d)
{
	for (size_t i = 0; i < p->all.len; i++) {
		const struct user_process *const process = &p->all.items[i];
		const char *line = process->error || !process->text
					   ? NULL
					   : strstr(process->text, "\nrefused ");
		struct strbuf text = STRBUF_INIT;
		unsigned int sites, events;
		int why = 0;

		if (!line || sscanf(line, "\nrefused %u %u %d", &sites, &events, &why) < 2 ||
		    (!sites && !events))
			continue;
		user_stays_off_text(&text, process->pid, process->name, sites, why, events);
		diag_warning(d, NO_SPAN, "%s", text.data);
		strbuf_release(&text);
	}
}

bool user_is_refusal(const struct user_process *p)
{
	static const int others[] = {0, -EEXIST, -ETIMEDOUT, -EPROTONOSUPPORT, -EPIPE, -ECONNRESET};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (p->error == others[i])
			return false;
	return true;
}

/* What a process says of itself: it may say anything. */
static void reason_add(struct strbuf *text, const char *reason)
{
	escape_line(text, reason, MIN(strcspn(reason, "\n"), REASON_MAX));
}

void user_refusal_text(struct strbuf *text, pid_t pid, const char *name, const char *reason,
		       int error)
{
	strbuf_addf(text, "process %d (", (int)pid);
	escape_line(text, name, strlen(name));
	strbuf_addstr(text, ") does not take part: ");
	reason_add(text, reason);
	if ((error == EPERM || error == EACCES || error == ENOSYS) && user_is_confined(pid))
		strbuf_addstr(text, " (it is confined by seccomp: its filter refuses system calls "
				    "that its part of the recording takes)");
}

void user_refusal_warn(const struct user_process *p, struct diag *d)
{
	struct strbuf text = STRBUF_INIT;

	user_refusal_text(&text, p->pid, p->name,
			  p->text && *p->text ? p->text : strerror(-p->error), -p->error);
	diag_warning(d, NO_SPAN, "%s", text.data);
	strbuf_release(&text);
}

/* Of a process once in a run: it is asked more than once. */
static bool was_told(const struct user_process *p)
{
	struct silent *const s = silent_find(p);
	const bool told = s && s->told;

	if (s)
		s->told = true;
	return told;
}

/* Anybody can make a thousand sockets that do not answer: some are named, the others counted. */
#define SILENT_NAMED 5u

void user_warn(const struct user_processes *p, struct diag *d)
{
	u32 silent_ones = 0;

	for (size_t i = 0; i < p->all.len; i++) {
		const struct user_process *const process = &p->all.items[i];
		struct strbuf name = STRBUF_INIT, reason = STRBUF_INIT;

		escape_line(&name, process->name, strlen(process->name));
		reason_add(&reason, process->text ? process->text : "");
		if (process->error == -ETIMEDOUT && !was_told(process) &&
		    ++silent_ones <= SILENT_NAMED)
			diag_warning(
				d, NO_SPAN, "process %d (%s) does not answer: %s",
				(int)process->pid, name.data,
				user_is_confined(process->pid)
					? "it is confined by seccomp, and what would answer in "
					  "it must not make a system call any more"
					: "it is stopped, or too busy");
		else if (process->error == -EPROTONOSUPPORT)
			diag_warning(d, NO_SPAN, "process %d (%s) is not controlled: %s",
				     (int)process->pid, name.data, reason.data ? reason.data : "");
		strbuf_release(&name);
		strbuf_release(&reason);
	}
	if (silent_ones > SILENT_NAMED)
		diag_warning(d, NO_SPAN, "%u more %s %s not answer", silent_ones - SILENT_NAMED,
			     silent_ones - SILENT_NAMED == 1 ? "process" : "processes",
			     silent_ones - SILENT_NAMED == 1 ? "does" : "do");
	if (p->left_out)
		diag_warning(d, NO_SPAN,
			     "programs of user %u are not asked: one of them answered with a "
			     "descriptor that cannot be closed",
			     (unsigned int)p->left_out_user);
	if (p->unseen)
		diag_warning(d, NO_SPAN,
			     "not all sockets of programs were looked at: some user has made more "
			     "of them than can be asked");
}

void user_close_late(struct user_processes *p, int fd, uid_t uid)
{
	if (fd >= 0)
		vector_push(&p->open, (struct user_open){fd, uid});
}

void user_processes_release(struct user_processes *p)
{
	struct rlimit limit;

	for (size_t i = 0; i < p->all.len; i++) {
		struct user_process *const process = &p->all.items[i];

		user_close_late(p, process->socket, process->uid);
		if (process->fd >= 0)
			close(process->fd);
		if (process->place >= 0)
			close(process->place);
		free(process->text);
		free(process->message);
	}
	vector_free(&p->all);
	for (size_t i = 0; i < p->open.len; i++) {
		if (p->closing)
			*p->closing = p->open.items[i].uid;
		close(p->open.items[i].fd);
	}
	vector_free(&p->open);
	if (p->file_limit && !getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = p->file_limit;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	*p = (struct user_processes){0};
}
