// SPDX-License-Identifier: MIT
/*
 * The memory of rings is had before events write to it: a write that a full file system has no room
 * for is a SIGBUS of the program, and an event makes no system call. A ring may be written up to
 * `had` (ring.h), which is moved here alone:
 *
 *	when the rings are made		FIRST_ALL bytes in all, by whoever makes them: they are
 *					reserved only, for somebody waits
 *	a second later			of a process that says nothing all but IDLE_ALL bytes is
 *					given back; all further steps are the helper's (control.c)
 *	once it says something		READY bytes of each ring, for threads go from CPU to CPU
 *	as a ring is used		AHEAD bytes more than what is written
 *
 * An event that comes before its memory is lost, and counted. Tables (aggregate_session.c) are had
 * in the same way.
 */
#include "aggregate_session.h"
#include "session.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096ull
#define FIRST_ALL (4ull << 20)
#define IDLE_ALL  (128ull << 10)
#define LEAST	  (8ull << 10) /* of a ring */
#define READY	  (256ull << 10)
#define AHEAD	  (4ull << 20)
/* events may write to the part that exists, before all of it does */
#define STEP	 (256ull << 10)
#define PIECE	 (64ull << 10) /* of a file, allocated between two signals */
#define BEHIND	 512ull /* bytes that an event may write beyond the end that it compares with */
#define YOUNG_NS 1000000000ull
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

_Static_assert(offsetof(struct pantrace_ring, had) == 48, "section.h, emit.c");

void pt_memory_stand_in(void *at, size_t size)
{
	void *const got =
		mmap(at, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

	if (got != MAP_FAILED && got != at) /* before Linux 4.17: there is something by now */
		munmap(got, size);
}

/* ---- files ---- */

int pt_file_size_set(int fd, uint64_t size)
{
	struct rlimit limit;

	/* beyond the limit the kernel would send SIGXFSZ */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    size > limit.rlim_cur)
		return -EFBIG;
	return ftruncate(fd, (off_t)size) ? -errno : 0;
}

int pt_file_allocate(int fd, uint64_t from, uint64_t n)
{
	const uint64_t end = from + n;

	while (from < end) {
		const uint64_t piece = end - from < PIECE ? end - from : PIECE;

		if (!syscall(SYS_fallocate, fd, 0, (long)from, (long)piece))
			from += piece;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

bool pt_memory_reserve(void *from, size_t n)
{
	char *const start = (char *)((uintptr_t)from & ~(PAGE - 1));
	const int saved = errno;
	int rc;

	do {
		rc = madvise(start, n + (size_t)((char *)from - start), MADV_POPULATE_WRITE);
	} while (rc && (errno == EINTR || errno == EAGAIN));
	errno = saved;
	return !rc;
}

/* The free space of FD's file system. */
static uint64_t room_of(int fd)
{
	struct statfs fs;

	/* f_blocks is 0: no limit, as for memory files */
	if (fstatfs(fd, &fs) || !fs.f_blocks)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

/* Allocates N bytes of the file at FROM, mapped at SHM, so that later writes succeed. */
static int file_reserve(int fd, struct pantrace_shm *shm, uint64_t from, uint64_t n)
{
	const int rc = pt_file_allocate(fd, from, n);

	if (rc != -EOPNOTSUPP)
		return rc;
	return pt_memory_reserve((char *)shm + from, n) ? 0 : -ENOSPC;
}

/* ---- rings ---- */

static uint64_t ring_size(const struct pantrace_shm *shm)
{
	return (uint64_t)shm->nr_subs * shm->sub_size;
}

static struct pantrace_ring *ring_at(struct pantrace_shm *shm, uint32_t i)
{
	return (struct pantrace_ring *)((char *)shm + shm->ring_off) + i;
}

static char *data_at(struct pantrace_shm *shm, uint32_t i)
{
	return (char *)shm + shm->data_off + i * ring_size(shm);
}

/* A ring's share of ALL bytes. */
static uint64_t share(const struct pantrace_shm *shm, uint64_t all)
{
	const uint64_t part = (all / shm->nr_rings) & ~(PAGE - 1);
	const uint64_t most = ring_size(shm);

	return part > most ? most : part > LEAST ? part : LEAST;
}

static uint64_t had_of(const struct pantrace_ring *ring)
{
	return __atomic_load_n(&ring->had, __ATOMIC_ACQUIRE);
}

static uint64_t used_of(const struct pantrace_ring *ring)
{
	return __atomic_load_n(&ring->position, __ATOMIC_ACQUIRE);
}

/* Records that the first N bytes are allocated. */
static void had_set(const struct pantrace_shm *shm, struct pantrace_ring *ring, uint64_t n)
{
	__atomic_store_n(&ring->had, n >= ring_size(shm) ? UINT64_MAX : n - BEHIND,
			 __ATOMIC_SEQ_CST);
}

int pt_memory_begin(int fd, struct pantrace_shm *shm, const struct pantrace_shm *header)
{
	const uint64_t meta = (header->meta_used + PAGE) & ~(PAGE - 1);
	const uint64_t room = room_of(fd) / 4; /* for others, too */
	const uint64_t most = header->parent ? FIRST_ALL / 4 : FIRST_ALL; /* children are many */
	const uint64_t first = share(header, room < most ? room : most);
	struct pantrace_ring *const rings =
		(struct pantrace_ring *)((char *)shm + header->ring_off);
	int rc;

	if (!pt_memory_reserve(shm, header->meta_off)) {
		/*
		 * not supported, or the kernel is older than 5.14 and can only allocate everything
		 * at once
		 */
		rc = pt_file_allocate(fd, 0, header->file_size);
		if (rc)
			return rc;
		for (uint32_t i = 0; i < header->nr_rings; i++)
			rings[i].had = UINT64_MAX;
		return 1;
	}
	rc = file_reserve(fd, shm, header->meta_off, meta);
	for (uint32_t i = 0; i < header->nr_rings && !rc; i++) {
		const uint64_t from = header->data_off + i * ring_size(header);

		rc = file_reserve(fd, shm, from, first);
		had_set(header, &rings[i], first);
	}
	return rc;
}

/* Allocates the ring up to N bytes. False: there is no room. */
static bool extend(struct pantrace_shm *shm, uint32_t i, uint64_t n)
{
	struct pantrace_ring *const ring = ring_at(shm, i);
	const uint64_t all = ring_size(shm);

	n = n > all ? all : n;
	while (had_of(ring) < n) {
		const uint64_t from = had_of(ring) + BEHIND;
		const uint64_t to = from + STEP > n ? n : from + STEP;

		if (from >= to)
			return true;
		if (!pt_memory_reserve(data_at(shm, i) + from, to - from))
			return false;
		had_set(shm, ring, to);
	}
	return true;
}

/*
 * Frees what is after the first KEEP bytes. A writer that has seen the old `had` is in a critical
 * section, which restarts, or has claimed the ring.
 */
static void give_back(const struct pt_settings *set, struct pantrace_shm *shm, uint32_t i,
		      uint64_t keep)
{
	struct pantrace_ring *const ring = ring_at(shm, i);
	const uint64_t had = had_of(ring);

	had_set(shm, ring, keep);
	if (!set->per_thread &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0)) {
		__atomic_store_n(&ring->had, had, __ATOMIC_RELEASE);
		return;
	}
	if (__atomic_load_n(&ring->position, __ATOMIC_SEQ_CST) > keep - BEHIND ||
	    __atomic_load_n(&ring->owner, __ATOMIC_SEQ_CST) ||
	    madvise(data_at(shm, i) + keep, ring_size(shm) - keep, MADV_REMOVE))
		__atomic_store_n(&ring->had, had, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* A thread with the id of one that has ended takes another ring: it claims a free one only. */
static void owners_follow(struct pantrace_shm *shm)
{
	const int saved = errno;

	for (uint32_t i = 0; i < shm->nr_rings; i++) {
		struct pantrace_ring *const ring = ring_at(shm, i);
		const uint32_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);

		if (owner && syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH)
			__atomic_store_n(&ring->owner, 0, __ATOMIC_RELEASE);
	}
	errno = saved;
}

enum pt_watch pt_memory_follow(struct pt_settings *set)
{
	struct pantrace_shm *const shm = pt_session_of(set)->shm;
	bool lacking = false, old, busy = false;
	uint64_t keep, ready;

	if (set->state != PT_RUNNING)
		return PT_WATCH_NOTHING;
	if (set->spec.mode == PANTRACE_AGGREGATE)
		return pt_tables_follow((unsigned int)(set - pt_settings), false)
			       ? PT_WATCH_WORK
			       : PT_WATCH_NOTHING;
	if (!shm)
		return PT_WATCH_NOTHING;
	if (set->per_thread)
		owners_follow(shm);
	keep = share(shm, IDLE_ALL);
	if (!set->since)
		set->since = now_ns();
	old = set->settled || now_ns() - set->since > YOUNG_NS;
	ready = share(shm, FIRST_ALL) > READY ? share(shm, FIRST_ALL) : READY;
	for (uint32_t i = 0; i < set->nr_rings; i++)
		busy |= used_of(ring_at(shm, i)) > keep / 4 ||
			__atomic_load_n(&ring_at(shm, i)->lost, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < set->nr_rings; i++) {
		const uint64_t used = used_of(ring_at(shm, i));

		if (busy)
			extend(shm, i, used > keep / 4 ? used + AHEAD : ready);
		else if (old && !set->settled && keep < ring_size(shm))
			give_back(set, shm, i, keep);
		lacking |= had_of(ring_at(shm, i)) != UINT64_MAX;
	}
	set->settled = old;
	return (old ? 0 : PT_WATCH_TIME) | (lacking || set->per_thread ? PT_WATCH_WORK : 0);
}

void pt_memory_all(struct pt_settings *set)
{
	struct pantrace_shm *const shm = pt_session_of(set)->shm;

	if (set->spec.mode == PANTRACE_AGGREGATE)
		pt_tables_follow((unsigned int)(set - pt_settings), true);
	if (!shm)
		return;
	for (uint32_t i = 0; i < set->nr_rings; i++)
		extend(shm, i, ring_size(shm));
	set->settled = true;
}
