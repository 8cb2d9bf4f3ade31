/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT arguments in odd places: global variables (relative to the instruction), floating point, at
 * two sites.
 */
#include <stdio.h>
#include <sys/sdt.h>

static volatile int counter = 41;
static volatile long other = -7;
static volatile double real = 1.5;

__attribute__((noinline)) static void second(void)
{
	__asm__ volatile("" ::: "memory");
	STAP_PROBE1(pantrace_test, moved, counter);
}

int main(void)
{
	counter++;
	STAP_PROBE1(pantrace_test, moved, counter);
	counter++;
	second();
	STAP_PROBE2(pantrace_test, mixed, other, real);
	printf("%d %ld\n", counter, other);
	return 0;
}
