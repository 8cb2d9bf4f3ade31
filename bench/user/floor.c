// SPDX-License-Identifier: MIT
/*
 * What stands between two readings of the clock, ns: which work rdtsc hides, and which it waits
 * for. Median and least of the rounds.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 101
#define N      100000

static uint64_t sink;
static uint64_t chain[64] __attribute__((aligned(64))); /* each points to the first */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define CLOCK	  "rdtsc\n shlq $32, %%rdx\n orq %%rdx, %%rax\n movq %%rax, %0\n"
#define BEGIN	  "movq %1, %%r8\n"
#define LOAD	  "movq (%%r8), %%r8\n"
#define MUL	  "imulq %%r8, %%r8\n"
#define ADDS	  "addq $1, %%r9\n addq $1, %%r10\n addq $1, %%r11\n addq $1, %%rcx\n"
#define FOUR(x)	  x x x x
#define TWELVE(x) FOUR(x) FOUR(x) FOUR(x)
#define BODY(name, text)                                                                  \
	static __attribute__((noinline)) void name(void)                                  \
	{                                                                                 \
		for (int i = 0; i < N; i++)                                               \
			__asm__ volatile(text                                             \
					 : "+m"(sink)                                     \
					 : "r"(chain)                                     \
					 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", \
					   "memory", "cc");                               \
	}

BODY(nothing, "")
BODY(clock_only, CLOCK)
BODY(clock_fenced, "lfence\n" CLOCK)
BODY(loads2, CLOCK BEGIN LOAD LOAD)
BODY(loads4, CLOCK BEGIN FOUR(LOAD))
BODY(loads8, CLOCK BEGIN FOUR(LOAD) FOUR(LOAD))
BODY(loads8_before, BEGIN FOUR(LOAD) FOUR(LOAD) CLOCK)
BODY(muls8, CLOCK BEGIN FOUR(MUL) FOUR(MUL))
BODY(adds16, CLOCK FOUR(ADDS))
BODY(adds32, CLOCK FOUR(ADDS) FOUR(ADDS))
BODY(nops24, CLOCK TWELVE("nop\n nop\n"))
BODY(nops48, CLOCK TWELVE("nop\n nop\n nop\n nop\n"))
BODY(branches12, CLOCK TWELVE("testq %%rsp, %%rsp\n jz 1f\n") "1:\n")
BODY(taken12, CLOCK TWELVE("jmp 1f\n .skip 8, 0x90\n 1:\n"))

static const struct row {
	const char *name;
	void (*fn)(void);
} rows[] = {
	{"nothing", nothing},
	{"clock", clock_only},
	{"clock behind lfence", clock_fenced},
	{"clock, 2 loads, each of the last", loads2},
	{"clock, 4 loads", loads4},
	{"clock, 8 loads", loads8},
	{"8 loads, clock", loads8_before},
	{"clock, 8 multiplications", muls8},
	{"clock, 16 additions, 4 abreast", adds16},
	{"clock, 32 additions, 4 abreast", adds32},
	{"clock, 24 instructions that do nothing", nops24},
	{"clock, 48 of them", nops48},
	{"clock, 12 branches, none taken", branches12},
	{"clock, 12 branches, all taken", taken12},
};

#define NR_ROWS (sizeof(rows) / sizeof(*rows))

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double ns[NR_ROWS][ROUNDS];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < 64; i++)
		chain[i] = (uint64_t)chain;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < NR_ROWS; i++) {
			const double from = now();

			rows[i].fn();
			ns[i][round] = (now() - from) / N;
		}
	printf("%-38s %8s %8s\n", "ns between two readings", "median", "least");
	for (size_t i = 0; i < NR_ROWS; i++) {
		qsort(ns[i], ROUNDS, sizeof(double), ascending);
		printf("%-38s %8.2f %8.2f\n", rows[i].name, ns[i][ROUNDS / 2], ns[i][0]);
	}
	return 0;
}
