/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A known number of calls of known functions with known arguments.
 *	calls N [THREADS]   each thread calls work(i, "item-i", &record) N times
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct record {
	int id;
	char name[16];
	struct {
		uint16_t low;
		uint16_t high;
	} range;
	unsigned int flag : 3, kind : 5;
	int64_t values[4];
};

long global_total = 7;

__attribute__((noinline)) int work(int number, const char *text, struct record *record,
				   int8_t small, uint64_t wide, int sixth, int seventh)
{
	__asm__ volatile("" ::: "memory");
	global_total += number;
	return number * 2 + text[0] + record->id + small + (int)wide + sixth + seventh;
}

__attribute__((noinline)) int64_t negative(int64_t value)
{
	__asm__ volatile("" ::: "memory");
	return -value;
}

static long count;

static void *run(void *arg)
{
	long sum = 0;

	for (long i = 0; i < count; i++) {
		struct record record = {(int)i, "", {(uint16_t)i, 99}, 5, 17, {i, -i, i * i, 42}};
		char text[32];

		snprintf(text, sizeof(text), "item-%ld", i);
		snprintf(record.name, sizeof(record.name), "rec-%ld", i);
		sum += work((int)i, text, &record, -3, 0xfedcba9876543210u, 66, 77);
		sum += negative(i);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t ids[64];

	count = argc > 1 ? atol(argv[1]) : 1;
	for (int i = 1; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	run(NULL);
	for (int i = 1; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
