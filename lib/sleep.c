// SPDX-License-Identifier: MIT
#include "sleep.h"
#include "control_socket.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL 64 /* the last one; it is for the helper alone, which never lets it in */

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct {
	int signals; /* signalfd */
	int run, clock; /* timers: of the process's time, of the system's */
	bool armed, runs; /* the clock; the process's */
	bool asleep;
	bool told; /* clients are signals, too */
	int status, rest; /* descriptors of the guard */
	char seccomp[64]; /* what the status said at first */
} sleeper = {.signals = -1, .run = -1, .clock = -1, .status = -1, .rest = -1};

/* ---- a helper that is confined ---- */

/*
 * A thread may confine all threads of its process, after which the helper's next system call may
 * kill the program. So after each sleep it first checks, with read() alone: a status file that was
 * opened before is filled in when it is read.
 */

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

/* Moves the descriptor out of the program's way if both share a table. */
static int fd_high(int fd, bool own_table)
{
	int high;

	if (own_table || fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, PT_HIGH_FD);
	close(fd);
	return high;
}

static void status_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/status", syscall(SYS_gettid));
	sleeper.status = fd_high(open(path, O_RDONLY | O_CLOEXEC), sleeper.signals >= 0);
}

static void status_read(char ret[64])
{
	char text[4096];
	ssize_t n;

	*ret = 0;
	n = sleeper.status < 0 ? 0 : read(sleeper.status, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = 0;
	seccomp_find(text, ret);
}

static void guard_begin(bool own_table)
{
	sleeper.rest = fd_high(eventfd(0, EFD_CLOEXEC), own_table);
	status_open();
	status_read(sleeper.seccomp);
	if (sleeper.status >= 0)
		close(sleeper.status);
	status_open();
}

void pt_sleep_guard(void)
{
	char seccomp[64];
	uint64_t never;

	status_read(seccomp);
	while (*sleeper.seccomp && *seccomp && strcmp(seccomp, sleeper.seccomp))
		if (read(sleeper.rest, &never, sizeof(never)) < 0 && errno != EINTR)
			syscall(SYS_exit, 0);
	if (sleeper.status >= 0)
		close(sleeper.status);
	status_open();
}

/* ---- what ends a sleep ---- */

static int timer_make(clockid_t clock)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
	int made;

	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	return syscall(SYS_timer_create, clock, &event, &made) ? -1 : made;
}

static bool timer_set(int timer, uint64_t ns)
{
	const struct itimerspec once = {
		.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};

	return timer >= 0 && !syscall(SYS_timer_settime, timer, 0, &once, NULL);
}

bool pt_sleep_until_run(uint64_t ns)
{
	const bool set = timer_set(__atomic_load_n(&sleeper.run, __ATOMIC_RELAXED), ns);

	if (set)
		__atomic_store_n(&sleeper.runs, true, __ATOMIC_RELAXED);
	return set;
}

bool pt_sleep_ends_soon(void)
{
	return __atomic_load_n(&sleeper.run, __ATOMIC_RELAXED) >= 0 &&
	       (!__atomic_load_n(&sleeper.asleep, __ATOMIC_RELAXED) ||
		__atomic_load_n(&sleeper.runs, __ATOMIC_RELAXED));
}

void pt_sleep_begin(bool own_table)
{
	const uint64_t mask = 1ull << (SIGNAL - 1);

	if (own_table) {
		sleeper.signals = (int)syscall(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_CLOEXEC);
		sleeper.clock = timer_make(CLOCK_MONOTONIC);
		__atomic_store_n(&sleeper.run, timer_make(CLOCK_PROCESS_CPUTIME_ID),
				 __ATOMIC_RELAXED);
	}
	guard_begin(own_table);
}

void pt_sleep_forget(bool in_our_table)
{
	if (in_our_table) {
		close(sleeper.status);
		close(sleeper.rest);
	}
	sleeper.signals = sleeper.run = sleeper.clock = sleeper.status = sleeper.rest = -1;
	sleeper.armed = sleeper.runs = sleeper.told = sleeper.asleep = false;
}

/*
 * The kernel lets a file of one user only signal threads of the same user, or root's may signal
 * all. The root of a container is neither, once it has become another user.
 */
static bool stays_root(void)
{
	const int fd = geteuid() ? -1 : open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	unsigned int inside = 1, outside = 1, n = 0;
	char text[64] = "";

	if (geteuid())
		return true;
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%u %u %u", &inside, &outside, &n);
	if (fd >= 0)
		close(fd);
	return !inside && !outside && n == UINT32_MAX;
}

void pt_sleep_listen(int listener)
{
	const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};

	sleeper.told = sleeper.signals >= 0 && sleeper.clock >= 0 && sleeper.run >= 0 &&
		       stays_root() && !fcntl(listener, F_SETSIG, SIGNAL) &&
		       !fcntl(listener, F_SETOWN_EX, &owner) &&
		       !fcntl(listener, F_SETFL, O_NONBLOCK | O_ASYNC);
}

static void clock_set(int limit_ms)
{
	if (limit_ms >= 0 || sleeper.armed)
		timer_set(sleeper.clock, limit_ms < 0 ? 0 : (uint64_t)limit_ms * 1000000 + 1);
	sleeper.armed = limit_ms >= 0;
}

void pt_sleep(int listener, int limit_ms)
{
	struct pollfd waiting[] = {{listener, POLLIN, 0}, {sleeper.signals, POLLIN, 0}};
	struct signalfd_siginfo due[4];
	bool any = false;

	if (sleeper.told)
		clock_set(limit_ms);
	__atomic_store_n(&sleeper.asleep, true, __ATOMIC_RELAXED);
	/* whichever event it was, the caller checks everything */
	if (sleeper.told || (poll(waiting, 2, limit_ms) > 0 && waiting[1].revents))
		any = read(sleeper.signals, due, sizeof(due)) > 0;
	/* in this order: it counts as awake before nothing is due any more */
	__atomic_store_n(&sleeper.asleep, false, __ATOMIC_RELEASE);
	if (any)
		__atomic_store_n(&sleeper.runs, false, __ATOMIC_RELEASE);
	pt_sleep_guard();
}
