// SPDX-License-Identifier: MIT
#include "children.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHILDREN 1024u

/*
 * NUMBER: of the session's place in pt_settings; the name of a file is in one session's directory
 * only.
 */
struct child {
	int32_t pid; /* 0: free, -1: being noted or looked at */
	uint32_t number;
	uint64_t pid_namespace;
	char file[48];
};

static struct child *children; /* shared with all who are forked from here */

/* A recorder takes the rings of those who have ended by itself. */
static bool is_ours(const struct pt_settings *set)
{
	return set != pt_settings && set->file[0] && !*set->spec.keeper && pt_session_of(set)->shm;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

void pt_children_prepare(const struct pt_settings *set)
{
	void *memory;

	if (children || !is_ours(set))
		return;
	memory = mmap(NULL, CHILDREN * sizeof(*children), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		__atomic_store_n(&children, memory, __ATOMIC_RELEASE);
}

void pt_children_add(const struct pt_settings *set)
{
	if (!children || !is_ours(set) || strlen(set->file) >= sizeof(children->file))
		return;
	for (unsigned int i = 0; i < CHILDREN; i++) {
		struct child *const child = &children[i];
		int32_t free = 0;

		if (!__atomic_compare_exchange_n(&child->pid, &free, -1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		child->number = (uint32_t)(set - pt_settings);
		child->pid_namespace = pt_session_of(set)->shm->pid_namespace;
		strcpy(child->file, set->file);
		__atomic_store_n(&child->pid, (int32_t)set->pid, __ATOMIC_RELEASE);
		return;
	}
}

/* Whether FD has the rings of PID, in which no event was ever published or lost. */
static bool is_empty(int fd, int32_t pid)
{
	struct pantrace_shm shm;
	struct pantrace_ring ring;

	if (pread(fd, &shm, sizeof(shm), 0) != sizeof(shm) || shm.magic != PANTRACE_SHM_MAGIC ||
	    shm.lost || shm.pid != (uint32_t)pid || shm.nr_rings > PT_MAX_RING)
		return false;
	for (uint32_t i = 0; i < shm.nr_rings; i++)
		if (pread(fd, &ring, sizeof(ring), (off_t)(shm.ring_off + i * sizeof(ring))) !=
			    sizeof(ring) ||
		    ring.position || ring.lost)
			return false;
	return true;
}

/* A child that has fewer rights than we may have written anything there. */
static void file_sweep(const struct child *shared, int32_t pid)
{
	const struct child child = *shared;
	const struct pt_settings *const set = &pt_settings[child.number % PT_SESSIONS];
	char path[sizeof(set->spec.directory) + sizeof(child.file) + 1];
	int fd;

	if (!*set->spec.directory || set->state == PT_NONE ||
	    strnlen(child.file, sizeof(child.file)) == sizeof(child.file) ||
	    strchr(child.file, '/'))
		return;
	snprintf(path, sizeof(path), "%s/%s", set->spec.directory, child.file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (is_empty(fd, pid))
		unlink(path);
	close(fd);
}

void pt_children_sweep(unsigned int most)
{
	static unsigned int next;
	const uint64_t here = children ? pid_namespace() : 0;
	const int saved = errno;

	/* where pids mean something else, or nothing is known of that, nobody is taken for dead */
	for (unsigned int i = 0; here && most && i < CHILDREN; i++) {
		struct child *const child = &children[next++ % CHILDREN];
		int32_t pid = __atomic_load_n(&child->pid, __ATOMIC_ACQUIRE);

		if (pid <= 0 || child->pid_namespace != here)
			continue;
		most--;
		if (!kill(pid, 0) || errno != ESRCH ||
		    !__atomic_compare_exchange_n(&child->pid, &pid, -1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		file_sweep(child, pid);
		__atomic_store_n(&child->pid, 0, __ATOMIC_RELEASE);
	}
	errno = saved;
}

bool pt_children_expected(const struct pt_settings *set)
{
	return children && is_ours(set);
}

bool pt_children_noted(void)
{
	const struct child *const all = __atomic_load_n(&children, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; all && i < CHILDREN; i++)
		if (__atomic_load_n(&all[i].pid, __ATOMIC_RELAXED) > 0)
			return true;
	return false;
}
