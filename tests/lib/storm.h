// SPDX-License-Identifier: MIT
/*
 * What tests share that emit events in a storm of signals, from threads that wander between CPUs,
 * and see that a reader finds them all. Such a test defines event(), which emits one of its events
 * and adds it to `produced`.
 */
#ifndef PANTRACE_TESTS_STORM_H
#define PANTRACE_TESTS_STORM_H

#include <errno.h>
#include <pantrace/reader.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static atomic_ulong produced; /* events, by all threads and the signals among them */

static void event(void);

static void storm_signal(int signal)
{
	const int saved = errno;

	(void)signal;
	event();
	errno = saved;
}

/* Once, before the first storm. */
static void storm_prepare(void)
{
	const struct sigaction action = {.sa_handler = storm_signal, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
}

/* A signal each EVERY_US, of which each emits an event; 0: no more of them. */
static void storm(int every_us)
{
	const struct itimerval t = {{0, every_us}, {0, every_us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

/* N events; after each `stay` of them the thread goes to the other CPU. */
static void storm_emit(uintptr_t n, uintptr_t stay)
{
	cpu_set_t set;

	for (uintptr_t i = 0; i < n; i++) {
		event();
		if (!(i % stay)) {
			CPU_ZERO(&set);
			CPU_SET((i / stay) % 2, &set);
			sched_setaffinity(0, sizeof(set), &set);
		}
	}
}

/* Calls FN for every event that READER has. Returns how many packets, or rings, are not whole. */
static uint64_t
each_event(struct pantrace_reader *reader,
	   void (*fn)(void *arg, uint32_t ring, const struct pantrace_event_view *view), void *arg)
{
	struct pantrace_packet_view packet;
	struct pantrace_event_view view;
	uint64_t damaged = 0;
	int rc;

	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		while ((rc = pantrace_reader_packet(reader, ring, &packet)) == 1) {
			size_t at = packet.from;

			while ((rc = pantrace_reader_event(reader, &packet, &at, &view)) == 1)
				fn(arg, ring, &view);
			damaged += rc < 0;
		}
		damaged += rc < 0;
	}
	return damaged;
}

#endif
