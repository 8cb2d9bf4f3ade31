// SPDX-License-Identifier: MIT
/*
 * Whose tables are where. What the event path reads is wiped by the kernel in a forked child, as
 * in session.c: there fork() makes tables of the child's own, in a file beside its parent's.
 */
#include "aggregate_session.h"
#include "session.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE	  4096ull
#define ARENA	  65536u
#define FIRST_ALL (4ull << 20) /* bytes of records that tables begin with; a child's: a quarter */
#define AHEAD	  (4ull << 20) /* of a map's records, more than those that are used */
#define STEP	  (256ull << 10) /* events may use a step before the next is had */

static struct state {
	struct pt_tables *tables[PT_SESSIONS];
	uint64_t lost[PT_SESSIONS]; /* before there was a header to count them in */
} * state;

/* Ordinary memory: a child has it, and no tables yet. */
static bool lives[PT_SESSIONS];

static int state_get(void)
{
	struct state *made;

	if (state)
		return 0;
	made = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return -errno;
	if (madvise(made, PAGE, MADV_WIPEONFORK)) {
		const int error = errno;

		munmap(made, PAGE);
		return -error;
	}
	__atomic_store_n(&state, made, __ATOMIC_RELEASE);
	return 0;
}

/* Never freed: a thread may be in it long after its session. */
static struct pt_tables *tables_new(uint32_t nr)
{
	static char *arena;
	static size_t used = ARENA;
	const size_t size =
		(offsetof(struct pt_tables, table) + nr * sizeof(struct pt_table) + 63) & ~63ul;

	if (used + size > ARENA) {
		char *const more = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more == MAP_FAILED)
			return NULL;
		arena = more;
		used = 0;
	}
	used += size;
	return (struct pt_tables *)(arena + used - size);
}

static void header_fill(struct pantrace_aggregates *header, const struct pt_spec *spec,
			uint32_t pid, uint32_t parent)
{
	struct stat st;

	header->pid = pid;
	header->parent = parent;
	if (!stat("/proc/self/ns/pid", &st))
		header->pid_namespace = st.st_ino;
	memcpy(header->session, spec->name, sizeof(header->session));
	prctl(PR_GET_NAME, header->comm);
}

/* How many records of T have room in BYTES. */
static uint32_t records_of(const struct pt_table *t, uint64_t bytes)
{
	const uint64_t size = t->key_stride + (t->stripe_mask + 1ull) * t->value_size;

	return bytes / size < t->records ? (uint32_t)(bytes / size) : t->records;
}

/*
 * The first N records of T have their memory, as far as there is some: step by step, so that the
 * last of what a file system has is used, too.
 */
static void records_have(struct pt_table *t, uint32_t n)
{
	const uint32_t step = records_of(t, STEP);
	bool good = true;

	while (good && t->reserved < n) {
		const uint32_t from = t->reserved, more = n - from < step ? n - from : step;

		good = pt_memory_reserve(t->keys + (uint64_t)from * t->key_stride,
					 (uint64_t)more * t->key_stride);
		for (uint32_t s = 0; s <= t->stripe_mask && good; s++)
			good = pt_memory_reserve(t->values + ((uint64_t)s * t->records + from) *
								     t->value_size,
						 (uint64_t)more * t->value_size);
		if (good)
			__atomic_store_n(&t->reserved, from + more, __ATOMIC_RELEASE);
	}
}

/*
 * A write to memory that a full file system does not have would be a SIGBUS of the program. So it
 * is had before: the slots and the first records now, the rest by the helper as keys come (Linux
 * 5.14), or all of it now.
 */
static int memory_have(int fd, const struct pantrace_aggregates *header, struct pt_tables *tables)
{
	const uint64_t first = (header->parent ? FIRST_ALL / 4 : FIRST_ALL) / header->nr_maps;
	char *const shm = (char *)tables->shm;

	if (!pt_memory_reserve(shm, PAGE)) {
		tables->had = true;
		return pt_file_allocate(fd, 0, header->file_size);
	}
	for (uint32_t i = 0; i < header->nr_maps; i++)
		if (!pt_memory_reserve(shm + header->map[i].slots_off,
				       header->map[i].keys_off - header->map[i].slots_off))
			return -ENOSPC;
	for (uint32_t i = 0; i < header->nr_maps; i++)
		records_have(&tables->table[i], records_of(&tables->table[i], first));
	return 0;
}

/* Only system calls: a child may be in a signal handler, or the one thread left of many. */
int pt_tables_make(unsigned int number, const struct pt_spec *spec, uint32_t pid, uint32_t parent,
		   char file[64])
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct pantrace_aggregates header;
	struct pt_tables *tables;
	void *shm = MAP_FAILED;
	int fd, rc;

	rc = pt_tables_layout(spec->map, spec->nr_maps, cpus > 0 ? (uint32_t)cpus : 1, &header);
	if (!rc)
		rc = state_get();
	if (rc)
		return rc;
	fd = pt_session_file_make(spec, pid, file);
	if (fd < 0)
		return fd;
	header_fill(&header, spec, pid, parent);
	rc = -ENOMEM;
	tables = tables_new(header.nr_maps);
	if (!tables)
		goto out;
	rc = pt_file_size_set(fd, header.file_size);
	if (rc)
		goto out;
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rc = shm == MAP_FAILED ? -errno : 0;
	if (rc)
		goto out;
	pt_tables_place(&header, shm, tables);
	rc = memory_have(fd, &header, tables);
	if (rc)
		goto out;
	madvise(shm, header.file_size, MADV_DONTFORK);
	memcpy(shm, &header, sizeof(header));
	tables->shm->lost = __atomic_exchange_n(&state->lost[number], 0, __ATOMIC_RELAXED);
	lives[number] = true;
	__atomic_store_n(&state->tables[number], tables, __ATOMIC_RELEASE);
	__atomic_store_n(&tables->shm->magic, PANTRACE_AGGREGATE_MAGIC, __ATOMIC_RELEASE);
	return fd;
out:
	if (shm != MAP_FAILED)
		munmap(shm, header.file_size);
	pt_session_file_remove(spec, file);
	close(fd);
	return rc;
}

struct pt_tables *pt_tables_of(unsigned int number)
{
	struct pt_tables *tables;

	if (__builtin_expect(!state, 0))
		return NULL;
	tables = __atomic_load_n(&state->tables[number], __ATOMIC_ACQUIRE);
	/* none, and no end of the session: those of a child that are being made, by fork() */
	if (__builtin_expect(!tables, 0) && lives[number])
		__atomic_fetch_add(&state->lost[number], 1, __ATOMIC_RELAXED);
	return tables;
}

void pt_tables_where(unsigned int number, void **ret, size_t *ret_size)
{
	*ret = state->tables[number]->shm;
	*ret_size = state->tables[number]->size;
}

bool pt_tables_follow(unsigned int number, bool all)
{
	struct pt_tables *const tables = state ? state->tables[number] : NULL;
	bool lacking = false;

	for (uint32_t i = 0; tables && !tables->had && i < tables->nr; i++) {
		struct pt_table *const t = &tables->table[i];
		const uint64_t used = __atomic_load_n(&t->shared->used, __ATOMIC_RELAXED);
		const uint64_t n = all ? t->records : used ? used + records_of(t, AHEAD) : 0;

		records_have(t, n < t->records ? (uint32_t)n : t->records);
		lacking |= t->reserved < t->records;
	}
	return lacking;
}

/* Threads may be in an update: from now on they update memory that nobody sees. */
void pt_tables_unmap(unsigned int number)
{
	struct pt_tables *tables;

	lives[number] = false;
	if (!state)
		return;
	tables = __atomic_exchange_n(&state->tables[number], NULL, __ATOMIC_ACQ_REL);
	if (tables)
		mmap(tables->shm, tables->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
