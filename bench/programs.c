/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads of the benchmarks.
 *	programs getppid N      N system calls; prints nanoseconds per call
 *	programs open N         N failing openat(2) of a 20-character name; prints nanoseconds per
 *                              call
 *	programs forever        getppid until killed
 *	programs paced N RATE   N calls of getppid, RATE each second; prints the rate that it came
 *                              to
 *	programs copy N         as dd bs=1 count=N from /dev/zero to /dev/null; prints its own CPU
 *                              time in seconds
 *	programs kill N         N signals 0 to itself; nanoseconds each
 *	programs spawn N        N times /bin/true, one after the other; nanoseconds each
 *	programs call N         N calls of the function bench_function; nanoseconds each
 *	programs read N FILE    N reads of 4 KiB, from the beginning again at the end; nanoseconds
 *                              each
 *	programs direct N FILE  the same past the page cache
 *	programs clock N        N reads of the clock (vdso); nanoseconds each
 *	programs lock N         N locked additions; nanoseconds each
 *	programs memory CMD...  runs the command; prints its peak memory in KiB (a parent that is
 *                              larger would count as its own: the kernel keeps the highest mark
 *                              across exec)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

/* In bursts of 100: a clock read for each call would be a good part of the work. */
static int paced(long n, double rate)
{
	const double start = now();

	for (long i = 0; i < n; i++) {
		while (i % 100 == 0 && now() - start < (double)i * 1e9 / rate)
			;
		syscall(SYS_getppid);
	}
	printf("%.0f\n", (double)n * 1e9 / (now() - start));
	return 0;
}

/*
 * CPU time, not wall time: on a machine that has other work to do, too, the one is what the tracer
 * costs, the other is not.
 */
static int copy(long n)
{
	const int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);
	struct rusage usage;
	char byte;

	for (long i = 0; i < n; i++)
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			return 1;
	getrusage(RUSAGE_SELF, &usage);
	printf("CPU %.3f\n",
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return 0;
}

__attribute__((noinline)) void bench_function(long n)
{
	__asm__ volatile("" : : "r"(n) : "memory");
}

static void spawn(void)
{
	char *const argv[] = {"true", NULL};
	pid_t pid;

	if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL))
		waitpid(pid, NULL, 0);
}

static int read_file(long n, const char *path, int flags)
{
	const int fd = open(path, O_RDONLY | flags);
	static char buffer[4096] __attribute__((aligned(4096)));
	const off_t pages = lseek(fd, 0, SEEK_END) / 4096;
	const double start = now();

	if (fd < 0 || pages < 1)
		return 1;
	for (long i = 0; i < n; i++)
		if (pread(fd, buffer, sizeof(buffer), i % pages * 4096) < 0)
			return 1;
	printf("%.2f\n", (now() - start) / (double)n);
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
	if (!strcmp(what, "paced") && argc > 3)
		return paced(n, atof(argv[3]));
	if (!strcmp(what, "copy"))
		return copy(n);
	if (!strcmp(what, "read") && argc > 3)
		return read_file(n, argv[3], 0);
	if (!strcmp(what, "direct") && argc > 3)
		return read_file(n, argv[3], O_DIRECT);
	for (long i = 0; i < n || !strcmp(what, "forever"); i++) {
		if (!strcmp(what, "open"))
			syscall(SYS_openat, AT_FDCWD, "/nonexistent/file-20", O_RDONLY);
		else if (!strcmp(what, "clock"))
			now();
		else if (!strcmp(what, "lock"))
			__atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
		else if (!strcmp(what, "kill"))
			kill(getpid(), 0);
		else if (!strcmp(what, "spawn"))
			spawn();
		else if (!strcmp(what, "call"))
			bench_function(i);
		else
			syscall(SYS_getppid);
	}
	/* The tracer may have written half a line into the same pipe. */
	printf("\n%.2f\n", (now() - start) / (double)(n ? n : 1));
	return 0;
}
