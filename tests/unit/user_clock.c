/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of sessions, beside the system's own: what the rate says of a stretch of time. */
#include "tap.h"
#include "user/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static unsigned long long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* The counter and the clock at one moment: the tightest of many. */
static void moment(unsigned long long *ret_tsc, unsigned long long *ret_ns)
{
	unsigned long long best = ~0ull;

	for (int i = 0; i < 100; i++) {
		const unsigned long long before = __rdtsc(), ns = now_ns(CLOCK_MONOTONIC),
					 after = __rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		*ret_tsc = before + best / 2;
		*ret_ns = ns;
	}
}

/* How far off a clock of this rate and place is now, in ns. */
static double error_ns(const struct pt_clock *clock)
{
	unsigned long long tsc = 0, ns = 0;

	moment(&tsc, &ns);
	return (double)clock->monotonic_ns +
	       ((double)tsc - (double)clock->tsc) * 1e9 / (double)clock->tsc_hz - (double)ns;
}

static void put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	fputs(text, f);
	fclose(f);
}

int main(void)
{
	char directory[] = "/tmp/pantrace-clock.XXXXXX", file[64], text[256] = "";
	struct pt_clock rough, fine, again;
	unsigned long long real;
	double error;
	FILE *f;

	if (!mkdtemp(directory))
		return 1;
	snprintf(file, sizeof(file), "%s/clock", directory);
	user_clock_read(directory, &rough);
	ok(!access(file, R_OK), "the first reading is kept");
	ok(rough.tsc_hz > 500000000 && rough.tsc_hz < 10000000000, "a rate: %llu",
	   (unsigned long long)rough.tsc_hz);
	sleep(2);
	real = now_ns(CLOCK_REALTIME);
	user_clock_read(directory, &fine);
	ok(fine.realtime_ns + 1000000000 > real &&
		   fine.realtime_ns < now_ns(CLOCK_REALTIME) + 1000000000,
	   "real time");
	ok(llabs((long long)(fine.tsc_hz - rough.tsc_hz)) < (long long)rough.tsc_hz / 1000,
	   "both rates agree: %llu, %llu", (unsigned long long)rough.tsc_hz,
	   (unsigned long long)fine.tsc_hz);
	sleep(2);
	error = error_ns(&fine);
	ok(error < 20000 && error > -20000, "after two seconds the clock is %.0f ns off", error);
	user_clock_read(directory, &again);
	ok(llabs((long long)(fine.tsc_hz - again.tsc_hz)) < (long long)fine.tsc_hz / 500000,
	   "and the rate is the same: %llu", (unsigned long long)again.tsc_hz);
	/* what anybody else could have left there */
	f = fopen(file, "r");
	if (f && fgets(text, sizeof(text), f))
		text[36] = '\0';
	if (f)
		fclose(f);
	for (int i = 0; i < 4; i++) {
		char bad[400];
		const char *const lines[] = {"garbage", "", "%s 1 1 0\n",
					     "%s 99999999999999999999 1 x\n"};

		snprintf(bad, sizeof(bad), "%s", lines[i]);
		if (strchr(bad, '%'))
			snprintf(bad, sizeof(bad),
				 i == 2 ? "%s 1 1 0\n" : "%s 18446744073709551615 1 x\n", text);
		put(file, bad);
		user_clock_read(directory, &again);
		ok(llabs((long long)(fine.tsc_hz - again.tsc_hz)) < (long long)fine.tsc_hz / 1000,
		   "a bad file (%d) does no harm", i);
	}
	unlink(file);
	rmdir(directory);
	return tap_done();
}
