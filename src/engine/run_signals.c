/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/run_signals.h"

#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/*
 * Nobody presses Ctrl-C twice within this time, and two kill(2) in a row come within it even on a
 * busy machine.
 */
#define WITH_THE_FIRST_MS 250

static void drop_pending(const struct run_signals *p)
{
	const struct timespec now = {0};

	while (sigtimedwait(&p->ours, NULL, &now) > 0)
		;
}

/* A signal for the process goes to a thread that does not block it. */
static void *end_at_once(void *arg)
{
	struct run_signals *p = arg;
	struct pollfd stop = {.fd = p->stop, .events = POLLIN};

	if (poll(&stop, 1, WITH_THE_FIRST_MS))
		return NULL;
	drop_pending(p);
	pthread_sigmask(SIG_SETMASK, &p->old, NULL);
	poll(&stop, 1, -1);
	return NULL;
}

int run_signals_open(struct run_signals *p)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	p->has_thread = false;
	sigemptyset(&p->ours);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&p->ours, ends[i]);
	sigprocmask(SIG_BLOCK, &p->ours, &p->old);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &p->ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

void run_signals_begin(struct run_signals *p)
{
	p->stop = eventfd(0, EFD_CLOEXEC);
	p->has_thread = p->stop >= 0 && !pthread_create(&p->thread, NULL, end_at_once, p);
	if (p->has_thread)
		return;
	if (p->stop >= 0)
		close(p->stop);
	drop_pending(p);
	pthread_sigmask(SIG_SETMASK, &p->old, NULL);
}

void run_signals_end(struct run_signals *p)
{
	const uint64_t one = 1;

	if (p->has_thread) {
		if (write(p->stop, &one, sizeof(one)) == sizeof(one))
			pthread_join(p->thread, NULL);
		close(p->stop);
		p->has_thread = false;
	}
	drop_pending(p);
	pthread_sigmask(SIG_SETMASK, &p->old, NULL);
}
