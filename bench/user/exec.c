// SPDX-License-Identifier: MIT
/*
 * Time of a program that starts and ends at once, ms: median and quartiles of alternating rounds.
 *
 *   exec ROUNDS NAME=PROGRAM...		NAME=VAR=VALUE:PROGRAM sets a variable for it
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAMS 16

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double run(const char *program, char *variable)
{
	char *const argv[] = {(char *)program, NULL}, *const with[] = {variable, NULL},
		    *const none[] = {NULL};
	const double start = now();
	int status = -1;
	pid_t pid;

	if (!posix_spawn(&pid, program, NULL, NULL, argv, variable ? with : none))
		waitpid(pid, &status, 0);
	if (status) {
		fprintf(stderr, "exec: %s failed\n", program);
		exit(1);
	}
	return now() - start;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 2 ? atoi(argv[1]) : 0;
	char *variable[PROGRAMS] = {NULL}, *program[PROGRAMS];
	double *ms[PROGRAMS];

	if (rounds < 4 || argc - 2 > PROGRAMS)
		return 2;
	for (int i = 2; i < argc; i++) {
		char *const equals = strchr(argv[i], '=');
		char *const colon = equals ? strchr(equals, ':') : NULL;

		if (!equals)
			return 2;
		*equals = 0;
		program[i - 2] = equals + 1;
		if (colon) {
			*colon = 0;
			variable[i - 2] = equals + 1;
			program[i - 2] = colon + 1;
		}
		ms[i - 2] = calloc((size_t)rounds, sizeof(double));
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < argc - 2; i++)
			ms[i][round] = run(program[i], variable[i]);
	printf("%-38s %8s %8s %8s\n", "ms a program, start to end", "median", "quarter",
	       "3 quart.");
	for (int i = 0; i < argc - 2; i++) {
		qsort(ms[i], (size_t)rounds, sizeof(double), ascending);
		printf("%-38s %8.3f %8.3f %8.3f\n", argv[i + 2], ms[i][rounds / 2],
		       ms[i][rounds / 4], ms[i][rounds * 3 / 4]);
		free(ms[i]);
	}
	return 0;
}
