// SPDX-License-Identifier: MIT
/*
 * The rings of a session: a file, its mapping, and what happens to both in a forked child. The
 * kernel does not inherit the mapping (MADV_DONTFORK) and wipes the state page in a child
 * (MADV_WIPEONFORK), for every kind of fork. What a child needs to make its own session is in
 * ordinary memory: struct pt_settings. The file has its final length from the start, its memory is
 * allocated bit by bit (memory.c).
 */
#include "announce.h"
#include "children.h"
#include "context.h"
#include "aggregate_session.h"
#include "session.h"
#include "thread.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096ull
#define SWEEP_MAX 16 /* a child's differs from its parent's */

static uint32_t ring_generation;

/* ---- the file ---- */

/*
 * Is this the directory that the recorder means? It may live in another mount namespace, where this
 * path is another directory.
 */
static bool directory_is_meant(const struct pt_spec *spec)
{
	struct stat st;

	return !spec->directory_inode ||
	       (!stat(spec->directory, &st) && st.st_dev == spec->directory_device &&
		st.st_ino == spec->directory_inode);
}

int pt_session_file_make(const struct pt_spec *spec, uint32_t pid, char file[PT_FILE_NAME])
{
	char path[sizeof(spec->directory) + PT_FILE_NAME];
	int fd = -ENOENT;

	if (*spec->directory && directory_is_meant(spec)) {
		snprintf(file, PT_FILE_NAME, "%u-%llx.pantrace", pid,
			 (unsigned long long)__builtin_ia32_rdtsc());
		snprintf(path, sizeof(path), "%s/%s", spec->directory, file);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			return fd;
		fd = -errno;
	}
	file[0] = 0;
	/* the tool's, which passes a descriptor */
	if (!*spec->directory ||
	    (*spec->name && (fd == -ENOENT || fd == -EACCES || fd == -EPERM || fd == -EROFS))) {
		fd = (int)syscall(SYS_memfd_create, "pantrace", MFD_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

void pt_session_file_remove(const struct pt_spec *spec, char file[PT_FILE_NAME])
{
	char path[sizeof(spec->directory) + PT_FILE_NAME];

	if (!file[0])
		return;
	snprintf(path, sizeof(path), "%s/%s", spec->directory, file);
	unlink(path);
	file[0] = 0;
}

/* The name of the process, whichever thread asks. */
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

static void header_fill(const struct pt_settings *set, struct pantrace_shm *shm, uint32_t pid,
			uint32_t parent)
{
	const struct pt_spec *const spec = &set->spec;
	/* at another offset than those of other sessions in the last twelve bits: see pt_state */
	const uint64_t ring_off = PAGE + (uint64_t)(set - pt_settings) * 256;
	const uint64_t meta_off =
		(ring_off + set->nr_rings * sizeof(struct pantrace_ring) + PAGE - 1) & ~(PAGE - 1);
	struct stat st;
	size_t used;

	pt_records(&used);
	*shm = (struct pantrace_shm){
		.version = PANTRACE_SHM_VERSION,
		.flags = set->per_thread ? PANTRACE_RINGS_PER_THREAD : 0,
		.mode = spec->mode,
		.nr_rings = set->nr_rings,
		.sub_size = spec->sub_size,
		.nr_subs = spec->nr_subs,
		.ring_off = ring_off,
		.meta_off = meta_off,
		.meta_size = PT_META_SIZE,
		.meta_used = used,
		.data_off = meta_off + PT_META_SIZE,
		.file_size = meta_off + PT_META_SIZE +
			     (uint64_t)set->nr_rings * spec->nr_subs * spec->sub_size,
		.tsc_hz = spec->clock.tsc_hz,
		.tsc_start = spec->clock.tsc,
		.monotonic_start_ns = spec->clock.monotonic_ns,
		.realtime_start_ns = spec->clock.realtime_ns,
		.pid = pid,
		.parent = parent,
		.contexts = spec->contexts,
		.block_us = spec->block_us,
		/* a child's sites are as its parent left them */
		.refused_sites = set->refused_sites,
		.refused_events = set->refused_events,
		.refused_why = (uint32_t)-pt_sites_why(),
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

bool pt_rings_fd_ours(const struct pt_settings *set)
{
	struct stat st;

	return set->fd >= 0 && !fstat(set->fd, &st) && st.st_ino == set->inode;
}

static void fd_close(struct pt_settings *set)
{
	if (pt_rings_fd_ours(set))
		close(set->fd);
	set->fd = -1;
}

/* Makes the rings of SHM usable for the event path. */
static void rings_publish(struct pt_settings *set, struct pt_session *session,
			  struct pantrace_shm *shm)
{
	struct pantrace_ring *rings = (struct pantrace_ring *)((char *)shm + shm->ring_off);
	const uint64_t ring_size = (uint64_t)shm->nr_subs * shm->sub_size;

	for (uint32_t i = 0; i < shm->nr_rings; i++) {
		rings[i].cpu = i;
		session->data[i] = (char *)shm + shm->data_off + i * ring_size;
	}
	session->rings = rings;
	session->nr_rings = shm->nr_rings;
	session->sub_size = shm->sub_size;
	session->sub_mask = shm->sub_size - 1;
	session->ring_mask = ring_size - 1;
	session->mode = shm->mode;
	__atomic_store_n(&session->pid, (int32_t)shm->pid, __ATOMIC_RELAXED);
	pt_context_lay_out(session, set->per_thread ? PT_RINGS_OF_THREADS : 0,
			   (uint32_t)shm->contexts);
	session->block_us = shm->block_us;
	session->number = (uint32_t)(set - pt_settings);
	__atomic_store_n(&session->per_thread, set->per_thread, __ATOMIC_RELAXED);
	__atomic_store_n(&session->generation, ++ring_generation, __ATOMIC_RELAXED);
	session->shm = shm;
	pt_session_open(session, shm->nr_rings);
}

/*
 * Maps FD, a new file, and fills it in. 1: all of its memory is allocated; 0; or a negative errno.
 */
static int file_map(int fd, const struct pantrace_shm *header, struct pantrace_shm **ret)
{
	struct pantrace_shm *shm;
	size_t used;
	const char *const records = pt_records(&used);
	int rc = pt_file_size_set(fd, header->file_size);

	if (rc)
		return rc;
	shm = mmap(NULL, header->file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return -errno;
	rc = pt_memory_begin(fd, shm, header);
	if (rc < 0) {
		munmap(shm, header->file_size);
		return rc;
	}
	madvise(shm, header->file_size, MADV_DONTFORK);
	if (used)
		memcpy((char *)shm + header->meta_off, records, used);
	*shm = *header;
	*ret = shm;
	return rc;
}

/* Memory is the helper's from here on; without one all of it is had now. */
static void helper_begin(struct pt_settings *set)
{
	if (pt_control_helps())
		pt_control_wake();
	else
		pt_memory_all(set);
}

/* Tables are known by the file's name, or by the descriptor if it has none. */
static int tables_make(struct pt_settings *set, uint32_t pid, uint32_t parent)
{
	const int fd = pt_tables_make((unsigned int)(set - pt_settings), &set->spec, pid, parent,
				      set->file);
	struct stat st;

	if (fd < 0)
		return fd;
	set->fd = fd;
	set->inode = fstat(fd, &st) ? 0 : st.st_ino;
	set->pid = pid;
	pt_tables_where((unsigned int)(set - pt_settings), &set->mapped, &set->mapped_size);
	if (set->file[0])
		fd_close(set);
	helper_begin(set);
	return 0;
}

/* Filters and programs that count may need names of threads, too. */
static uint32_t threads_wants(const struct pt_settings *set)
{
	const bool programs = set->rules.nr_filters || set->spec.mode == PANTRACE_AGGREGATE;

	return (uint32_t)set->spec.contexts | (programs ? 1u << PANTRACE_CONTEXT_PROCNAME : 0);
}

int pt_rings_make(struct pt_settings *set, uint32_t pid, uint32_t parent)
{
	struct pt_session *const session = pt_session_of(set);
	struct pantrace_shm header, *shm = NULL;
	struct stat st;
	int fd, rc;

	rc = pt_threads_prepare(threads_wants(set));
	if (rc)
		return rc;
	if (set->spec.mode == PANTRACE_SCRIPT) {
		set->pid = pid;
		return 0;
	}
	if (set->spec.mode == PANTRACE_AGGREGATE)
		return tables_make(set, pid, parent);
	fd = pt_session_file_make(&set->spec, pid, set->file);
	if (fd < 0)
		return fd;
	header_fill(set, &header, pid, parent);
	rc = fstat(fd, &st) ? -errno : file_map(fd, &header, &shm);
	if (rc < 0) {
		pt_session_file_remove(&set->spec, set->file);
		close(fd);
		return rc;
	}
	shm->lost = __atomic_exchange_n(&session->early_lost, 0, __ATOMIC_RELAXED);
	set->mapped = shm;
	set->mapped_size = header.file_size;
	set->settled = rc;
	set->since = 0;
	set->fd = fd;
	set->inode = st.st_ino;
	set->pid = pid;
	rings_publish(set, session, shm);
	helper_begin(set);
	/* last: a reader that watches the directory only reads complete files */
	__atomic_store_n(&shm->magic, PANTRACE_SHM_MAGIC, __ATOMIC_RELEASE);
	if (set != pt_settings && !set->file[0])
		pt_announce_rings(set, fd);
	if (set != pt_settings && set->file[0])
		fd_close(set); /* the name is enough; descriptors belong to the program */
	pt_children_prepare(set);
	return 0;
}

void pt_rings_refused(const struct pt_spec *spec, int error)
{
	char path[sizeof(spec->directory) + PT_FILE_NAME];

	if (!*spec->directory)
		return;
	/*
	 * an empty file: even a full file system has room for a name. By mknod(), as there may be
	 * no free descriptor
	 */
	snprintf(path, sizeof(path), "%s/%d-0-%d.pantrace", spec->directory, (int)getpid(), -error);
	if (!directory_is_meant(spec) || (mknod(path, S_IFREG | 0600, 0) && errno != EEXIST))
		pt_announce_refusal(spec, error);
}

void pt_rings_of_parent(void)
{
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_settings *const set = &pt_settings[i];

		if (pt_emitting && set->mapped)
			pt_memory_stand_in(set->mapped, set->mapped_size);
		set->mapped = NULL;
	}
}

void pt_sessions_of_child(void)
{
	const uint32_t pid = (uint32_t)syscall(SYS_getpid);

	if (!pt_state || pt_state->pid)
		return;
	pt_lock();
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_settings *const set = &pt_settings[i];

		/* the parent's own session in memory: nobody could read the child's */
		if (set->state != PT_RUNNING || (!i && !*set->spec.directory))
			continue;
		fd_close(set);
		/* switching sites is left to the helper: here rings are made, or not */
		if (set->spec.mode < PANTRACE_MODE_MAX &&
		    (set->untracked || !pt_tracked_here(&set->spec.tracked))) {
			set->stale = !set->untracked;
			set->untracked = true;
			set->file[0] = 0;
			set->state = PT_ARMED;
			continue;
		}
		set->error = pt_rings_make(set, pid, set->pid);
		if (!set->error) {
			pt_children_add(set);
			continue;
		}
		pt_rings_refused(&set->spec, set->error);
		set->state = PT_NONE;
	}
	/*
	 * files of children before it: it is known here, and not in the parent, that no seccomp
	 * filter forbids removing them
	 */
	pt_children_sweep(SWEEP_MAX);
	pt_unlock();
}

bool pt_rings_free(struct pt_settings *set)
{
	struct pt_session *const session = pt_session_of(set);

	if (!set->held || pt_session_users(session))
		return !set->held;
	/* NULL: in a forked child, which has no such thread */
	if (session->shm)
		munmap(session->shm, set->held);
	session->shm = NULL;
	set->held = 0;
	return true;
}

/*
 * Ends recording; events that were begun are published. The rings are unmapped when no thread uses
 * them: after the membarrier none does within critical sections, and others count themselves. What
 * a thread that is not through by then writes goes to anonymous memory, and the session's place is
 * free again when it is (pt_rings_free()). A thread that never is, as its signal handler jumped out
 * of an event with longjmp(), keeps one of the PT_SESSIONS - 1 places of the process.
 */
void pt_rings_unmap(struct pt_settings *set)
{
	struct pt_session *const session = pt_session_of(set);
	struct pantrace_shm *const shm = session->shm;
	const struct timespec nap = {.tv_nsec = 100000};
	size_t size;
	int naps = 0;

	fd_close(set);
	set->file[0] = 0;
	if (set->spec.mode == PANTRACE_AGGREGATE)
		pt_tables_unmap((unsigned int)(set - pt_settings));
	if (!shm)
		goto out;
	size = shm->file_size;
	while (pt_session_users(session) && naps++ < 100)
		nanosleep(&nap, NULL);
	if (naps <= 100) {
		session->shm = NULL;
		munmap(shm, size);
		goto out;
	}
	/* the system call itself: TSan takes mmap() for a write, a race with that thread */
	syscall(SYS_mmap, shm, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0l);
	set->held = size;
out:
	set->mapped = NULL;
}

void pt_rings_quiesce(struct pt_settings *set)
{
	struct pt_session *const session = pt_session_of(set);

	pt_session_open(session, 0);
	/* restarts critical sections, which then see it */
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
}

/* FD of the process's first thread, whose descriptors may be others than the helper's. -1: none. */
static int fd_of_process(int fd)
{
	char path[32];
	int pidfd, copy;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, O_RDWR | O_CLOEXEC);
	if (copy >= 0)
		return copy;
	/* there may be no /proc */
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0u);
	if (pidfd < 0)
		return -1;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0u);
	close(pidfd);
	return copy;
}

int pt_session_fd(unsigned int number)
{
	const struct pt_settings *const set = &pt_settings[number];
	struct stat st;
	int fd = -1;

	pt_lock();
	if ((set->state != PT_RUNNING && set->state != PT_STOPPED) || set->file[0])
		goto out;
	/* made by the helper, or by a thread of the program, whose descriptor tables differ */
	if (pt_rings_fd_ours(set)) {
		fd = fcntl(set->fd, F_DUPFD_CLOEXEC, 0);
		goto out;
	}
	fd = fd_of_process(set->fd);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != set->inode)) {
		close(fd);
		fd = -1;
	}
out:
	pt_unlock();
	return fd < 0 ? -ENOENT : fd;
}
