/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawn N PROGRAM ARGS...: runs PROGRAM ARGS... i N times, short-lived, eight at once; i is the
 * last argument.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[1]) : 0;
	char number[32], *args[64] = {0};
	int live = 0;

	for (int i = 2; i < argc && i < 62; i++)
		args[i - 2] = argv[i];
	for (long i = 0; i < n; i++) {
		pid_t pid;

		snprintf(number, sizeof(number), "%ld", i);
		args[argc - 2] = number;
		if (posix_spawn(&pid, argv[2], NULL, NULL, args, environ))
			return 1;
		if (++live == 8) {
			wait(NULL);
			live--;
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
