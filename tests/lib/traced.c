/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traced N [US]: N events of every kind of field, US microseconds apart, from two threads in turn.
 */
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int events, pause_us;

__attribute__((noinline)) void traced_work(int i)
{
	static const short numbers[] = {1, -2, 3};
	static const float halves[] = {1.5f, -2.25f};
	static unsigned char bytes[] = {0, 255};

	PANTRACE(traced, step, i, PT_NAMED(text, i % 3 ? "it's \"quoted\"\n" : "\001\x7f end?"));
	if (i % 10 == 0)
		PANTRACE(traced, every, i, PT_NAMED(bounded, PT_STRN("bounded text", 7)),
			 PT_NAMED(numbers, PT_SEQ(numbers, i % 4)),
			 PT_NAMED(halves, PT_SEQ(halves, 2)), PT_NAMED(bytes, PT_SEQ(bytes, 2)),
			 PT_NAMED(third, i / 3.0), PT_NAMED(pointer, (void *)0xabc0),
			 PT_NAMED(tiny, 1e-7f), PT_NAMED(yes, (_Bool)1),
			 PT_NAMED(big, 18446744073709551615ull), PT_NAMED(small, (signed char)-1));
	__asm__ volatile("" ::: "memory");
}

static void *run(void *arg)
{
	for (int i = 0; i < events / 2; i++) {
		traced_work(i);
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	events = argc > 1 ? atoi(argv[1]) : 10;
	pause_us = argc > 2 ? atoi(argv[2]) : 0;
	pthread_create(&thread, NULL, run, NULL);
	run(NULL);
	pthread_join(thread, NULL);
	return 0;
}
