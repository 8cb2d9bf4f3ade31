// SPDX-License-Identifier: MIT
/*
 * Cost of an event that is off, ns added to the code around it: the tables of the LTTng paper of
 * 2008 again. hot: 16 sites in a loop of dependent work. cold: one site after its data line (what
 * the variant tests) was flushed, serialised. Then: 10,000 sites switched on at once.
 */
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define ROUNDS 200
#define LOOPS  2000

static volatile int flag __attribute__((aligned(64)));
static uint64_t sink;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) void empty_call(uint64_t x)
{
	__asm__ volatile("" ::"r"(x));
}

static __attribute__((noinline, cold)) void tested(uint64_t x)
{
	sink += x;
}

#define NONE	  (void)0
#define OURS	  PANTRACE(off, plain, x)
#define OURS_USDT PANTRACE_USDT(off, usdt, x, &sink)
#define TEST                                   \
	do {                                   \
		if (__builtin_expect(flag, 0)) \
			tested(x);             \
	} while (0)
#define EMPTY_CALL empty_call(x)
#define WORK	   x ^= x << 13, x ^= x >> 7, x ^= x << 17
#define X4(...)      \
	WORK;        \
	__VA_ARGS__; \
	WORK;        \
	__VA_ARGS__; \
	WORK;        \
	__VA_ARGS__; \
	WORK;        \
	__VA_ARGS__
#define X16(...)         \
	X4(__VA_ARGS__); \
	X4(__VA_ARGS__); \
	X4(__VA_ARGS__); \
	X4(__VA_ARGS__)

#define VARIANT(name, site)                                         \
	static __attribute__((noinline)) void hot_##name(void)      \
	{                                                           \
		uint64_t x = sink | 1;                              \
		for (int i = 0; i < LOOPS; i++) {                   \
			X16(site);                                  \
		}                                                   \
		sink = x;                                           \
	}                                                           \
	static __attribute__((noinline)) uint64_t cold_##name(void) \
	{                                                           \
		uint64_t x = sink, start, end;                      \
		_mm_clflush((const void *)&flag);                   \
		_mm_mfence();                                       \
		_mm_lfence();                                       \
		start = __rdtsc();                                  \
		_mm_lfence();                                       \
		site;                                               \
		_mm_lfence();                                       \
		end = __rdtsc();                                    \
		sink = x;                                           \
		return end - start;                                 \
	}
VARIANT(none, NONE)
VARIANT(ours, OURS)
VARIANT(usdt, OURS_USDT)
VARIANT(test, TEST)
VARIANT(call, EMPTY_CALL)

static const struct {
	const char *name;
	void (*hot)(void);
	uint64_t (*cold)(void);
} variants[] = {
	{"nothing", hot_none, cold_none},
	{"PANTRACE", hot_ours, cold_ours},
	{"PANTRACE_USDT, two arguments", hot_usdt, cold_usdt},
	{"load, test, branch", hot_test, cold_test},
	{"call of an empty function", hot_call, cold_call},
};
#define N (sizeof(variants) / sizeof(*variants))

#define SITE	PANTRACE(many, site, a);
#define TEN(s)	s s s s s s s s s s
#define TEN2(s) s s s s s s s s s s
#define TEN3(s) s s s s s s s s s s
#define TEN4(s) s s s s s s s s s s
static __attribute__((noinline)) void many(int a)
{
	TEN(TEN2(TEN3(TEN4(SITE))))
}

#define SWITCHES 11 /* the median of them */

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static uint64_t cold[N][ROUNDS * 10];
	double hot[N], ticks_per_ns;
	const uint64_t t0 = now(), c0 = __rdtsc();
	uint64_t start, cpu, on[SWITCHES], off[SWITCHES], cpu_on[SWITCHES];
	int sites = 0;

	while (now() - t0 < 20000000)
		;
	ticks_per_ns = (double)(__rdtsc() - c0) / (double)(now() - t0);
	for (size_t v = 0; v < N; v++)
		hot[v] = 1e9;
	for (int r = 0; r < ROUNDS; r++)
		for (size_t v = 0; v < N; v++) {
			double ns;

			start = now();
			variants[v].hot();
			ns = (double)(now() - start) / (16.0 * LOOPS);
			hot[v] = ns < hot[v] ? ns : hot[v];
			for (int i = 0; i < 10; i++)
				cold[v][r * 10 + i] = variants[v].cold();
		}
	printf("%-34s %12s %12s\n", "ns added by what is off", "hot", "data cold");
	for (size_t v = 0; v < N; v++) {
		qsort(cold[v], ROUNDS * 10, sizeof(uint64_t), ascending);
		printf("%-34s %12.2f %12.1f\n", variants[v].name, hot[v] - (v ? hot[0] : 0),
		       ((double)cold[v][ROUNDS * 5] - (v ? (double)cold[0][ROUNDS * 5] : 0)) /
			       ticks_per_ns);
	}
	if (pantrace_start(NULL))
		return 1;
	many(1);
	for (int i = 0; i < SWITCHES; i++) {
		start = now();
		cpu = cpu_now();
		sites = pantrace_enable("many:*");
		on[i] = now() - start;
		cpu_on[i] = cpu_now() - cpu;
		start = now();
		pantrace_disable("many:*");
		off[i] = now() - start;
	}
	qsort(on, SWITCHES, sizeof(*on), ascending);
	qsort(off, SWITCHES, sizeof(*off), ascending);
	qsort(cpu_on, SWITCHES, sizeof(*cpu_on), ascending);
	printf("%-34s %12.2f ms (of a CPU: %.2f)\n", "10,000 sites switched on",
	       (double)on[SWITCHES / 2] / 1e6, (double)cpu_on[SWITCHES / 2] / 1e6);
	printf("%-34s %12.2f ms\n", "and off", (double)off[SWITCHES / 2] / 1e6);
	return sites == 10000 ? 0 : 1;
}
