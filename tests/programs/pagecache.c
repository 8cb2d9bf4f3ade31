/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pagecache FILE READY GO MODE...: uses the page cache in known ways, one after the other, and
 * prints how many pages it found there and how many it did not ("hits misses"), which the kernel is
 * asked before each access: cachestat(2), or before Linux 6.5 mincore(2). HELD_BY: the file below,
 * if FILE is on a file system that has no pages of its own (overlay). Makes the file READY when it
 * is prepared, begins when there is a file GO.
 *
 *	cold	the file's pages are thrown away
 *	bytes	read, a page at a time (with read-ahead)
 *	whole	read at once, more than there is
 *	some	pread of every third page without read-ahead
 *	ahead	readahead(2) of the first half
 *	map	each page of a new mapping is touched; a page fault is an access
 *	direct	read with O_DIRECT: no access of the cache
 *	send	sendfile to /dev/null
 *	write	the first half is written
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	      4096
#define SYS_CACHESTAT 451

static int fd, direct, null, held; /* held: the file that has the pages */
static size_t size, pages;
static unsigned char *mapped, *buffer, *residency;
static size_t hits, misses;

static size_t in_cache(size_t first, size_t n)
{
	struct {
		uint64_t offset, len;
	} range = {first * PAGE, n * PAGE};
	uint64_t stat[5];
	size_t found = 0;

	if (!syscall(SYS_CACHESTAT, held, &range, stat, 0))
		return stat[0];
	usleep(20000); /* mincore() does not see pages that are still being read */
	mincore(mapped + first * PAGE, n * PAGE, residency);
	for (size_t i = 0; i < n; i++)
		found += residency[i] & 1;
	return found;
}

static void expect(size_t first, size_t n)
{
	const size_t found = in_cache(first, n);

	hits += found;
	misses += n - found;
}

static void cold(void)
{
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void bytes(void)
{
	lseek(fd, 0, SEEK_SET);
	for (size_t i = 0; i < pages; i++) {
		expect(i, 1);
		if (read(fd, buffer, PAGE) <= 0)
			exit(1);
	}
}

static void whole(void)
{
	lseek(fd, 0, SEEK_SET);
	expect(0, pages);
	if (read(fd, buffer, size + 10 * PAGE) != (ssize_t)size)
		exit(1);
}

static void some(void)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (size_t i = 0; i < pages; i += 3) {
		expect(i, 1);
		if (pread(fd, buffer, 100, (off_t)(i * PAGE)) <= 0)
			exit(1);
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
}

static void ahead(void)
{
	readahead(fd, 0, pages / 2 * PAGE);
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt + u.ru_majflt;
}

static void map(void)
{
	volatile unsigned char *m = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	for (size_t i = 0; i < pages; i++) {
		const size_t found = in_cache(i, 1);
		const long before = faults();
		const unsigned char byte = m[i * PAGE];

		(void)byte;
		if (faults() == before)
			continue;
		hits += found;
		misses += 1 - found;
	}
	munmap((void *)m, size);
}

static void without_cache(void)
{
	lseek(direct, 0, SEEK_SET);
	while (read(direct, buffer, 16 * PAGE) > 0)
		;
}

static void send_all(void)
{
	off_t at = 0;

	/* A pipe lies between, which takes 16 pages at a time. */
	for (size_t i = 0; i < pages; i += 16) {
		const size_t n = pages - i < 16 ? pages - i : 16;

		expect(i, n);
		if (sendfile(null, fd, &at, 16 * PAGE) <= 0)
			exit(1);
	}
}

static void write_half(void)
{
	if (pwrite(fd, buffer, pages / 2 * PAGE, 0) <= 0)
		exit(1);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"cold", cold},	       {"bytes", bytes}, {"whole", whole},	    {"some", some},
	{"ahead", ahead},      {"map", map},	 {"direct", without_cache}, {"send", send_all},
	{"write", write_half},
};

int main(int argc, char **argv)
{
	off_t end;

	if (argc < 5)
		return 2;
	fd = open(argv[1], O_RDWR);
	direct = open(argv[1], O_RDONLY | O_DIRECT);
	null = open("/dev/null", O_WRONLY);
	held = getenv("HELD_BY") ? open(getenv("HELD_BY"), O_RDONLY) : fd;
	end = lseek(fd, 0, SEEK_END);
	if (fd < 0 || null < 0 || end <= 0)
		return 1;
	size = (size_t)end;
	pages = (size + PAGE - 1) / PAGE;
	mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	buffer = aligned_alloc(PAGE, (pages + 16) * PAGE);
	residency = calloc(pages + 1, 1);
	memset(buffer, 1, (pages + 16) * PAGE);
	/* No page of this program comes in while it is counted; of the file none is mapped. */
	mprotect(mapped, size, PROT_NONE);
	mlockall(MCL_CURRENT);
	mprotect(mapped, size, PROT_READ);
	munlock(mapped, size);
	close(open(argv[2], O_CREAT | O_WRONLY, 0644));
	while (access(argv[3], F_OK))
		usleep(10000);
	for (int i = 4; i < argc; i++)
		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
			if (!strcmp(argv[i], modes[m].name))
				modes[m].run();
	dprintf(1, "%zu %zu\n", hits, misses);
	usleep(700000); /* for a tool that looks at it in intervals */
	_exit(0);
}
