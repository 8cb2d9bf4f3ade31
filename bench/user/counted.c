// SPDX-License-Identifier: MIT
/*
 * What an event costs that a script counts: each time the event is on, its cost is measured and
 * printed, until it is off again. With LTTng's event beside it, which is recorded.
 */
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
#endif

#define ROUNDS 201 /* short ones: on a busy machine some are undisturbed */

static const char *const urls[] = {"/index.html", "/a", "/images/logo.png", "/api/v1/users"};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) void ours(int i)
{
	PANTRACE(bench, counted, PT_NAMED(status, i), PT_NAMED(url, urls[i & 3]),
		 PT_NAMED(latency, (long)i * 17 & 0xfffff));
}

static __attribute__((noinline)) void lttngs(int i)
{
#ifdef LTTNG
	lttng_ust_tracepoint(bench_lttng, string, i, urls[i & 3]);
#else
	__asm__ volatile("" ::"r"(i));
#endif
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure(void (*event)(int), int n, double *ret_least)
{
	double ns[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		const double start = now_ns();

		for (int i = 0; i < n; i++)
			event(i);
		ns[round] = (now_ns() - start) / n;
	}
	qsort(ns, ROUNDS, sizeof(*ns), ascending);
	*ret_least = ns[0];
	return ns[ROUNDS / 2];
}

static __attribute__((noinline)) int is_on(void)
{
	return PANTRACE_ENABLED(bench, counted);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		double median[2], least[2];

		while (!is_on())
			usleep(1000);
		usleep(300000); /* whoever switched it on is ready */
		median[0] = measure(ours, 2000, &least[0]);
		median[1] = measure(lttngs, 2000, &least[1]);
		printf("%.1f %.1f %.1f %.1f\n", median[0], least[0], median[1], least[1]);
		while (is_on())
			usleep(1000);
		printf("off\n");
	}
}
