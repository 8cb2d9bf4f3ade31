// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/timex.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/clock.h"
#include "base/file.h"

#define LEAST_NS \
	500000000ull /* over which two readings of some 20 ns give a rate to 0.1 millionths */
#define ASLEEP_NS 1000000ull /* the two clocks that tell are read one after the other */
#define CHECK_NS  100000ull /* over which they give it to 500 */

/* Both clocks at one moment. */
struct reading {
	u64 tsc, raw_ns, monotonic_ns, realtime_ns;
	u64 asleep_ns; /* the machine, since it was booted: a counter may have gone on, or begun
			  anew */
	char boot[37];
};

/* The tightest of a few: an interrupt in between would shift the clocks. */
static void read_now(struct reading *ret)
{
	u64 best = UINT64_MAX;

	for (int i = 0; i < 7; i++) {
		const u64 before = __rdtsc();
		const u64 raw = clock_now_ns(CLOCK_MONOTONIC_RAW);
		const u64 middle = __rdtsc();
		const u64 monotonic = clock_now_ns(CLOCK_MONOTONIC);
		const u64 realtime = clock_now_ns(CLOCK_REALTIME);
		const u64 after = __rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		ret->tsc = before + (middle - before) / 2;
		ret->raw_ns = raw;
		/* all of the one moment: within a microsecond the rates do not matter */
		ret->monotonic_ns = monotonic;
		ret->realtime_ns = realtime;
	}
}

static bool boot_read(char ret[37])
{
	char *text;
	size_t len;

	if (file_read("/proc/sys/kernel/random/boot_id", 64, &text, &len))
		return false;
	snprintf(ret, 37, "%.36s", text);
	free(text);
	return strlen(ret) == 36;
}

/* Ticks a second of CLOCK_MONOTONIC_RAW, or 0. */
static u64 rate_between(const struct reading *from, const struct reading *to)
{
	if (to->tsc <= from->tsc || to->raw_ns <= from->raw_ns)
		return 0;
	return (u64)((unsigned __int128)(to->tsc - from->tsc) * 1000000000u /
		     (to->raw_ns - from->raw_ns));
}

static bool near(u64 a, u64 b, u64 most)
{
	return (a > b ? a - b : b - a) < most;
}

/* The rate that the clocks show now is the one that they had since FROM. */
static bool plausible(u64 rate)
{
	struct reading from = {0}, to = {0};
	u64 now;

	read_now(&from);
	do
		read_now(&to);
	while (to.raw_ns - from.raw_ns < CHECK_NS);
	now = rate_between(&from, &to);
	return now && near(now, rate, rate / 1000);
}

static bool file_get(const char *file, struct reading *ret)
{
	char *text;
	size_t len;
	bool good;

	if (file_read(file, 256, &text, &len))
		return false;
	good = sscanf(text, "%36s %" SCNu64 " %" SCNu64 " %" SCNu64, ret->boot, &ret->tsc,
		      &ret->raw_ns, &ret->asleep_ns) == 4;
	free(text);
	return good;
}

static void file_put(const char *file, const struct reading *reading)
{
	char *temporary = xasprintf("%s.%d", file, (int)getpid());
	const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	char text[160];
	const int n = snprintf(text, sizeof(text), "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       reading->boot, reading->tsc, reading->raw_ns, reading->asleep_ns);

	if (fd >= 0) {
		if (write_all(fd, text, (size_t)n) || rename(temporary, file))
			unlink(temporary);
		close(fd);
	}
	free(temporary);
}

/* CLOCK_MONOTONIC is steered: so many ticks to its second. */
static u64 rate_steered(u64 rate)
{
	struct timex timex = {.modes = 0};
	__int128 parts; /* of 2^16 millionths */

	if (adjtimex(&timex) < 0)
		return rate;
	/* freq: millionths times 2^16; tick: microseconds a hundredth of a second, 10,000 by nature
	 */
	parts = (__int128)timex.freq + ((__int128)(timex.tick - 10000) * 100 << 16);
	if (parts > 1000 << 16 || parts < -(1000 << 16))
		return rate;
	return (u64)((__int128)rate * ((__int128)1000000 << 16) /
		     (((__int128)1000000 << 16) + parts));
}

void user_clock_read(const char *directory, struct pt_clock *ret)
{
	char *file = xasprintf("%s/clock", directory);
	struct reading before = {0}, now = {0};
	bool same;
	u64 rate;

	read_now(&now);
	now.asleep_ns = clock_now_ns(CLOCK_MONOTONIC);
	now.asleep_ns = clock_now_ns(CLOCK_BOOTTIME) - now.asleep_ns;
	if (!boot_read(now.boot))
		goto out;
	same = file_get(file, &before) && str_eq(before.boot, now.boot) &&
	       near(before.asleep_ns, now.asleep_ns, ASLEEP_NS) && before.tsc < now.tsc &&
	       before.raw_ns < now.raw_ns;
	if (same && now.raw_ns - before.raw_ns < LEAST_NS)
		goto out;
	rate = same ? rate_between(&before, &now) : 0;
	if (rate && plausible(rate)) {
		*ret = (struct pt_clock){.tsc_hz = rate_steered(rate),
					 .tsc = now.tsc,
					 .monotonic_ns = now.monotonic_ns,
					 .realtime_ns = now.realtime_ns};
		free(file);
		return;
	}
	file_put(file, &now);
out:
	pt_clock_read(ret, true);
	free(file);
}
