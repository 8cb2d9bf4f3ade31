/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/hashmap.h"
#include "binary/elf/internal.h"

#define MSEC 1000000ull /* ns */

enum {
	BUCKETS = 4096, /* power of two */
	MAX_PROCESSES = 4096,
	VDSO_MAX = 1 << 20, /* bytes */
};

/*
 * How long an answer from /proc is trusted. A process is checked for exec() at most this often; a
 * burst of unknown addresses costs one read per period.
 */
static const u64 check_period = 2 * MSEC, reread_period = 10 * MSEC, perf_map_period = 100 * MSEC;

struct process_cache {
	struct process *buckets[BUCKETS];
	u32 count;
	u64 clock;
	struct hashmap objects; /* id -> struct object *, NULL after its last user went */
	struct object *vdso; /* ours, and of every other 64-bit process */
};

struct process_cache *process_cache_new(void)
{
	return xzalloc(sizeof(struct process_cache));
}

/* ---- objects ---- */

static void object_put(struct process_cache *c, struct object *o)
{
	void **slot;

	if (!o || --o->users)
		return;
	slot = hashmap_put(&c->objects, &o->id, sizeof(o->id), NULL);
	if (*slot == o)
		*slot = NULL;
	elf_file_close(o->elf);
	free(o);
}

/* Opens `path`, or finds it among those that are open; name: what the file is called, for its debug
 * file. */
static struct object *object_get(struct process_cache *c, const char *path, const char *name,
				 u64 want_inode)
{
	struct object *o, fresh = {0};
	struct stat st;
	void **slot;
	int fd;

	/* stat() first: opening a device would have effects. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || (want_inode && st.st_ino != want_inode))
		return NULL;
	fresh.id.device = st.st_dev;
	fresh.id.inode = st.st_ino;
	fresh.id.size = (u64)st.st_size;
	fresh.id.mtime = (u64)st.st_mtim.tv_sec * 1000000000u + (u64)st.st_mtim.tv_nsec;
	slot = hashmap_put(&c->objects, &fresh.id, sizeof(fresh.id), NULL);
	if (!*slot) {
		fd = foreign_open(path, NULL);
		if (fd < 0)
			return NULL;
		*slot = o = xmalloc(sizeof(*o));
		*o = fresh;
		elf_file_open_fd(fd, name, &o->elf);
		close(fd);
	}
	o = *slot;
	o->users++;
	return o;
}

/*
 * The file behind a mapping. /proc/PID/map_files is exactly that, also for a deleted file, but
 * needs privilege; else its path in the process's root; else, when the process is gone, the path
 * here, if it is still the same inode.
 */
static struct object *open_mapped(struct process_cache *c, pid_t pid,
				  const struct process_mapping *m)
{
	char *rooted = xasprintf("/proc/%d/root%s", (int)pid, m->path);
	char *exact =
		xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start, m->end);
	struct stat here;
	const char *name = stat(m->path, &here) == 0 && here.st_ino == m->inode ? m->path : rooted;
	struct object *o = object_get(c, exact, name, 0);

	if (!o && m->kind == MAPPING_FILE)
		o = object_get(c, rooted, name, m->inode);
	if (!o && m->kind == MAPPING_FILE)
		o = object_get(c, m->path, m->path, m->inode);
	free(rooted);
	free(exact);
	return o;
}

static struct object *open_vdso_image(const char *mem_path, const struct process_mapping *m)
{
	size_t len = (size_t)(m->end - m->start);
	struct object *o = NULL;
	int fd = open(mem_path, O_RDONLY | O_CLOEXEC);
	u8 *data;

	if (fd < 0)
		return NULL;
	data = len <= VDSO_MAX ? xmalloc(len) : NULL;
	if (data && pread(fd, data, len, (off_t)m->start) == (ssize_t)len) {
		o = xzalloc(sizeof(*o));
		o->users = 1;
		if (elf_file_open_buffer(data, len, "[vdso]", &o->elf) < 0)
			o->elf = NULL;
	} else {
		free(data);
	}
	close(fd);
	return o;
}

static int open_own_vdso(void *arg, const struct process_mapping *m)
{
	struct process_cache *c = arg;

	if (m->kind == MAPPING_VDSO)
		c->vdso = open_vdso_image("/proc/self/mem", m);
	return c->vdso != NULL;
}

/* The kernel maps one image into all processes of a word size; ours serves for the 64-bit ones. */
static struct object *open_vdso(struct process_cache *c, pid_t pid, const struct process_mapping *m)
{
	char path[32];

	if (m->start > UINT32_MAX) {
		if (!c->vdso)
			process_each_mapping(getpid(), open_own_vdso, c);
		if (c->vdso)
			c->vdso->users++;
		return c->vdso;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open_vdso_image(path, m);
}

/* ---- processes ---- */

static void process_free(struct process_cache *c, struct process *p)
{
	for (size_t i = 0; i < p->maps.list.len; i++)
		object_put(c, p->objects[i]);
	free(p->objects);
	process_maps_release(&p->maps);
	perf_map_release(p->perf_map);
	free(p);
}

static void evict_one(struct process_cache *c)
{
	struct process **oldest = NULL, *p;

	for (u32 i = 0; i < BUCKETS; i++)
		for (struct process **at = &c->buckets[i]; *at; at = &(*at)->next)
			if (!oldest || (*at)->last_use < (*oldest)->last_use)
				oldest = at;
	if (!oldest)
		return;
	p = *oldest;
	*oldest = p->next;
	c->count--;
	process_free(c, p);
}

static bool read_exe(pid_t pid, u64 *ret_device, u64 *ret_inode)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) < 0)
		return false;
	*ret_device = st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}

/* Who owns it and what it is called in its own PID namespace: the name of its perf map. */
static void read_owner(struct process *p)
{
	char path[64], *text, *line;
	struct stat mine, its;

	p->namespace_pid = p->pid;
	p->uid = p->effective_uid = (uid_t)-1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	if (file_read(path, 1 << 16, &text, NULL) < 0)
		return;
	line = strstr(text, "\nUid:");
	if (line)
		sscanf(line + 5, "%u %u", &p->uid, &p->effective_uid);
	line = strstr(text, "\nNSpid:");
	if (line) {
		size_t n = strcspn(line + 1, "\n");

		line[1 + n] = 0;
		p->namespace_pid = atoi(strrchr(line, '\t') ? strrchr(line, '\t') + 1 : "0");
	}
	free(text);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)p->pid);
	p->in_our_mount_namespace = stat(path, &its) == 0 &&
				    stat("/proc/self/ns/mnt", &mine) == 0 &&
				    its.st_ino == mine.st_ino;
}

static struct process *process_read(struct process_cache *c, pid_t pid)
{
	struct process *p = xzalloc(sizeof(*p));

	p->pid = pid;
	if (!read_exe(pid, &p->exe_device, &p->exe_inode) || process_maps_read(&p->maps, pid) < 0) {
		process_maps_release(&p->maps);
		free(p);
		return NULL;
	}
	p->objects = xzalloc((p->maps.list.len + 1) * sizeof(*p->objects));
	for (size_t i = 0; i < p->maps.list.len; i++) {
		const struct process_mapping *m = &p->maps.list.items[i];

		if (m->kind == MAPPING_FILE || m->kind == MAPPING_DELETED)
			p->objects[i] = open_mapped(c, pid, m);
		else if (m->kind == MAPPING_VDSO)
			p->objects[i] = open_vdso(c, pid, m);
		p->has_jit |= m->kind == MAPPING_ANONYMOUS;
	}
	if (p->has_jit)
		read_owner(p);
	p->checked_at = p->read_at = clock_now_ns(CLOCK_MONOTONIC);
	return p;
}

static struct process **bucket_of(struct process_cache *c, pid_t pid)
{
	return &c->buckets[(u32)pid % BUCKETS];
}

static struct process *newest(struct process *p, pid_t pid)
{
	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static void insert(struct process_cache *c, struct process *p)
{
	struct process **bucket = bucket_of(c, p->pid);

	if (c->count >= MAX_PROCESSES)
		evict_one(c);
	p->last_use = ++c->clock;
	p->next = *bucket;
	*bucket = p;
	c->count++;
}

struct process *process_cache_get(struct process_cache *c, pid_t pid)
{
	struct process *p = newest(*bucket_of(c, pid), pid), *fresh;
	u64 t = clock_now_ns(CLOCK_MONOTONIC), device, inode;

	if (p) {
		p->last_use = ++c->clock;
		if (t - p->checked_at < check_period)
			return p;
		p->checked_at = t;
		if (!read_exe(pid, &device, &inode) ||
		    (device == p->exe_device && inode == p->exe_inode))
			return p;
	}
	fresh = process_read(c, pid);
	if (!fresh)
		return p;
	insert(c, fresh);
	return fresh;
}

static bool same_mappings(const struct process_maps *a, const struct process_maps *b)
{
	if (a->list.len != b->list.len)
		return false;
	for (size_t i = 0; i < a->list.len; i++)
		if (a->list.items[i].start != b->list.items[i].start ||
		    a->list.items[i].end != b->list.items[i].end ||
		    a->list.items[i].inode != b->list.items[i].inode)
			return false;
	return true;
}

/* Is what `old` knew also known to `fresh`? Then the old view is not needed any more (a library was
 * loaded). */
static bool covers(const struct process *fresh, const struct process *old)
{
	for (size_t i = 0; i < old->maps.list.len; i++) {
		const struct process_mapping *m = &old->maps.list.items[i];
		const struct process_mapping *n = process_maps_find(&fresh->maps, m->start);

		if (!n || n->inode != m->inode || n->end < m->end)
			return false;
	}
	return true;
}

bool process_cache_reread(struct process_cache *c, struct process *p)
{
	u64 t = clock_now_ns(CLOCK_MONOTONIC);
	struct process *fresh, **at;

	if (t - p->read_at < reread_period)
		return false;
	p->read_at = t;
	fresh = process_read(c, p->pid);
	if (!fresh)
		return false;
	if (same_mappings(&fresh->maps, &p->maps)) {
		process_free(c, fresh);
		return false;
	}
	if (!covers(fresh, p)) {
		insert(c, fresh);
		return true;
	}
	for (at = bucket_of(c, p->pid); *at != p;)
		at = &(*at)->next;
	fresh->next = p->next;
	fresh->last_use = p->last_use;
	*at = fresh;
	process_free(c, p);
	return true;
}

/* ---- told by the kernel ---- */

void process_cache_exec(struct process_cache *c, pid_t pid)
{
	struct process *p = xzalloc(sizeof(*p));

	p->pid = pid;
	insert(c,
	       p); /* exe unknown: read as a whole at the first question if it still lives then */
}

static void add_mapping(struct process_cache *c, struct process *p, const struct process_mapping *m)
{
	size_t n = p->maps.list.len, at = n;
	struct process_mapping copy = *m;

	while (at > 0 && p->maps.list.items[at - 1].start > m->start)
		at--;
	copy.path = arena_strdup(&p->maps.arena, m->path);
	vector_push(&p->maps.list, copy);
	memmove(p->maps.list.items + at + 1, p->maps.list.items + at, (n - at) * sizeof(copy));
	p->maps.list.items[at] = copy;
	p->objects = xreallocarray(p->objects, n + 2, sizeof(*p->objects));
	memmove(p->objects + at + 1, p->objects + at, (n - at) * sizeof(*p->objects));
	p->objects[at] = NULL;
	if (copy.kind == MAPPING_FILE || copy.kind == MAPPING_DELETED)
		p->objects[at] = open_mapped(c, p->pid, &p->maps.list.items[at]);
	else if (copy.kind == MAPPING_VDSO)
		p->objects[at] = open_vdso(c, p->pid, &p->maps.list.items[at]);
}

/* A new view of `pid` with the mappings of `from` that do not overlap `except`. */
static struct process *copy_view(struct process_cache *c, struct process *from, pid_t pid,
				 const struct process_mapping *except)
{
	struct process *p;

	from->last_use = ++c->clock; /* not the one that makes room */
	process_cache_exec(c, pid);
	p = newest(*bucket_of(c, pid), pid);
	for (size_t i = 0; i < from->maps.list.len; i++) {
		const struct process_mapping *m = &from->maps.list.items[i];

		if (!except || m->end <= except->start || m->start >= except->end)
			add_mapping(c, p, m);
	}
	return p;
}

static bool overlaps(const struct process *p, const struct process_mapping *m)
{
	for (size_t i = 0; i < p->maps.list.len; i++)
		if (p->maps.list.items[i].start < m->end && m->start < p->maps.list.items[i].end)
			return true;
	return false;
}

void process_cache_map(struct process_cache *c, pid_t pid, const struct process_mapping *m)
{
	struct process *p = newest(*bucket_of(c, pid), pid);
	const struct process_mapping *known;

	if (!p)
		p = process_cache_get(c, pid);
	if (!p) {
		process_cache_exec(c, pid);
		p = newest(*bucket_of(c, pid), pid);
	}
	known = process_maps_find(&p->maps, m->start);
	if (known && known->start == m->start && known->end == m->end && known->inode == m->inode)
		return;
	/* What lay there before stays in the older view. */
	if (overlaps(p, m))
		p = copy_view(c, p, pid, m);
	add_mapping(c, p, m);
}

void process_cache_fork(struct process_cache *c, pid_t child, pid_t parent)
{
	struct process *from = newest(*bucket_of(c, parent), parent);

	if (!from)
		from = process_cache_get(c, parent);
	if (from)
		copy_view(c, from, child, NULL);
	else
		process_cache_exec(c, child);
}

struct process *process_cache_older(struct process *p)
{
	return newest(p->next, p->pid);
}

void process_cache_release(struct process_cache *c)
{
	if (!c)
		return;
	for (u32 i = 0; i < BUCKETS; i++)
		for (struct process *p = c->buckets[i], *next; p; p = next) {
			next = p->next;
			process_free(c, p);
		}
	hashmap_each (&c->objects, e) {
		struct object *o = e->value;

		if (o) {
			elf_file_close(o->elf);
			free(o);
		}
	}
	if (c->vdso) {
		elf_file_close(c->vdso->elf);
		free(c->vdso);
	}
	hashmap_release(&c->objects);
	free(c);
}

/* ---- code made at run time ---- */

static void refresh_perf_map(struct process *p)
{
	struct perf_map *fresh = NULL;
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)p->pid,
		 (int)p->namespace_pid);
	if (lstat(path, &st) < 0 && p->in_our_mount_namespace) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)p->namespace_pid);
		if (lstat(path, &st) < 0)
			return;
	}
	if (p->perf_map && (u64)st.st_size == p->perf_map_size)
		return;
	if (perf_map_read(path, p->uid, p->effective_uid, &fresh) < 0)
		return;
	perf_map_release(p->perf_map);
	p->perf_map = fresh;
	p->perf_map_size = (u64)st.st_size;
}

const char *process_jit_symbol(struct process *p, u64 address, u64 *ret_offset)
{
	const char *name = p->perf_map ? perf_map_find(p->perf_map, address, ret_offset) : NULL;
	u64 t = clock_now_ns(CLOCK_MONOTONIC);

	if (name || !p->has_jit || (p->perf_map_at && t < p->perf_map_at + perf_map_period))
		return name;
	refresh_perf_map(p);
	/* A map that takes long to read is read less often. */
	p->perf_map_at = t + 20 * (clock_now_ns(CLOCK_MONOTONIC) - t);
	return p->perf_map ? perf_map_find(p->perf_map, address, ret_offset) : NULL;
}
