// SPDX-License-Identifier: MIT
/*
 * A session: the file with the rings, its mapping, and what happens to both in a forked child.
 *
 * The mapping is not inherited (MADV_DONTFORK) and the state page is wiped in a child
 * (MADV_WIPEONFORK), by the kernel and so for every kind of fork. What a child needs to make a
 * session of its own is in ordinary memory: struct settings.
 */
#include "hooks.h"
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE	   4096ull
#define META_SIZE  (1ull << 20)
#define SUB_MIN	   4096u
#define SUB_MAX	   (1u << 30)
#define SUBS_MAX   (1u << 16)
#define NR_THREADS 64u /* rings where threads have their own */

struct pt_state *pt_state;

/* What must outlive a fork: the state page is wiped in the child. */
static struct settings {
	enum pt_session_state state;
	bool burnt; /* a thread never left the rings: the slot is not used again */
	uint32_t nr_rings, per_thread;
	uint32_t pid; /* whose rings they are */
	int error;
	int fd;
	uint64_t inode; /* of fd: the program may have closed it, and have got the number again */
	char file[64];
	struct pt_spec spec;
	struct pt_rules rules;
} settings[PT_SESSIONS];

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
	for (unsigned int i = 0; i < PT_SESSIONS; i++)
		if (settings[i].state == PT_ARMED || settings[i].state == PT_RUNNING)
			return true;
	return false;
}

/* ---- the file ---- */

static int file_open(struct settings *set, uint32_t pid)
{
	char path[sizeof(set->spec.directory) + sizeof(set->file) + 1];
	int fd;

	set->file[0] = 0;
	if (!*set->spec.directory) {
		fd = (int)syscall(SYS_memfd_create, "pantrace", MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	snprintf(set->file, sizeof(set->file), "%u-%llx.pantrace", pid,
		 (unsigned long long)__builtin_ia32_rdtsc());
	snprintf(path, sizeof(path), "%s/%s", set->spec.directory, set->file);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		return fd;
	fd = -errno;
	set->file[0] = 0;
	return fd;
}

/* A file that could not be had in full is not left behind. */
static void file_remove(struct settings *set)
{
	char path[sizeof(set->spec.directory) + sizeof(set->file) + 1];

	if (!set->file[0])
		return;
	snprintf(path, sizeof(path), "%s/%s", set->spec.directory, set->file);
	unlink(path);
	set->file[0] = 0;
}

/* Of the process, whichever thread asks. */
static void comm_read(char comm[16])
{
	const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, comm, 15);

	if (fd >= 0)
		close(fd);
	if (n <= 0) {
		prctl(PR_GET_NAME, comm);
		return;
	}
	comm[comm[n - 1] == '\n' ? n - 1 : n] = 0;
}

static void header_fill(const struct settings *set, struct pantrace_shm *shm, uint32_t pid,
			uint32_t parent)
{
	const struct pt_spec *const spec = &set->spec;
	const uint64_t rings =
		(set->nr_rings * sizeof(struct pantrace_ring) + PAGE - 1) & ~(PAGE - 1);
	struct stat st;

	*shm = (struct pantrace_shm){
		.version = PANTRACE_SHM_VERSION,
		.flags = set->per_thread ? PANTRACE_RINGS_PER_THREAD : 0,
		.mode = spec->mode,
		.nr_rings = set->nr_rings,
		.sub_size = spec->sub_size,
		.nr_subs = spec->nr_subs,
		.ring_off = PAGE,
		.meta_off = PAGE + rings,
		.meta_size = META_SIZE,
		.data_off = PAGE + rings + META_SIZE,
		.file_size = PAGE + rings + META_SIZE +
			     (uint64_t)set->nr_rings * spec->nr_subs * spec->sub_size,
		.tsc_hz = spec->clock.tsc_hz,
		.tsc_start = spec->clock.tsc,
		.monotonic_start_ns = spec->clock.monotonic_ns,
		.realtime_start_ns = spec->clock.realtime_ns,
		.pid = pid,
		.parent = parent,
		.contexts = spec->contexts,
		.block_us = spec->block_us,
	};
	memcpy(shm->session, spec->name, sizeof(shm->session));
	if (syscall(SYS_getrandom, shm->uuid, sizeof(shm->uuid), GRND_NONBLOCK) !=
	    sizeof(shm->uuid)) {
		const uint64_t seed[2] = {spec->clock.realtime_ns ^ __builtin_ia32_rdtsc(), pid};

		memcpy(shm->uuid, seed, sizeof(seed));
	}
	comm_read(shm->comm);
	if (!stat("/proc/self/ns/pid", &st))
		shm->pid_namespace = st.st_ino;
}

/* Whether the descriptor is still the one of the rings. */
static bool fd_ours(const struct settings *set)
{
	struct stat st;

	return set->fd >= 0 && !fstat(set->fd, &st) && st.st_ino == set->inode;
}

static void fd_close(struct settings *set)
{
	if (fd_ours(set))
		close(set->fd);
	set->fd = -1;
}

/* Lets the event path at the rings of SHM. */
static void rings_publish(struct settings *set, struct pt_session *session,
			  struct pantrace_shm *shm)
{
	struct pantrace_ring *rings = (struct pantrace_ring *)((char *)shm + shm->ring_off);
	const uint64_t ring_size = (uint64_t)shm->nr_subs * shm->sub_size;

	for (uint32_t i = 0; i < shm->nr_rings; i++) {
		rings[i].cpu = i;
		session->place[i].ring = &rings[i];
		session->place[i].data = (char *)shm + shm->data_off + i * ring_size;
	}
	session->nr_rings = shm->nr_rings;
	session->sub_size = shm->sub_size;
	session->sub_mask = shm->sub_size - 1;
	session->ring_mask = ring_size - 1;
	session->mode = shm->mode;
	session->contexts = shm->contexts;
	if (session->contexts)
		__atomic_fetch_or(&pt_state->with_contexts, 1u << (set - settings), __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&pt_state->with_contexts, ~(1u << (set - settings)), __ATOMIC_RELEASE);
	session->block_us = shm->block_us;
	session->number = (uint32_t)(set - settings);
	__atomic_store_n(&session->per_thread, set->per_thread, __ATOMIC_RELAXED);
	session->generation = ++ring_generation;
	session->shm = shm;
	__atomic_store_n(&session->active, shm->nr_rings, __ATOMIC_RELEASE);
}

/* Makes the session's file and lets the event path at it. Only system calls: a child may be in a
 * signal handler, or the one thread left of many. The lock is held. */
static int session_make(struct settings *set, uint32_t pid, uint32_t parent)
{
	struct pt_session *const session = &pt_state->session[set - settings];
	struct pantrace_shm header, *shm;
	struct stat st;
	int fd, rc = 0;

	if (set->spec.mode == PANTRACE_SCRIPT) {
		set->pid = pid;
		return 0;
	}
	fd = file_open(set, pid);
	/* a tool's directory may be on another's side of a mount or of permissions: it is handed a
	 * descriptor */
	if ((fd == -ENOENT || fd == -EACCES || fd == -EPERM || fd == -EROFS) && set != settings)
		fd = (int)syscall(SYS_memfd_create, "pantrace", MFD_CLOEXEC);
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	header_fill(set, &header, pid, parent);
	/* reserved now: a write to a full file system later would be a SIGBUS for the program */
	if (syscall(SYS_fallocate, fd, 0, 0l, (long)header.file_size) || fstat(fd, &st)) {
		rc = -errno;
		goto out;
	}
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED) {
		rc = -errno;
		goto out;
	}
	madvise(shm, header.file_size, MADV_DONTFORK);
	header.meta_used = records_used;
	if (records_used)
		memcpy((char *)shm + header.meta_off, records, records_used);
	*shm = header;
	shm->lost = __atomic_exchange_n(&session->early_lost, 0, __ATOMIC_RELAXED);
	set->fd = fd;
	set->inode = st.st_ino;
	set->pid = pid;
	rings_publish(set, session, shm);
	/* last: whoever watches the directory reads only what is whole */
	__atomic_store_n(&shm->magic, PANTRACE_SHM_MAGIC, __ATOMIC_RELEASE);
	if (set != settings && set->file[0])
		fd_close(set); /* the name is enough, and descriptors are the program's */
	return 0;
out:
	file_remove(set);
	close(fd);
	return rc;
}

bool pt_session_of_child(struct pt_session *session)
{
	const uint32_t number = (uint32_t)(session - pt_state->session);
	struct settings *const set = &settings[number];
	const int saved = errno;
	bool made = false;
	uint32_t pid;

	/* a session of the program's own that is in memory only has nobody who could read the
	 * child's */
	if (set->state != PT_RUNNING || (!number && !*set->spec.directory))
		return false;
	pid = (uint32_t)syscall(SYS_getpid);
	if (pid == set->pid) /* the session is being stopped */
		return false;
	if (!pt_trylock()) {
		__atomic_fetch_add(&session->early_lost, 1, __ATOMIC_RELAXED);
		goto out;
	}
	made = session->active;
	if (!made && set->state == PT_RUNNING) {
		const uint32_t parent = set->pid;

		fd_close(set);
		set->error = session_make(set, pid, parent);
		made = !set->error;
		if (!made)
			set->state = PT_NONE;
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
	struct pantrace_event_record *to;

	for (size_t at = 0; record->id && at < records_used;) {
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
	if (to->id)
		to->id = ++nr_records;
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pantrace_shm *const shm = pt_state->session[i].shm;

		if (!shm || (settings[i].state != PT_RUNNING && settings[i].state != PT_STOPPED))
			continue;
		memcpy((char *)shm + shm->meta_off + records_used, to, to->size);
		__atomic_store_n(&shm->meta_used, records_used + to->size, __ATOMIC_RELEASE);
	}
	records_used += to->size;
	return (int)to->id;
}

/* ---- sessions ---- */

static uint32_t power_of_two(uint32_t value, uint32_t least, uint32_t most)
{
	uint32_t power = least;

	while (power < value && power < most)
		power *= 2;
	return power;
}

/* Fills in what SPEC leaves open. */
static int settings_take(struct settings *set, const struct pt_spec *spec)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if ((spec->mode >= PANTRACE_MODE_MAX && spec->mode != PANTRACE_SCRIPT) ||
	    spec->sub_size > SUB_MAX || spec->nr_subs > SUBS_MAX)
		return -EINVAL;
	set->spec = *spec;
	set->spec.sub_size =
		power_of_two(spec->sub_size ? spec->sub_size : 1u << 18, SUB_MIN, SUB_MAX);
	set->spec.nr_subs = power_of_two(spec->nr_subs ? spec->nr_subs : 8, 2, SUBS_MAX);
	set->per_thread = spec->per_thread || !pt_rseq_here();
	set->nr_rings = set->per_thread ? NR_THREADS : (uint32_t)(cpus > 0 ? cpus : 1);
	if (set->nr_rings > PT_MAX_RING)
		set->nr_rings = PT_MAX_RING;
	if (!set->spec.has_clock)
		pt_clock_read(&set->spec.clock);
	set->error = 0;
	set->fd = -1;
	set->file[0] = 0;
	/* free of charge where it is done already, and while there is one thread */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	return 0;
}

struct pt_rules *pt_session_rules_of(unsigned int number)
{
	return &settings[number].rules;
}

bool pt_session_is_script(unsigned int number)
{
	return settings[number].spec.mode == PANTRACE_SCRIPT;
}

uint32_t pt_sessions_wanting(const struct pantrace_event *event)
{
	const uint8_t level = pt_event_level(event);
	char full[2 * PT_RULE_GLOB];
	uint32_t mask = 0;

	snprintf(full, sizeof(full), "%s:%s", event->provider, event->name);
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct settings *const set = &settings[i];

		if ((set->state != PT_ARMED && set->state != PT_RUNNING) ||
		    !pt_rules_want(&set->rules, full, level))
			continue;
		if (set->state == PT_ARMED) {
			if (set->error)
				continue;
			set->error = session_make(set, (uint32_t)getpid(), 0);
			if (set->error)
				continue;
			set->state = PT_RUNNING;
		}
		mask |= 1u << i;
	}
	return mask;
}

/*
 * No more events; what was begun is published. The rings are unmapped when no thread looks at them:
 * within critical sections none does after the membarrier, and others count themselves. (Rings of
 * threads have no such count; there, and where a thread does not come back, anonymous memory takes
 * the place of the rings for good.)
 */
static void session_unmap(struct settings *set)
{
	struct pt_session *const session = &pt_state->session[set - settings];
	struct pantrace_shm *const shm = session->shm;
	const struct timespec nap = {.tv_nsec = 100000};
	size_t size;
	int naps = 0;

	fd_close(set);
	set->file[0] = 0;
	if (!shm)
		return;
	size = shm->file_size;
	while (!set->per_thread && __atomic_load_n(&session->users, __ATOMIC_SEQ_CST) &&
	       naps++ < 100)
		nanosleep(&nap, NULL);
	if (!set->per_thread && naps <= 100) {
		session->shm = NULL;
		munmap(shm, size);
		return;
	}
	mmap(shm, size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	set->burnt = !set->per_thread;
}

static void session_quiesce(struct settings *set)
{
	struct pt_session *const session = &pt_state->session[set - settings];

	__atomic_store_n(&session->active, 0, __ATOMIC_SEQ_CST);
	/* critical sections begin again and see it */
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	for (uint32_t i = 0;
	     set->spec.mode == PANTRACE_BLOCK && session->shm && i < session->nr_rings; i++) {
		struct pantrace_ring *const ring = session->place[i].ring;

		__atomic_fetch_add(&ring->room, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &ring->room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
}

static struct settings *session_find(const char *name)
{
	for (unsigned int i = 1; i < PT_SESSIONS; i++)
		if (settings[i].state != PT_NONE && settings[i].state != PT_DYING &&
		    !strcmp(settings[i].spec.name, name))
			return &settings[i];
	return NULL;
}

int pt_session_start(const struct pt_spec *spec, const struct pt_rules *rules)
{
	struct settings *set = NULL;
	int rc = pt_state_get();

	if (rc)
		return rc;
	pt_lock();
	rc = -EEXIST;
	if (session_find(spec->name))
		goto out;
	rc = -ENOSPC;
	for (unsigned int i = PT_SESSIONS - 1; i; i--)
		if (settings[i].state == PT_NONE && !settings[i].burnt)
			set = &settings[i];
	if (!set)
		goto out;
	rc = settings_take(set, spec);
	if (rc)
		goto out;
	set->rules = *rules;
	set->state = PT_ARMED;
	pt_sites_follow();
	rc = set->error;
	if (rc) {
		set->state = PT_NONE;
		pt_sites_follow();
	}
out:
	pt_unlock();
	return rc;
}

int pt_session_rules(const char *name, const struct pt_rules *rules)
{
	struct settings *set;
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	set = session_find(name);
	if (!set)
		goto out;
	rc = pt_filters_append(&set->rules, rules);
	for (unsigned int i = 0; i < rules->nr && !rc; i++) {
		const struct pt_rule *const rule = &rules->rule[i];

		rc = pt_rules_add(&set->rules, rule->glob, strlen(rule->glob), rule->on,
				  rule->level, rule->exactly);
	}
	pt_sites_follow();
out:
	pt_unlock();
	return rc;
}

int pt_session_stop(const char *name)
{
	struct settings *set;
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	set = session_find(name);
	if (!set)
		goto out;
	rc = 0;
	if (set->state == PT_RUNNING || set->state == PT_ARMED) {
		set->state = pt_state->session[set - settings].active ? PT_STOPPED : PT_NONE;
		pt_sites_follow();
		session_quiesce(set);
	}
out:
	pt_unlock();
	return rc;
}

int pt_session_resume(const char *name)
{
	struct settings *set;
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	set = session_find(name);
	if (!set)
		goto out;
	rc = 0;
	if (set->state == PT_STOPPED) {
		set->state = PT_RUNNING;
		/* a child that has no rings yet makes them with its first event */
		if (pt_state->session[set - settings].shm)
			__atomic_store_n(&pt_state->session[set - settings].active,
					 pt_state->session[set - settings].nr_rings, __ATOMIC_RELEASE);
		pt_sites_follow();
	}
out:
	pt_unlock();
	return rc;
}

int pt_session_destroy(const char *name)
{
	struct settings *set;
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	set = session_find(name);
	if (!set)
		goto out;
	rc = 0;
	if (set->state != PT_STOPPED) {
		set->state = PT_DYING;
		pt_sites_follow();
		session_quiesce(set);
	}
	set->state = PT_DYING;
out:
	pt_unlock();
	return rc;
}

void pt_sessions_bury(void)
{
	if (!pt_state)
		return;
	pt_lock();
	for (unsigned int i = 1; i < PT_SESSIONS; i++) {
		if (settings[i].state != PT_DYING)
			continue;
		session_unmap(&settings[i]);
		settings[i].state = PT_NONE;
	}
	pt_unlock();
}

static void count(const struct pt_session *session, struct pantrace_counts *ret)
{
	struct pantrace_counts counts = {0};

	for (uint32_t i = 0; i < session->nr_rings; i++) {
		counts.events += __atomic_load_n(&session->place[i].ring->events, __ATOMIC_ACQUIRE);
		counts.lost += __atomic_load_n(&session->place[i].ring->lost, __ATOMIC_ACQUIRE);
	}
	counts.lost += __atomic_load_n(&session->shm->lost, __ATOMIC_ACQUIRE);
	*ret = counts;
}

bool pt_session_info(unsigned int number, struct pt_session_info *ret)
{
	const struct settings *const set = &settings[number];
	const struct pt_session *session;

	if (number >= PT_SESSIONS || !pt_state)
		return false;
	pt_lock();
	session = &pt_state->session[number];
	if (set->state == PT_NONE || set->state == PT_DYING) {
		pt_unlock();
		return false;
	}
	*ret = (struct pt_session_info){
		.spec = set->spec,
		.state = set->state,
		.error = set->error,
	};
	memcpy(ret->file, set->file, sizeof(ret->file));
	if (session->shm && set->state != PT_ARMED)
		count(session, &ret->counts);
	pt_unlock();
	return true;
}

int pt_session_fd(unsigned int number)
{
	const struct settings *const set = &settings[number];
	char path[32];
	struct stat st;
	int fd = -1;

	pt_lock();
	if ((set->state != PT_RUNNING && set->state != PT_STOPPED) || set->file[0])
		goto out;
	/* made by the helper, or by a thread of the program, whose descriptors are others */
	if (fd_ours(set)) {
		fd = fcntl(set->fd, F_DUPFD_CLOEXEC, 0);
		goto out;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", set->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != set->inode)) {
		close(fd);
		fd = -1;
	}
out:
	pt_unlock();
	return fd < 0 ? -ENOENT : fd;
}

void pt_sessions_populate(void)
{
	if (!pt_state)
		return;
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pantrace_shm *shm;
		char *at;
		size_t size;

		pt_lock();
		shm = settings[i].state == PT_RUNNING ? pt_state->session[i].shm : NULL;
		at = (char *)shm;
		size = shm ? shm->file_size : 0;
		/* refused by kernels before 5.14: then each page is had when an event first needs
		 * it */
		if (shm)
			madvise(at, size, MADV_POPULATE_WRITE);
		pt_unlock();
	}
}

/* ---- what programs call ---- */

int pantrace_start(const struct pantrace_options *given)
{
	struct settings *const set = &settings[0];
	struct pantrace_options options = {0};
	struct pt_spec spec = {0};
	int rc = pt_state_get();

	if (rc)
		return rc;
	if (given && given->size < offsetof(struct pantrace_options, directory))
		return -EINVAL;
	if (given)
		memcpy(&options, given,
		       given->size < sizeof(options) ? given->size : sizeof(options));
	if (options.directory && strlen(options.directory) >= sizeof(spec.directory))
		return -ENAMETOOLONG;
	snprintf(spec.directory, sizeof(spec.directory), "%s",
		 options.directory ? options.directory : "");
	if (options.mode >= PANTRACE_MODE_MAX)
		return -EINVAL;
	spec.mode = options.mode;
	spec.sub_size = options.sub_size;
	spec.nr_subs = options.nr_subs;
	spec.per_thread = options.per_thread;
	spec.block_us = options.block_us;
	spec.contexts = options.contexts;
	pt_lock();
	rc = set->state != PT_NONE ? -EBUSY : settings_take(set, &spec);
	if (rc)
		goto out;
	rc = session_make(set, (uint32_t)getpid(), 0);
	if (rc)
		goto out;
	madvise(pt_state->session[0].shm, pt_state->session[0].shm->file_size, MADV_POPULATE_WRITE);
	set->state = PT_RUNNING;
	pt_sites_follow();
out:
	pt_unlock();
	return rc;
}

int pantrace_stop(void)
{
	struct settings *const set = &settings[0];
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	if (set->state != PT_NONE) {
		set->state = PT_NONE;
		pt_sites_follow();
		session_quiesce(set);
		session_unmap(set);
		rc = 0;
	}
	pt_unlock();
	return rc;
}

static int rule_set(const char *glob, bool on)
{
	int rc = pt_state_get();

	if (rc)
		return rc;
	if (!glob)
		return -EINVAL;
	pt_lock();
	rc = pt_rules_add(&settings[0].rules, glob, strlen(glob), on, PT_LEVEL_ANY, false);
	if (!rc && settings[0].state == PT_RUNNING)
		rc = pt_sites_follow();
	pt_unlock();
	return rc;
}

int pantrace_enable(const char *pattern)
{
	return rule_set(pattern, true);
}

int pantrace_disable(const char *pattern)
{
	return rule_set(pattern, false);
}

int pantrace_fd(void)
{
	return settings[0].state == PT_RUNNING && fd_ours(&settings[0]) ? settings[0].fd : -ENOENT;
}

int pantrace_count(struct pantrace_counts *ret)
{
	struct pt_state *const state = pt_state;

	if (!state || !__atomic_load_n(&state->session[0].active, __ATOMIC_ACQUIRE))
		return -ENOENT;
	count(&state->session[0], ret);
	return 0;
}

/* PANTRACE_RECORD=DIRECTORY with PANTRACE_EVENTS='app:*,lib:request_*' records without a line of
 * code. Ignored where the caller of the program has fewer rights than the program. */
static void start_by_environment(void)
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

__attribute__((constructor(102))) static void begin(void)
{
	start_by_environment();
	pt_control_begin();
}
