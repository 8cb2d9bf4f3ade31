/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotplug FILE: two threads publish events for six seconds; how many goes to FILE. */
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;

static void *publish(void *arg)
{
	const unsigned long thread = (unsigned long)arg;
	unsigned long n = 0;

	for (; !stop; n++) {
		PANTRACE(hot, event, thread, n);
		if (n % 16 == 0)
			usleep(1000);
	}
	return (void *)n;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];
	unsigned long total = 0;
	FILE *file;

	for (unsigned long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, publish, (void *)i);
	sleep(6);
	stop = 1;
	for (int i = 0; i < 2; i++) {
		void *n;

		pthread_join(thread[i], &n);
		total += (unsigned long)n;
	}
	file = fopen(argv[argc - 1], "w");
	if (!file || fprintf(file, "%lu\n", total) < 0 || fclose(file))
		return 1;
	return 0;
}
