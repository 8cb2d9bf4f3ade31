/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads of the benchmarks.
 *	programs getppid N      N system calls; prints nanoseconds per call
 *	programs open N         N failing openat(2) of a 20-character name; prints nanoseconds per call
 *	programs forever        getppid until killed
 *	programs clock N        N reads of the clock (vdso); nanoseconds each
 *	programs lock N         N locked additions; nanoseconds each
 *	programs memory CMD...  runs the command; prints its peak memory in KiB (a parent that is larger would count
 *	                        as its own: the kernel keeps the highest mark across exec)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int memory(char **argv)
{
	const pid_t child = fork();
	struct rusage usage;
	int status;

	if (!child) {
		freopen("/dev/null", "w", stdout);
		freopen("/dev/null", "w", stderr);
		execv(argv[0], argv);
		_exit(127);
	}
	wait4(child, &status, 0, &usage);
	printf("%ld\n", usage.ru_maxrss);
	return 0;
}

int main(int argc, char **argv)
{
	static long counter;
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	double start = now();

	if (!strcmp(what, "memory") && argc > 2)
		return memory(argv + 2);
	for (long i = 0; i < n || !strcmp(what, "forever"); i++) {
		if (!strcmp(what, "open"))
			syscall(SYS_openat, AT_FDCWD, "/nonexistent/file-20", O_RDONLY);
		else if (!strcmp(what, "clock"))
			now();
		else if (!strcmp(what, "lock"))
			__atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
		else
			syscall(SYS_getppid);
	}
	printf("%.2f\n", (now() - start) / (double)(n ? n : 1));
	return 0;
}
