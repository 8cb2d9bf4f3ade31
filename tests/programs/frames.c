/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deep stacks of many shapes: library callbacks, aligned frames, alloca, a signal handler, a
 * plugin; ends in leaf().
 */
#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noipa))

static volatile int sink;

APART void leaf(int n)
{
	sink += n;
}

APART void aligned(int n)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[n & 63] = 1;
	leaf(n);
	sink += room[0];
}

APART void allocates(int n)
{
	char *p = alloca((size_t)n * 16 + 32);

	memset(p, n, (size_t)n * 16 + 32);
	aligned(n);
	sink += p[3];
}

APART int compare(const void *a, const void *b)
{
	allocates(3);
	return *(const int *)a - *(const int *)b;
}

APART void recurse(int depth)
{
	int two[2] = {2, 1};

	if (depth)
		recurse(depth - 1);
	else
		qsort(two, 2, sizeof(*two), compare);
	sink++;
}

APART void handler(int signo)
{
	recurse(3);
	sink += signo;
}

APART void raises(void)
{
	raise(SIGUSR1);
	sink++;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 3;

	signal(SIGUSR1, handler);
	for (long i = 0; i < rounds; i++) {
		leaf(1);
		recurse(2);
		raises();
		usleep(1000);
	}
	if (argc > 2) {
		void *plugin = dlopen(argv[2], RTLD_NOW);
		void (*call)(void (*)(int)) =
			plugin ? (void (*)(void (*)(int)))dlsym(plugin, "plugin_call") : NULL;

		usleep(argc > 3 ? (useconds_t)atol(argv[3]) * 1000
				: 300000); /* until a tracer knows it */
		if (call)
			call(allocates);
	}
	return 0;
}
