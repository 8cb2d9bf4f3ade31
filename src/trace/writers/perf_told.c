/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/perf_told.h"

#include "base/vector.h"

/* Something that was told to be mapped. */
struct told_mapping {
	u64 start, end, offset;
	const char *path;
};

struct told_process {
	VECTOR(struct told_mapping) list;
};

struct told_thread {
	s64 pid;
	char *comm;
};

void perf_told_release(struct perf_told *told)
{
	hashmap_each (&told->threads, e) {
		struct told_thread *const t = e->value;

		free(t->comm);
		free(t);
	}
	hashmap_each (&told->processes, e) {
		struct told_process *const t = e->value;

		vector_free(&t->list);
		free(t);
	}
	hashmap_release(&told->threads);
	hashmap_release(&told->processes);
}

void perf_tell_task(struct perf_told *told, const struct perf_side *side,
		    const struct recorded_place *place)
{
	const size_t size = place->comm ? strnlen(place->comm, place->comm_size) : 0;
	struct told_thread *t;
	void **at;

	if (place->tid <= 0 || !size || *place->comm == ':')
		return;
	at = hashmap_put(&told->threads, &place->tid, sizeof(place->tid), NULL);
	t = *at = *at ?: xzalloc(sizeof(*t));
	if (t->comm && t->pid == place->pid && strlen(t->comm) == size &&
	    !memcmp(t->comm, place->comm, size))
		return;
	free(t->comm);
	t->comm = xstrndup(place->comm, size);
	t->pid = place->pid;
	perf_side_comm(side, (u32)place->pid, (u32)place->tid, t->comm, size);
}

/* True if it was told; what it covers is forgotten otherwise. */
static bool is_told(struct told_process *t, const struct recorded_mapping *m)
{
	const u64 end = m->start + m->length;
	size_t kept = 0;

	for (size_t i = 0; i < t->list.len; i++) {
		const struct told_mapping *const told = &t->list.items[i];

		if (told->start == m->start && told->end == end && told->offset == m->offset &&
		    str_eq(told->path, m->path))
			return true;
	}
	for (size_t i = 0; i < t->list.len; i++)
		if (t->list.items[i].end <= m->start || t->list.items[i].start >= end)
			t->list.items[kept++] = t->list.items[i];
	t->list.len = kept;
	return false;
}

void perf_tell_mapping(struct perf_told *told, const struct perf_side *side, bool is_kernel,
		       s64 pid, const struct recorded_mapping *m)
{
	const struct perf_build_id id = perf_build_id_of_text(m->build_id);
	struct told_process *t;
	void **at;

	told->has_kernel |= is_kernel;
	pid = is_kernel ? -1 : pid;
	at = hashmap_put(&told->processes, &pid, sizeof(pid), NULL);
	t = *at = *at ?: xzalloc(sizeof(*t));
	if (is_told(t, m))
		return;
	vector_push(&t->list,
		    (struct told_mapping){m->start, m->start + m->length, m->offset, m->path});
	if (m->is_symbol) {
		perf_side_symbol(side, m->start, (u32)m->length, m->path);
		return;
	}
	perf_side_mapping(side, is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			  &(struct perf_side_mapping){.pid = (u32)pid,
						      .start = m->start,
						      .length = m->length,
						      .offset = m->offset,
						      .id = &id,
						      .path = m->path});
}
