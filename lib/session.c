// SPDX-License-Identifier: MIT
/*
 * A session: the file with the rings, its mapping, and what happens to both in a forked child.
 *
 * The mapping is not inherited (MADV_DONTFORK) and the state page is wiped in a child
 * (MADV_WIPEONFORK), by the kernel and so for every kind of fork. What a child needs to make a
 * session of its own is in ordinary memory: struct settings.
 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	   4096ull
#define META_SIZE  (1ull << 20)
#define SUB_MIN	   4096u
#define SUB_MAX	   (1u << 30)
#define SUBS_MAX   (1u << 16)
#define NR_THREADS 64u /* rings where threads have their own */

struct pt_state *pt_state;

static struct settings {
	bool running;
	bool has_directory;
	uint32_t mode, sub_size, nr_subs, per_thread, nr_rings;
	uint32_t ids;
	uint32_t pid;
	int fd;
	struct pt_clock clock;
	char directory[512];
} settings = { .fd = -1 };

static uint32_t ring_generation;

/* The records of all events that had an id since the program began, as in ring.h. */
static char *records;
static size_t records_used;
static uint32_t nr_records;

/* ---- a lock that a forked child finds free ---- */

bool pt_trylock(void)
{
	int32_t free = 0;

	return __atomic_compare_exchange_n(&pt_state->lock, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void pt_lock(void)
{
	if (pt_trylock())
		return;
	while (__atomic_exchange_n(&pt_state->lock, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &pt_state->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void pt_unlock(void)
{
	if (__atomic_exchange_n(&pt_state->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &pt_state->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int pt_state_get(void)
{
	const size_t size = (sizeof(struct pt_state) + PAGE - 1) & ~(PAGE - 1);
	struct pt_state *state, *none = NULL;

	if (__atomic_load_n(&pt_state, __ATOMIC_ACQUIRE))
		return 0;
	state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return -errno;
	if (madvise(state, size, MADV_WIPEONFORK)) {
		const int error = errno;

		munmap(state, size);
		return -error;
	}
	if (!__atomic_compare_exchange_n(&pt_state, &none, state, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		munmap(state, size);
	return 0;
}

bool pt_running(void)
{
	return settings.running;
}

/* ---- the file ---- */

static int file_open(uint32_t pid)
{
	char path[sizeof(settings.directory) + 64];
	int fd;

	if (!settings.has_directory)
		fd = (int)syscall(SYS_memfd_create, "pantrace", MFD_CLOEXEC);
	else {
		snprintf(path, sizeof(path), "%s/%u-%llx.pantrace", settings.directory, pid,
			 (unsigned long long)__builtin_ia32_rdtsc());
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	return fd < 0 ? -errno : fd;
}

static void header_fill(struct pantrace_shm *shm, uint32_t pid, uint32_t parent)
{
	const uint64_t rings = (settings.nr_rings * sizeof(struct pantrace_ring) + PAGE - 1) &
			       ~(PAGE - 1);

	*shm = (struct pantrace_shm){
		.version = PANTRACE_SHM_VERSION,
		.flags = settings.per_thread ? PANTRACE_RINGS_PER_THREAD : 0,
		.mode = settings.mode,
		.nr_rings = settings.nr_rings,
		.sub_size = settings.sub_size,
		.nr_subs = settings.nr_subs,
		.ring_off = PAGE,
		.meta_off = PAGE + rings,
		.meta_size = META_SIZE,
		.data_off = PAGE + rings + META_SIZE,
		.file_size = PAGE + rings + META_SIZE +
			     (uint64_t)settings.nr_rings * settings.nr_subs * settings.sub_size,
		.tsc_hz = settings.clock.tsc_hz,
		.tsc_start = settings.clock.tsc,
		.monotonic_start_ns = settings.clock.monotonic_ns,
		.realtime_start_ns = settings.clock.realtime_ns,
		.pid = pid,
		.parent = parent,
	};
	if (syscall(SYS_getrandom, shm->uuid, sizeof(shm->uuid), GRND_NONBLOCK) !=
	    sizeof(shm->uuid)) {
		const uint64_t seed[2] = { settings.clock.realtime_ns, pid };

		memcpy(shm->uuid, seed, sizeof(seed));
	}
	prctl(PR_GET_NAME, shm->comm);
}

/* Makes the session's file and lets the event path at it. Only system calls: a child may be in a
 * signal handler, or the one thread left of many. The lock is held. */
static int session_make(uint32_t pid, uint32_t parent)
{
	struct pt_state *const state = pt_state;
	const uint64_t ring_size = (uint64_t)settings.nr_subs * settings.sub_size;
	struct pantrace_shm header, *shm;
	struct pantrace_ring *rings;
	int fd, rc;

	header_fill(&header, pid, parent);
	fd = file_open(pid);
	if (fd < 0)
		return fd;
	/* reserved now: a write to a full file system later would be a SIGBUS for the program */
	rc = -(int)(syscall(SYS_fallocate, fd, 0, 0l, (long)header.file_size) ? errno : 0);
	if (rc)
		goto out;
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (shm == MAP_FAILED) {
		rc = -errno;
		goto out;
	}
	madvise(shm, header.file_size, MADV_DONTFORK);
	header.meta_used = records_used;
	if (records_used)
		memcpy((char *)shm + header.meta_off, records, records_used);
	rings = (struct pantrace_ring *)((char *)shm + header.ring_off);
	for (uint32_t i = 0; i < header.nr_rings; i++) {
		rings[i].cpu = i;
		state->place[i].ring = &rings[i];
		state->place[i].data = (char *)shm + header.data_off + i * ring_size;
	}
	*shm = header;
	shm->lost = __atomic_exchange_n(&state->early_lost, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&shm->magic, PANTRACE_SHM_MAGIC, __ATOMIC_RELEASE);

	state->nr_rings = header.nr_rings;
	state->sub_size = header.sub_size;
	state->sub_mask = header.sub_size - 1;
	state->ring_mask = ring_size - 1;
	state->overwrite = header.mode == PANTRACE_OVERWRITE;
	__atomic_store_n(&state->per_thread, settings.per_thread, __ATOMIC_RELAXED);
	state->generation = ++ring_generation;
	state->ids = settings.ids;
	state->shm = shm;
	settings.fd = fd;
	settings.pid = pid;
	__atomic_store_n(&state->active, 1, __ATOMIC_RELEASE);
	return 0;
out:
	close(fd);
	return rc;
}

bool pt_session_of_child(void)
{
	struct pt_state *const state = pt_state;
	const int saved = errno;
	bool made = false;
	uint32_t pid;

	if (!settings.running || !settings.has_directory)
		return false;
	pid = (uint32_t)syscall(SYS_getpid);
	if (pid == settings.pid) /* the session is being stopped */
		return false;
	if (!pt_trylock()) {
		__atomic_fetch_add(&state->early_lost, 1, __ATOMIC_RELAXED);
		goto out;
	}
	made = state->active;
	if (!made && settings.running) {
		const uint32_t parent = settings.pid;

		if (settings.fd >= 0)
			close(settings.fd);
		settings.fd = -1;
		made = !session_make(pid, parent);
		if (!made)
			settings.running = false;
	}
	pt_unlock();
out:
	errno = saved;
	return made;
}

static bool same_event(const struct pantrace_event_record *a, const struct pantrace_event_record *b)
{
	return a->size == b->size && a->nr_fields == b->nr_fields &&
	       !memcmp(a->strings, b->strings, a->size - sizeof(*a));
}

int pt_record_append(const struct pantrace_event_record *record)
{
	struct pantrace_shm *const shm = pt_state->shm;
	struct pantrace_event_record *to;

	for (size_t at = 0; at < records_used;) {
		const struct pantrace_event_record *old = (const void *)(records + at);

		if (same_event(old, record))
			return (int)old->id;
		at += old->size;
	}
	if (!records) {
		records = mmap(NULL, META_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (records == MAP_FAILED) {
			records = NULL;
			return -errno;
		}
	}
	if (records_used + record->size > META_SIZE)
		return -ENOSPC;
	to = (struct pantrace_event_record *)(records + records_used);
	memcpy(to, record, record->size);
	to->id = ++nr_records;
	memcpy((char *)shm + shm->meta_off + records_used, to, to->size);
	records_used += to->size;
	__atomic_store_n(&shm->meta_used, records_used, __ATOMIC_RELEASE);
	return (int)to->id;
}

/* ---- what programs call ---- */

static uint32_t power_of_two(uint32_t value, uint32_t least, uint32_t most)
{
	uint32_t power = least;

	while (power < value && power < most)
		power *= 2;
	return power;
}

static int settings_take(const struct pantrace_options *given)
{
	struct pantrace_options options = { 0 };
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (given && given->size < offsetof(struct pantrace_options, directory))
		return -EINVAL;
	if (given)
		memcpy(&options, given,
		       given->size < sizeof(options) ? given->size : sizeof(options));
	if (options.mode > PANTRACE_OVERWRITE || options.sub_size > SUB_MAX ||
	    options.nr_subs > SUBS_MAX)
		return -EINVAL;
	if (options.directory && strlen(options.directory) >= sizeof(settings.directory))
		return -ENAMETOOLONG;
	settings.has_directory = options.directory;
	snprintf(settings.directory, sizeof(settings.directory), "%s",
		 options.directory ? options.directory : "");
	settings.mode = options.mode;
	settings.sub_size = power_of_two(options.sub_size ? options.sub_size : 1u << 18, SUB_MIN,
					 SUB_MAX);
	settings.nr_subs = power_of_two(options.nr_subs ? options.nr_subs : 8, 2, SUBS_MAX);
	settings.per_thread = options.per_thread || !pt_rseq_here();
	settings.nr_rings = settings.per_thread ? NR_THREADS : (uint32_t)(cpus > 0 ? cpus : 1);
	if (settings.nr_rings > PT_MAX_RING)
		settings.nr_rings = PT_MAX_RING;
	return 0;
}

int pantrace_start(const struct pantrace_options *options)
{
	int rc = pt_state_get();

	if (rc)
		return rc;
	pt_lock();
	rc = settings.running ? -EBUSY : settings_take(options);
	if (rc)
		goto out;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	pt_clock_read(&settings.clock);
	settings.ids++;
	records_used = 0;
	nr_records = 0;
	rc = session_make((uint32_t)getpid(), 0);
	if (rc)
		goto out;
	settings.running = true;
	pt_sites_follow();
out:
	pt_unlock();
	return rc;
}

int pantrace_stop(void)
{
	struct pt_state *const state = pt_state;
	int rc = 0;

	if (!state)
		return -ENOENT;
	pt_lock();
	if (!settings.running) {
		rc = -ENOENT;
		goto out;
	}
	pt_sites_all_off();
	settings.running = false;
	__atomic_store_n(&state->active, 0, __ATOMIC_SEQ_CST);
	/* Critical sections begin again and see it. A thread that still looks at the rings outside of
	 * one finds anonymous memory in their place. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	if (state->shm) {
		const size_t size = state->shm->file_size;

		mmap(state->shm, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	}
	if (settings.fd >= 0)
		close(settings.fd);
	settings.fd = -1;
out:
	pt_unlock();
	return rc;
}

int pantrace_fd(void)
{
	return settings.running && settings.fd >= 0 ? settings.fd : -ENOENT;
}

int pantrace_count(struct pantrace_counts *ret)
{
	struct pt_state *const state = pt_state;
	struct pantrace_counts counts = { 0 };

	if (!state || !__atomic_load_n(&state->active, __ATOMIC_ACQUIRE))
		return -ENOENT;
	for (uint32_t i = 0; i < state->nr_rings; i++) {
		counts.events += __atomic_load_n(&state->place[i].ring->events, __ATOMIC_ACQUIRE);
		counts.lost += __atomic_load_n(&state->place[i].ring->lost, __ATOMIC_ACQUIRE);
	}
	counts.lost += __atomic_load_n(&state->shm->lost, __ATOMIC_ACQUIRE);
	*ret = counts;
	return 0;
}

/* PANTRACE_RECORD=DIRECTORY with PANTRACE_EVENTS='app:*,lib:request_*' records without a line of
 * code. Ignored where the caller of the program has fewer rights than the program. */
__attribute__((constructor(102))) static void start_by_environment(void)
{
	const char *directory = secure_getenv("PANTRACE_RECORD");
	const char *events = secure_getenv("PANTRACE_EVENTS");
	const char *mode = secure_getenv("PANTRACE_MODE");
	const struct pantrace_options options = {
		.size = sizeof(options),
		.directory = directory,
		.mode = mode && !strcmp(mode, "overwrite") ? PANTRACE_OVERWRITE : PANTRACE_DISCARD,
	};
	char pattern[256];

	if (!directory || !*directory || pantrace_start(&options))
		return;
	for (const char *p = events ? events : "*"; *p;) {
		const size_t n = strcspn(p, ",");

		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, p);
		pantrace_enable(pattern);
		p += n + (p[n] == ',');
	}
}
