/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders to a histogram that runs under a name: `pantrace hist pause NAME` connects to a socket of
 * the run, sends the word and prints what comes back. The socket is /run/pantrace/hist-NAME.sock
 * (mode 0600, in a directory that only root may write to).
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cmd/hist/hist.h"

#define RUN_DIRECTORY "/run/pantrace"
#define PATIENCE_MS   2000 /* for the words of the process that gives an order */
#define ANSWER_MS     10000 /* for a run to carry it out: it may be about to read large tables */

const char *const hist_order_words[] = {"", "show", "pause", "continue", "clear", "stop", NULL};

struct hist_control {
	int epoll, timer, socket;
	int client; /* the connection whose order is being carried out; -1 = none */
	struct sockaddr_un address;
};

static int fill_address(struct sockaddr_un *sa, const char *name)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!*name || strpbrk(name, "/.") ||
	    strlen(name) + sizeof(RUN_DIRECTORY "/hist-.sock") > sizeof(sa->sun_path))
		return -EINVAL;
	snprintf(sa->sun_path, sizeof(sa->sun_path), RUN_DIRECTORY "/hist-%s.sock", name);
	return 0;
}

static int connect_to(const struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Replaces the socket that a killed run left; refuses if the run is alive. */
static int listen_on(struct hist_control *c, struct diag *d, const char *name)
{
	mode_t mask;
	int fd, err = fill_address(&c->address, name);

	if (err) {
		diag_error(d, NO_SPAN, "'%s' is not a name for a session", name);
		diag_hint(d, "letters, digits, '-' and '_', at most 80 of them");
		return err;
	}
	mkdir(RUN_DIRECTORY, 0700);
	fd = connect_to(&c->address);
	if (fd >= 0) {
		close(fd);
		diag_error(d, NO_SPAN, "there is a histogram '%s' already", name);
		diag_hint(d, "`pantrace hist stop %s` ends it", name);
		c->address.sun_path[0] = '\0';
		return -EEXIST;
	}
	unlink(c->address.sun_path);
	c->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	err = c->socket < 0 ||
			      bind(c->socket, (struct sockaddr *)&c->address, sizeof(c->address)) <
				      0 ||
			      listen(c->socket, 4) < 0
		      ? -errno
		      : 0;
	umask(mask);
	if (err)
		diag_error(d, NO_SPAN, "cannot make the socket %s: %s", c->address.sun_path,
			   strerror(-err));
	return err;
}

static int add(struct hist_control *c, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int hist_control_open(struct hist_control **ret, struct diag *d, const char *name, u64 interval_ns)
{
	struct hist_control *c = xzalloc(sizeof(*c));
	int err = 0;

	*c = (struct hist_control){
		.epoll = epoll_create1(EPOLL_CLOEXEC), .timer = -1, .socket = -1, .client = -1};
	if (c->epoll < 0)
		err = -errno;
	if (!err && interval_ns) {
		const struct timespec every = {(time_t)(interval_ns / 1000000000),
					       (long)(interval_ns % 1000000000)};
		const struct itimerspec when = {every, every};

		c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (c->timer < 0 || timerfd_settime(c->timer, 0, &when, NULL) < 0)
			err = -errno;
		if (!err)
			err = add(c, c->timer);
	}
	if (!err && name) {
		err = listen_on(c, d, name);
		if (!err)
			err = add(c, c->socket);
	}
	if (err) {
		if (!d->errors)
			diag_error(d, NO_SPAN, "cannot make a timer: %s", strerror(-err));
		hist_control_close(c);
		return err;
	}
	*ret = c;
	return 0;
}

int hist_control_fd(const struct hist_control *c)
{
	return c->epoll;
}

bool hist_control_tick(struct hist_control *c)
{
	u64 ticks;

	return c->timer >= 0 && read(c->timer, &ticks, sizeof(ticks)) == sizeof(ticks);
}

static void set_answer_timeout(int fd, int ms)
{
	const struct timeval wait = {ms / 1000, ms % 1000 * 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

/* A timeout makes a stop and SIGCONT end recv(), too. */
static ssize_t receive(int fd, char *to, size_t size)
{
	ssize_t n;

	do
		n = recv(fd, to, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static enum hist_order read_order(int fd)
{
	char word[16];
	const ssize_t n = receive(fd, word, sizeof(word) - 1);

	word[n > 0 ? n : 0] = '\0';
	word[strcspn(word, "\n")] = '\0';
	for (u32 i = HIST_SHOW; hist_order_words[i]; i++)
		if (str_eq(hist_order_words[i], word))
			return (enum hist_order)i;
	return HIST_NOTHING;
}

enum hist_order hist_control_order(struct hist_control *c)
{
	enum hist_order order;

	while (c->socket >= 0 && (c->client = accept4(c->socket, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		set_answer_timeout(c->client, PATIENCE_MS);
		order = read_order(c->client);
		if (order != HIST_NOTHING)
			return order;
		hist_control_answer(c, "", 0);
	}
	return HIST_NOTHING;
}

void hist_control_answer(struct hist_control *c, const char *text, size_t len)
{
	while (len) {
		const ssize_t n = send(c->client, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* the other side has closed, or does not read */
		text += n;
		len -= (size_t)n;
	}
	close(c->client);
	c->client = -1;
}

void hist_control_close(struct hist_control *c)
{
	const int fds[] = {c->epoll, c->timer, c->socket, c->client};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (c->socket >= 0)
		unlink(c->address.sun_path);
	free(c);
}

int hist_control_send(const char *name, enum hist_order order)
{
	struct sockaddr_un sa;
	char text[4096];
	ssize_t n;
	int fd = fill_address(&sa, name);

	if (!fd)
		fd = connect_to(&sa);
	if (fd < 0) {
		complain("hist", "there is no histogram '%s' that runs: %s", name,
			 fd == -ECONNREFUSED ? "it was killed" : strerror(-fd));
		return fd == -EACCES ? EXIT_PRIVILEGE : EXIT_FAILED;
	}
	snprintf(text, sizeof(text), "%s\n", hist_order_words[order]);
	set_answer_timeout(fd, ANSWER_MS);
	n = send(fd, text, strlen(text), MSG_NOSIGNAL);
	while (n > 0 && (n = receive(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, stdout);
	if (n < 0)
		complain("hist", "'%s': %s", name,
			 errno == EAGAIN ? "it does not answer: it is stopped, or too busy"
					 : strerror(errno));
	close(fd);
	return n < 0 ? EXIT_FAILED : EXIT_OK;
}
