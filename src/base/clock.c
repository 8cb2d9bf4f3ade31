/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <errno.h>

u64 clock_now_ns(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

u64 clock_now_ms(clockid_t id)
{
	return clock_now_ns(id) / 1000000;
}

/* Read one clock between two reads of the other, five times; the narrowest of these is used. */
s64 clock_distance_ns(clockid_t from, clockid_t to)
{
	u64 best = UINT64_MAX;
	s64 distance = 0;

	for (int i = 0; i < 5; i++) {
		const u64 before = clock_now_ns(from);
		const u64 other = clock_now_ns(to);
		const u64 after = clock_now_ns(from);

		if (after < before || after - before >= best)
			continue;
		best = after - before;
		distance = (s64)(other - (before + best / 2));
	}
	return distance;
}

int clock_poll(struct pollfd *fds, nfds_t n, int ms)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + (u64)MAX(ms, 0);
	int ready;

	while ((ready = poll(fds, n, ms)) < 0 && errno == EINTR) {
		const u64 now = clock_now_ms(CLOCK_MONOTONIC);

		if (ms >= 0)
			ms = now < until ? (int)(until - now) : 0;
	}
	return ready;
}
