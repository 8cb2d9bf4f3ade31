/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads of the benchmarks.
 *	programs getppid N      N system calls; prints nanoseconds per call
 *	programs open N         N failing openat(2) of a 20-character name; prints nanoseconds per call
 *	programs forever        getppid until killed
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	double start = now();

	for (long i = 0; i < n || !strcmp(what, "forever"); i++) {
		if (!strcmp(what, "open"))
			syscall(SYS_openat, AT_FDCWD, "/nonexistent/file-20", O_RDONLY);
		else
			syscall(SYS_getppid);
	}
	printf("%.2f\n", (now() - start) / (double)(n ? n : 1));
	return 0;
}
