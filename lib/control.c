// SPDX-License-Identifier: MIT
/*
 * The helper: one thread that sleeps in accept(2) until a tool comes (pantrace/protocol.h).
 *
 * It has a table of descriptors of its own (unshare(CLONE_FILES)): the program neither sees its
 * socket nor can close it, and no number changes that the program would have been given. Where that
 * is refused, it shares the program's table, keeps to high numbers, and looks before each use
 * whether the socket is still there.
 */
#include "children.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pantrace/protocol.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE (256u << 10)
#define HIGH_FD	   48 /* below 64, where a table of descriptors would have to grow */
#define WAIT_MS	   500 /* for a client that connects and says nothing */
#define IDLE_MS	   50
#define LOOK_MS	   100 /* for libraries that were loaded, while events carry addresses */
#define CHILD_MS   50
#define LOOK_AT	   16 /* children, at each fork */

static struct control {
	bool child_safe; /* of a fork that is going on */
	bool own_table;
	bool helps; /* a helper is there, or about to be made */
	bool ending; /* main() is over: no socket is to be left behind */
	int seccomp; /* mode when the library was loaded */
	int fd;
	uint64_t inode;
	pid_t pid; /* whose socket PATH is */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
} control = {.fd = -1};

/* Threads that make rings ask while the helper may end. */
static void helps_set(bool helps)
{
	__atomic_store_n(&control.helps, helps, __ATOMIC_RELAXED);
}

/* ---- the socket ---- */

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

static int socket_make(void)
{
	char directory[sizeof(control.path)];
	struct stat st;
	int fd, high, rc = pt_runtime_directory(directory, sizeof(directory));

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!control.own_table && (high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD)) >= 0) {
		close(fd);
		fd = high;
	}
	/* the mode that the socket's name will have */
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
	return 0;
out:
	close(fd);
	return rc;
}

static bool socket_ours(void)
{
	struct stat st;

	return control.fd >= 0 && !fstat(control.fd, &st) && S_ISSOCK(st.st_mode) &&
	       st.st_ino == control.inode;
}

/* ---- a connection ---- */

/* Only root and the process's own user: neither a former user nor one of another namespace. */
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

	if (pass >= 0) {
		message.msg_control = &ancillary;
		message.msg_controllen = sizeof(ancillary);
		ancillary.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						    .cmsg_level = SOL_SOCKET,
						    .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&ancillary.header), &pass, sizeof(pass));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
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

static void serve(int fd)
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
	/* descriptors that are sent along are dropped by the kernel: there is no room for them */
	n = recv(fd, text, sizeof(text), MSG_TRUNC);
	if (n <= 0)
		return;
	rc = (size_t)n > sizeof(text) ? -EMSGSIZE : pt_request(text, (size_t)n, &answer);
	answer_send(fd, &answer, rc);
	if (answer.fd >= 0)
		close(answer.fd);
	if (answer.text)
		munmap(answer.text, answer.room);
}

/* Of ThreadSanitizer: whether the program is under it. */
extern void __tsan_init(void) __attribute__((weak));

static void table_unshare(void)
{
	struct rlimit limit = {0};

	/* TSan takes equal numbers in two tables for one descriptor, and reports races that are
	 * none; its reports of the helper would go to a descriptor that is closed here */
	control.own_table = !__tsan_init && !unshare(CLONE_FILES);
	if (!control.own_table || !syscall(SYS_close_range, 0u, ~0u, 0u))
		return;
	/* before Linux 5.9 */
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 0; fd < (int)(limit.rlim_cur > 65536 ? 65536 : limit.rlim_cur); fd++)
		close(fd);
}

/* ---- a helper that is confined ---- */

/*
 * A thread may confine all threads of its process (SECCOMP_FILTER_FLAG_TSYNC), after which the next
 * system call of the helper may be the end of the program. So after each sleep it looks first, by
 * read() alone, which every filter has: in a status file that was opened before, and is filled in
 * when it is read.
 */
static struct guard {
	int status, rest; /* -1: none */
	char seccomp[64]; /* what the status said at first */
} guard = {-1, -1, ""};

/* "2 Seccomp_filters: 1" of the text, or "". */
static void seccomp_find(const char *text, char ret[64])
{
	const char *at = strstr(text, "\nSeccomp:"), *end;

	*ret = 0;
	if (!at)
		return;
	end = strstr(at, "\nSpeculation");
	snprintf(ret, 64, "%.*s", end && end - at < 64 ? (int)(end - at) : 63, at);
}

/* Out of the way of the program's, where it has the same table. */
static int fd_high(int fd)
{
	int high;

	if (control.own_table || fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	close(fd);
	return high;
}

static void status_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/status", syscall(SYS_gettid));
	guard.status = fd_high(open(path, O_RDONLY | O_CLOEXEC));
}

static void status_read(char ret[64])
{
	char text[4096];
	ssize_t n;

	*ret = 0;
	n = guard.status < 0 ? 0 : read(guard.status, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = 0;
	seccomp_find(text, ret);
}

static void guard_begin(void)
{
	guard.rest = fd_high(eventfd(0, EFD_CLOEXEC));
	status_open();
	status_read(guard.seccomp);
	if (guard.status >= 0)
		close(guard.status);
	status_open();
}

/* Returns if the helper may do as it likes; never otherwise. */
static void guard_pass(void)
{
	char seccomp[64];
	uint64_t never;

	status_read(seccomp);
	while (*guard.seccomp && *seccomp && strcmp(seccomp, guard.seccomp))
		if (read(guard.rest, &never, sizeof(never)) < 0 && errno != EINTR)
			syscall(SYS_exit, 0);
	if (guard.status >= 0)
		close(guard.status);
	status_open();
}

/* ---- the thread ---- */

static int least(int a_ms, int b_ms)
{
	return a_ms < 0 || b_ms < a_ms ? b_ms : a_ms;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * A connection, within LIMIT_MS (-1: whenever), or -1; EAGAIN: nobody has come. Where the program
 * can close the socket, accept() alone holds on to it.
 */
static int client_wait(const struct pt_tending *tending, int limit_ms)
{
	const struct timeval limit = {limit_ms > 0 ? limit_ms / 1000 : 0,
				      limit_ms > 0 ? limit_ms % 1000 * 1000 : 0};
	struct pollfd waiting[] = {{control.fd, POLLIN, 0}, {tending->fd, POLLIN, 0}};
	int n, saved;

	if (control.own_table) {
		n = poll(waiting, 2, limit_ms);
		guard_pass();
		if (n <= 0 || !waiting[0].revents)
			return errno = EAGAIN, -1;
		return accept4(control.fd, NULL, NULL, SOCK_CLOEXEC);
	}
	setsockopt(control.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	n = accept4(control.fd, NULL, NULL, SOCK_CLOEXEC);
	saved = errno;
	guard_pass();
	errno = saved;
	return n;
}

/*
 * A child that only goes on to exec leaves no socket behind; its rings are looked after from the
 * start.
 */
static void child_wait(struct pt_tending *tending)
{
	struct pollfd waiting = {tending->fd, POLLIN, 0};
	const uint64_t until = now_ms() + CHILD_MS;

	for (uint64_t now = now_ms(); now < until; now = now_ms()) {
		poll(&waiting, 1, least(pt_tend(tending), (int)(until - now)));
		guard_pass();
	}
}

/* Nobody looks after rings from here on. */
static void *helper_end(void)
{
	helps_set(false);
	pt_sessions_populate();
	return NULL;
}

static void *helper(void *delay)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	struct pt_tending tending;
	uint64_t quiet_from = 0; /* when nobody waits for what was put off; 0: nothing was */

	prctl(PR_SET_NAME, "pantrace");
	table_unshare();
	control.fd = -1;
	guard_begin();
	pt_tending_begin(&tending, control.own_table);
	if (delay)
		child_wait(&tending);
	for (;;) {
		int fd, wait_ms;

		if (!socket_ours()) {
			if (control.pid == getpid())
				unlink(control.path);
			if (socket_make())
				return helper_end();
			if (__atomic_load_n(&control.ending, __ATOMIC_SEQ_CST)) {
				unlink(control.path);
				return NULL;
			}
			/* described since this process began, before there was a socket to ask */
			pt_join_waiting();
		}
		/* what nobody waits for is done once nobody has come for a while */
		if (quiet_from && now_ms() >= quiet_from) {
			pt_sessions_bury();
			quiet_from = 0;
		}
		if (pt_sessions_addresses())
			pantrace_objects();
		wait_ms = pt_tend(&tending);
		if (quiet_from)
			wait_ms = least(wait_ms, IDLE_MS);
		if (pt_sessions_addresses())
			wait_ms = least(wait_ms, LOOK_MS);
		fd = client_wait(&tending, wait_ms);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			    errno == ENOBUFS)
				nanosleep(&pause, NULL);
			else if (errno == EPERM || errno == ENOSYS)
				return helper_end();
			continue;
		}
		serve(fd);
		close(fd);
		quiet_from = now_ms() + IDLE_MS;
	}
	return NULL;
}

extern void *dlopen(const char *file, int mode) __attribute__((weak));

/*
 * The helper's code stays: a plugin that has the library in itself may be unloaded while the
 * program runs. (libpantrace.so says so itself, a static program has no dlopen().)
 */
static void object_pin(void)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (dlopen && dladdr1((void *)object_pin, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    map->l_name && *map->l_name)
		dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void helper_start(bool delay)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool made;

	helps_set(false);
	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all,
			&before); /* handlers are the program's threads' business */
	/* not afterwards: the helper may have ended by then, and said so */
	helps_set(true);
	made = !pthread_create(&thread, &attr, helper, delay ? &control : NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (made)
		return;
	helps_set(false);
	pt_sessions_populate();
}

/*
 * At a fork, or as the process ends. The lock may be of this very thread, which a signal handler
 * interrupts: it is waited for so many milliseconds.
 */
static void children_look(bool forks, int wait_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!pt_state)
		return;
	while (!pt_trylock()) {
		if (!wait_ms--)
			return;
		nanosleep(&pause, NULL);
	}
	if (forks)
		pt_children_prepare();
	pt_children_sweep(forks ? LOOK_AT : UINT_MAX);
	pt_unlock();
}

/*
 * A child gets a helper of its own when making a thread is safe there: it calls malloc, whose locks
 * another thread may have held while the process forked. The C library's malloc copes with that.
 */
static void fork_prepare(void)
{
	struct stat st;
	Dl_info one, other;

	/* this thread, the helper, and the two entries that every directory has */
	control.child_safe = (!stat("/proc/self/task", &st) && st.st_nlink <= 4) ||
			     (dladdr((void *)malloc, &one) && dladdr((void *)getpid, &other) &&
			      one.dli_fbase == other.dli_fbase && getauxval(AT_BASE));
	children_look(true, 0);
}

static void fork_child(void)
{
	if (!control.own_table && socket_ours()) {
		close(control.fd);
		close(guard.status);
		close(guard.rest);
	}
	control.fd = -1;
	pt_tending_forget();
	helps_set(false);
	if (prctl(PR_GET_SECCOMP) != control.seccomp)
		return;
	helps_set(control.child_safe);
	pt_sessions_of_child();
	if (control.child_safe)
		helper_start(true);
}

void pt_control_wake(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (pt_tend_soon() || __atomic_load_n(&control.pid, __ATOMIC_ACQUIRE) != getpid())
		return;
	/* it waits for a connection, and there is one */
	memcpy(address.sun_path, control.path, sizeof(control.path));
	listened_to(&address);
}

bool pt_control_confined(void)
{
	return control.seccomp > 0;
}

bool pt_control_helps(void)
{
	return __atomic_load_n(&control.helps, __ATOMIC_RELAXED);
}

void pt_control_begin(void)
{
	const char *given = getenv("PANTRACE_CONTROL");

	control.seccomp = prctl(PR_GET_SECCOMP);
	/* whoever has started a program that has more rights than he has does not control it */
	if (getauxval(AT_SECURE) || (given && !strcmp(given, "0")) || pt_state_get())
		return;
	/* while there is one thread only, this is free; later it waits for all CPUs */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	helps_set(true);
	pt_join_begin();
	pt_join_waiting();
	object_pin();
	pthread_atfork(fork_prepare, NULL, fork_child);
	helper_start(false);
}

__attribute__((destructor)) static void control_end(void)
{
	__atomic_store_n(&control.ending, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&control.pid, __ATOMIC_ACQUIRE) == getpid())
		unlink(control.path);
	children_look(false, 100);
}
