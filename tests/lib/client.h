// SPDX-License-Identifier: MIT
/* A client of the library's socket, for tests: what a request is answered with. After tap.h. */
#ifndef PANTRACE_TESTS_CLIENT_H
#define PANTRACE_TESTS_CLIENT_H

#include <errno.h>
#include <signal.h>
#include <pantrace/protocol.h>
#include <pantrace/reader.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_S 120 /* the machine may be busy; a process that is stuck fails the test */

static char directory[80]; /* PANTRACE_RUNTIME */

/*
 * Connects to a process, whose answers take SECONDS; -1 if it does not listen within a minute, has
 * gone, or may not be reached.
 */
static int dial_for(pid_t pid, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval limit = {.tv_sec = seconds};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d", directory, (int)pid);
	/* it is ready soon after main() begins */
	for (int i = 0; connect(fd, (struct sockaddr *)&address, sizeof(address)); i++) {
		if (i == 6000 || errno == EACCES || kill(pid, 0)) {
			close(fd);
			return -1;
		}
		usleep(10000);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static int dial(pid_t pid)
{
	return dial_for(pid, ANSWER_S);
}

static char answer[1 << 20];
static int passed; /* the descriptor that came with it, or -1 */
static bool hung_up; /* the process did, without an answer */

/* The whole answer, or "" when there is none within SECONDS. */
static const char *ask_once(pid_t pid, const void *text, size_t n, int seconds)
{
	const int fd = dial_for(pid, seconds);
	size_t used = 0;

	*answer = 0;
	passed = -1;
	hung_up = false;
	if (fd < 0)
		return answer;
	if (send(fd, text, n, MSG_NOSIGNAL) < 0) {
		hung_up = errno == EPIPE || errno == ECONNRESET;
		goto out;
	}
	while (used < sizeof(answer) - 70000) {
		union {
			struct cmsghdr header;
			char room[CMSG_SPACE(sizeof(int))];
		} ancillary;
		struct iovec iov = {answer + used, 70000};
		struct msghdr message = {.msg_iov = &iov,
					 .msg_iovlen = 1,
					 .msg_control = &ancillary,
					 .msg_controllen = sizeof(ancillary)};
		const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

		if (got <= 0) {
			hung_up = !used && (!got || errno == ECONNRESET);
			break;
		}
		if (message.msg_controllen >= CMSG_LEN(sizeof(int)))
			memcpy(&passed, CMSG_DATA(&ancillary.header), sizeof(int));
		answer[used + (size_t)got] = 0;
		if (strncmp(answer + used, "more\n", 5)) {
			used += (size_t)got;
			break;
		}
		used += (size_t)got;
	}
out:
	close(fd);
	return answer;
}

/*
 * On a busy machine a client may seem to be silent, upon which the process hangs up: it has not
 * read the request, which is made again. One whose answer is late is not: it would be done twice.
 */
static const char *ask_raw(pid_t pid, const void *text, size_t n)
{
	ask_once(pid, text, n, ANSWER_S);
	for (int i = 0; i < 3 && hung_up; i++)
		ask_once(pid, text, n, ANSWER_S);
	return answer;
}

/* A request in the words of the protocol, but for its first; the whole answer. */
static const char *ask(pid_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *ask(pid_t pid, const char *format, ...)
{
	char text[4096];
	va_list args;
	int n = snprintf(text, sizeof(text), "pantrace %d test ", PANTRACE_PROTOCOL);

	va_start(args, format);
	n += vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	return ask_raw(pid, text, (size_t)n);
}

static bool says(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static void said(const char *text, const char *what, const char *name)
{
	if (!ok(says(text, what), "%s", name))
		printf("# %s\n", text);
}

/* Events of the session's rings, read from what `attach` gives. */
static long long read_events(pid_t pid, const char *session)
{
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;
	struct pantrace_reader *reader;
	char path[512] = "";
	long long n = 0;
	const char *p;

	ask(pid, "attach %s\n", session);
	p = strstr(answer, " /");
	if (p)
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(p + 1, "\n"), p + 1);
	if (passed >= 0 ? pantrace_reader_open_fd(passed, true, &reader)
			: pantrace_reader_open(path, &reader))
		return -1;
	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		while (pantrace_reader_packet(reader, ring, &packet) == 1) {
			size_t at = packet.from;

			while (pantrace_reader_event(reader, &packet, &at, &event) == 1)
				n++;
		}
	}
	pantrace_reader_close(reader);
	if (passed >= 0)
		close(passed);
	return n;
}

#endif
