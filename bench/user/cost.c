// SPDX-License-Identifier: MIT
/*
 * A program whose events others switch on: for each line of input it says what an event of one int
 * costs then, ns: median and least of short rounds.
 */
#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
#define EVENT(i) lttng_ust_tracepoint(bench_lttng, one, i)
#else
#include <pantrace/pantrace.h>
#define EVENT(i) PANTRACE(bench, cost, i)
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 501
#define EVENTS 1000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void emit(int n)
{
	for (int i = 0; i < n; i++)
		EVENT(i);
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double ns[ROUNDS];
	cpu_set_t set;
	char c;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (read(0, &c, 1) == 1) {
		emit(300000); /* every page of the rings is touched */
		for (int i = 0; i < ROUNDS; i++) {
			const double from = now();

			emit(EVENTS);
			ns[i] = (now() - from) / EVENTS;
		}
		qsort(ns, ROUNDS, sizeof(double), ascending);
		printf("%.2f %.2f\n", ns[ROUNDS / 2], ns[0]);
		fflush(stdout);
	}
	return 0;
}
