// SPDX-License-Identifier: MIT
#include "session.h"
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS	 2000000l /* of the process's processor time: the kernel adds up to a tick */
#define LOOK_MS	 10 /* where there is no such timer */
#define YOUNG_MS 1100
#define SIGNAL	 64 /* the last one; it is for the helper alone, which never lets it in */

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int timer = -1; /* of the helper; -1: none */

bool pt_tend_soon(void)
{
	const struct itimerspec once = {.it_value.tv_nsec = LOOK_NS};

	const int has = __atomic_load_n(&timer, __ATOMIC_RELAXED);

	return has >= 0 && !syscall(SYS_timer_settime, has, 0, &once, NULL);
}

void pt_tending_forget(void)
{
	timer = -1;
}

void pt_tending_begin(struct pt_tending *tending, bool with_fd)
{
	const uint64_t mask = 1ull << (SIGNAL - 1);
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
	int made;

	tending->fd = -1;
	if (!with_fd)
		return;
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	tending->fd =
		(int)syscall(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_CLOEXEC | SFD_NONBLOCK);
	if (tending->fd >= 0 && !syscall(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &made))
		__atomic_store_n(&timer, made, __ATOMIC_RELAXED);
}

int pt_tend(struct pt_tending *tending)
{
	struct signalfd_siginfo info;
	unsigned int watch;

	if (tending->fd >= 0 && read(tending->fd, &info, sizeof(info)) < 0)
		info.ssi_signo = 0; /* nothing is due */
	watch = pt_sessions_follow();
	if (watch & PT_WATCH_WORK && !pt_tend_soon())
		return LOOK_MS;
	return watch & PT_WATCH_TIME ? YOUNG_MS : -1;
}
