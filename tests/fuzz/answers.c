/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as what a program's socket answers: the first byte chooses who reads it, the others are
 * cut into messages by 0xff. A thread is the program; what reads the answers is what `user list`
 * and `list user:` do, run as a user without privileges: root's would look at all processes of the
 * machine, and ask by a fork of the fuzzer.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/user/user.h"
#include "probe/user_event.h"
#include "user/process.h"

#define NOBODY 65534

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listening;
/* Of the answer, which is still being sent when nobody reads any more. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t answer[1 << 20];
static size_t answer_size;

/* One message; a descriptor comes along with every other one. */
static bool message_send(int fd, const uint8_t *bytes, size_t n)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} rights = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = n & 1 ? &rights : NULL,
				 .msg_controllen = n & 1 ? sizeof(rights) : 0};

	memcpy(CMSG_DATA(&rights.header), &listening, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

static void *program(void *arg)
{
	static char request[65536];

	for (;;) {
		const int fd = accept(listening, NULL, NULL);
		bool good = recv(fd, request, sizeof(request), 0) > 0;

		pthread_mutex_lock(&lock);
		for (size_t at = 0; good && at < answer_size;) {
			const uint8_t *end = memchr(answer + at, 0xff, answer_size - at);
			const size_t n = end ? (size_t)(end - answer) - at : answer_size - at;

			good = message_send(fd, answer + at, n);
			at += n + 1;
		}
		pthread_mutex_unlock(&lock);
		close(fd);
	}
	return arg;
}

/* The thread's effective user, if it may choose. */
static void become(uid_t uid)
{
	if (!syscall(SYS_setresuid, -1, uid, -1))
		prctl(PR_SET_DUMPABLE, 1); /* of which LeakSanitizer makes use */
}

static void begin(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int null = open("/dev/null", O_WRONLY);
	static char directory[64];
	pthread_t thread;

	snprintf(directory, sizeof(directory), "/dev/shm/answers-fuzz-%d", (int)getpid());
	if (mkdir(directory, 0700))
		abort();
	setenv("PANTRACE_RUNTIME", directory, 1);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/1", directory);
	listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 8) ||
	    pthread_create(&thread, NULL, program, NULL))
		abort();
	dup2(null, STDOUT_FILENO);
	close(null);
	stderr = fopen("/dev/null", "w");
}

static int count(void *arg, struct user_event *event)
{
	size_t *const sum = arg;

	*sum += strlen(event->provider) + strlen(event->name);
	for (u32 i = 0; i < event->nfields; i++)
		*sum += strlen(event->fields[i].name) + strlen(event->fields[i].extra);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text[] = {"list", NULL}, *json[] = {"list", "-j", "s*:*", NULL};
	struct diag d = DIAG_INIT;
	struct arena arena = ARENA_INIT;
	size_t sum = 0;

	if (!size || size > sizeof(answer))
		return 0;
	become(getuid() ? getuid() : NOBODY);
	if (!listening)
		begin();
	pthread_mutex_lock(&lock);
	memcpy(answer, data + 1, size - 1);
	answer_size = size - 1;
	pthread_mutex_unlock(&lock);
	switch (*data % 3) {
	case 0:
		user_list(1, text);
		break;
	case 1:
		user_list(3, json);
		break;
	default:
		user_event_each(&arena, 0, &d, count, &sum, NULL);
	}
	arena_release(&arena);
	diag_release(&d);
	become(getuid()); /* the corpus is the fuzzer's own user's */
	return 0;
}
