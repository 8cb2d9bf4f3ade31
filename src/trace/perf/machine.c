/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/format.h"
#include "trace/perf/machine_internal.h"

#define MAPPINGS_MAX (1u << 23) /* of all processes */

struct perf_machine *perf_machine_new(const struct perf_data *data,
				      const struct perf_machine_options *options)
{
	struct perf_machine *m = xzalloc(sizeof(*m));

	m->data = data;
	m->options = *options;
	return m;
}

bool perf_machine_wants_locals(const struct perf_machine *m)
{
	return m->options.types;
}

void perf_machine_release(struct perf_machine *m)
{
	if (!m)
		return;
	hashmap_each (&m->processes, e) {
		struct process *p = e->value;

		vector_free(&p->list);
	}
	hashmap_each (&m->objects, e) {
		struct object *o = e->value;

		elf_file_close(o->elf);
		hashmap_release(&o->names);
		hashmap_release(&o->inlines);
		perf_locals_release(o);
		unwind_release(&o->rows);
	}
	vector_free(&m->kernel.list);
	hashmap_release(&m->threads);
	hashmap_release(&m->processes);
	hashmap_release(&m->objects);
	elf_file_close(m->vmlinux);
	ksyms_release(m->in_file);
	if (m->running)
		kernel_release(m->running);
	arena_release(&m->arena);
	free(m);
}

/* ---- threads ---- */

static struct thread *thread_of(struct perf_machine *m, u32 tid)
{
	void **at;

	if (m->last && m->last_tid == tid)
		return m->last;
	at = hashmap_put(&m->threads, &tid, sizeof(tid), NULL);
	if (!*at)
		*at = arena_new(&m->arena, struct thread);
	m->last_tid = tid;
	return m->last = *at;
}

const char *perf_machine_comm(struct perf_machine *m, u32 tid)
{
	struct thread *t = thread_of(m, tid);

	if (!t->comm)
		t->comm = tid ? arena_printf(&m->arena, ":%d", (s32)tid) : "swapper";
	return t->comm;
}

void perf_machine_tasks(struct perf_machine *m, recorded_task_fn *fn, void *arg)
{
	hashmap_each (&m->threads, e) {
		const struct thread *const t = e->value;
		const struct thread *const leader =
			hashmap_get(&m->threads, &t->pid, sizeof(t->pid));
		u32 tid;

		memcpy(&tid, e->key, sizeof(tid));
		fn(arg,
		   &(struct recorded_task){.tid = tid,
					   .pid = t->pid || !tid ? (s64)t->pid : -1,
					   .ppid = leader && leader->ppid ? (s64)leader->ppid : -1,
					   .comm = t->comm,
					   .comm_size = t->comm ? strlen(t->comm) : 0});
	}
}

struct process *perf_machine_process(struct perf_machine *m, u32 pid)
{
	void **at = hashmap_put(&m->processes, &pid, sizeof(pid), NULL);

	if (!*at)
		*at = arena_new(&m->arena, struct process);
	return *at;
}

/* A hostile file would have us copy without end. */
static bool may_grow(struct perf_machine *m, size_t n)
{
	const bool may = n <= MAPPINGS_MAX - m->mappings;

	m->mappings += may ? n : 0;
	m->left_out += may ? 0 : n;
	return may;
}

u64 perf_machine_left_out(const struct perf_machine *m)
{
	return m->left_out;
}

static void comm_told(struct perf_machine *m, struct cursor c, u16 misc)
{
	const u32 pid = cursor_u32(&c), tid = cursor_u32(&c);
	const char *comm = cursor_string(&c);

	if (!comm)
		return;
	thread_of(m, tid)->comm = arena_strdup(&m->arena, comm);
	thread_of(m, tid)->pid = pid;
	if (misc & PERF_RECORD_MISC_COMM_EXEC) {
		struct process *const p = perf_machine_process(m, pid);

		m->mappings -= p->list.len;
		vector_free(&p->list);
	}
}

static void fork_told(struct perf_machine *m, struct cursor c)
{
	const u32 pid = cursor_u32(&c), parent = cursor_u32(&c), tid = cursor_u32(&c),
		  parent_tid = cursor_u32(&c);
	struct process *to;
	const struct process *from;

	if (c.failed)
		return;
	/* found twice: the first may move when the second is made */
	thread_of(m, tid)->comm = thread_of(m, parent_tid)->comm;
	thread_of(m, tid)->pid = pid;
	if (pid == parent)
		return;
	thread_of(m, pid)->ppid = parent;
	from = perf_machine_process(m, parent);
	to = perf_machine_process(m, pid);
	m->mappings -= to->list.len;
	to->list.len = 0;
	if (!may_grow(m, from->list.len))
		return;
	vector_reserve(&to->list, from->list.len);
	if (from->list.len)
		memcpy(to->list.items, from->list.items,
		       from->list.len * sizeof(*from->list.items));
	to->list.len = from->list.len;
}

/* ---- mappings ---- */

void perf_hex(const u8 *bytes, size_t n, char *to)
{
	for (size_t i = 0; i < n; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* "/lib/modules/6.1/kernel/fs/ext4.ko.xz" is [ext4] for perf, with '_' for '-'. */
static const char *module_name(struct perf_machine *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name;

	if (*path == '[')
		return path;
	name = arena_printf(&m->arena, "[%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = 0;
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	return arena_printf(&m->arena, "%s]", name);
}

static struct object *object_of(struct perf_machine *m, const char *path, bool is_kernel,
				const struct perf_build_id *id)
{
	const struct perf_build_id *const said =
		id && id->size ? id : perf_data_build_id(m->data, path);
	char build_id[41] = "";
	struct object *o;
	void **at;
	char *key;

	if (said)
		perf_hex(said->bytes, MIN(said->size, (u8)20), build_id);
	key = xasprintf("%c%s %s", is_kernel ? 'k' : 'u', build_id, path);
	at = hashmap_put(&m->objects, key, strlen(key) + 1, NULL);
	free(key);
	if (*at)
		return *at;
	o = *at = arena_new(&m->arena, struct object);
	o->path = arena_strdup(&m->arena, path);
	o->shown = is_kernel ? module_name(m, o->path) : o->path;
	memcpy(o->build_id, build_id, sizeof(build_id));
	return o;
}

/* The first one that ends behind the address. */
size_t perf_machine_find(const struct process *p, u64 address)
{
	size_t low = 0, high = p->list.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->list.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What was there before and is not covered stays. */
static void map(struct perf_machine *m, struct process *p, struct mapping new)
{
	size_t first = perf_machine_find(p, new.start), last = first, n = 0;
	struct mapping pieces[3];

	while (last < p->list.len && p->list.items[last].start < new.end)
		last++;
	if (last > first && p->list.items[first].start < new.start) {
		pieces[n] = p->list.items[first];
		pieces[n++].end = new.start;
	}
	pieces[n++] = new;
	if (last > first && p->list.items[last - 1].end > new.end) {
		pieces[n] = p->list.items[last - 1];
		pieces[n].offset += new.end - pieces[n].start;
		pieces[n++].start = new.end;
	}
	if (!may_grow(m, n))
		return;
	m->mappings -= last - first;
	vector_reserve(&p->list, p->list.len + n);
	memmove(p->list.items + first + n, p->list.items + last,
		(p->list.len - last) * sizeof(*p->list.items));
	memcpy(p->list.items + first, pieces, n * sizeof(*pieces));
	p->list.len = p->list.len - (last - first) + n;
}

/*
 * u8 size, three zeros, 20 bytes. The kernel marks records as such that hold numbers of a device
 * and an inode, if another tracer asked for build-ids meanwhile. No disk has the numbers 16 to 20;
 * those of SCSI have 8, so ids of 8 bytes (lld --build-id=fast) are not taken from here.
 */
static struct perf_build_id id_of_mapping(struct cursor details)
{
	struct perf_build_id id = {.size = cursor_u8(&details)};
	const u8 *const zeros = cursor_bytes(&details, 3);
	const void *const bytes = cursor_bytes(&details, sizeof(id.bytes));

	if (id.size < 16 || id.size > sizeof(id.bytes) || !bytes || zeros[0] | zeros[1] | zeros[2])
		return (struct perf_build_id){0};
	memcpy(id.bytes, bytes, sizeof(id.bytes));
	return id;
}

static void mapping_told(struct perf_machine *m, const struct perf_record *r)
{
	struct cursor c = r->body;
	const u32 pid = cursor_u32(&c);
	struct perf_build_id id = {0};
	struct mapping new;
	const char *path;
	u64 start, length, offset;
	bool is_kernel;

	cursor_u32(&c); /* tid */
	start = cursor_u64(&c);
	length = cursor_u64(&c);
	offset = cursor_u64(&c);
	if (r->type == PERF_RECORD_MMAP2) {
		struct cursor details = c;

		cursor_bytes(&c, 32);
		if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			id = id_of_mapping(details);
	}
	path = cursor_string(&c);
	if (!path || !length || start > UINT64_MAX - length)
		return;
	is_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (is_kernel && str_starts(path, PERF_KERNEL_NAME)) {
		m->text_at = offset; /* perf's way to say where its symbol _text is */
		m->kernel_id = id;
		m->kernel_map = (struct recorded_mapping){.start = start,
							  .length = length,
							  .offset = offset,
							  .path = arena_strdup(&m->arena, path)};
		return;
	}
	if (r->misc & PERF_RECORD_MISC_MMAP_DATA && r->type == PERF_RECORD_MMAP)
		return;
	new = (struct mapping){start, start + length, offset, object_of(m, path, is_kernel, &id)};
	map(m, is_kernel ? &m->kernel : perf_machine_process(m, pid), new);
}

/* A program of BPF: u64 address, u32 length, u16 type, u16 flags (1 = it went), name. */
static void symbol_told(struct perf_machine *m, struct cursor c)
{
	const u64 start = cursor_u64(&c);
	const u32 length = cursor_u32(&c);
	const bool went = cursor_u32(&c) >> 16 & 1;
	const char *name = cursor_string(&c);
	struct object *o;

	if (!name || went || !length || start > UINT64_MAX - length)
		return;
	o = object_of(m, name, false, NULL);
	o->looked_for = true;
	map(m, &m->kernel, (struct mapping){start, start + length, 0, o});
}

void perf_machine_tell(struct perf_machine *m, const struct perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_COMM:
		comm_told(m, r->body, r->misc);
		break;
	case PERF_RECORD_FORK:
		fork_told(m, r->body);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		mapping_told(m, r);
		break;
	case PERF_RECORD_KSYMBOL:
		symbol_told(m, r->body);
		break;
	}
}
