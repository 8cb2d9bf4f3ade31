// SPDX-License-Identifier: MIT
/*
 * copy FILE: ways of the bytes of a ring (16 MiB of shared memory) into a new file, GB a second of
 * CPU time, median of five times 512 MiB each.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MB    (1ul << 20)
#define RING  (16 * MB)
#define SUB   (2 * MB)
#define TOTAL (512 * MB)

static char *ring;
static int ring_fd;

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void by_write(int fd)
{
	for (size_t i = 0; i < TOTAL; i += SUB)
		if (write(fd, ring + i % RING, SUB) != (ssize_t)SUB)
			exit(1);
}

static void by_splice(int fd)
{
	int pipes[2];

	if (pipe(pipes) || fcntl(pipes[1], F_SETPIPE_SZ, MB) < 0)
		exit(1);
	for (size_t i = 0; i < TOTAL;) {
		loff_t from = (loff_t)(i % RING);
		ssize_t in = splice(ring_fd, &from, pipes[1], NULL, MB, 0);

		if (in <= 0)
			exit(1);
		i += (size_t)in;
		while (in > 0) {
			const ssize_t out =
				splice(pipes[0], NULL, fd, NULL, (size_t)in, SPLICE_F_MOVE);

			if (out <= 0)
				exit(1);
			in -= out;
		}
	}
	close(pipes[0]);
	close(pipes[1]);
}

static char *mapped(int fd)
{
	char *map = ftruncate(fd, (off_t)TOTAL)
			    ? MAP_FAILED
			    : mmap(NULL, TOTAL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		exit(1);
	return map;
}

static void by_map(int fd)
{
	char *map = mapped(fd);

	for (size_t i = 0; i < TOTAL; i += SUB)
		memcpy(map + i, ring + i % RING, SUB);
	munmap(map, TOTAL);
}

/* What a ring that is handed over, file by file, would need: new memory, zeroed by the kernel. */
static void new_memory(int fd)
{
	char *map = mapped(fd);

	if (madvise(map, TOTAL, MADV_POPULATE_WRITE))
		exit(1);
	munmap(map, TOTAL);
}

static const struct way {
	const char *name;
	void (*fn)(int fd);
} ways[] = {
	{"write()", by_write},
	{"splice() through a pipe", by_splice},
	{"memcpy() into a mapping", by_map},
	{"new memory alone, nothing copied", new_memory},
};

#define NR (sizeof(ways) / sizeof(*ways))

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double rate[NR][5];

	ring_fd = memfd_create("ring", MFD_CLOEXEC);
	if (argc != 2 || ring_fd < 0 || ftruncate(ring_fd, (off_t)RING))
		return 1;
	ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	if (ring == MAP_FAILED)
		return 1;
	memset(ring, 1, RING);
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < NR; i++) {
			const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			double from = cpu_now();

			if (fd < 0)
				return 1;
			ways[i].fn(fd);
			rate[i][round] = (double)TOTAL / (cpu_now() - from) / 1e9;
			close(fd);
			unlink(argv[1]);
		}
	printf("%-38s %8s\n", "GB a second of CPU, to tmpfs", "median");
	for (size_t i = 0; i < NR; i++) {
		qsort(rate[i], 5, sizeof(double), ascending);
		printf("%-38s %8.2f\n", ways[i].name, rate[i][2]);
	}
	return 0;
}
