/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "binary/elf/file.h"
#include "kernel/kernel.h"
#include "kernel/symbols/ksyms.h"
#include "trace/perf/format.h"
#include "trace/recorded_file.h"

#define MAPPINGS_MAX (1u << 23) /* of all processes */
#define INLINES_MAX  16u

/* Something that is mapped: a file, memory without one, a module. */
struct object {
	const char *path; /* as recorded */
	const char *shown;
	char build_id[41]; /* hex; "" = not recorded */
	struct elf_file *elf;
	bool looked_for;
	struct hashmap names; /* of symbols, demangled: by their address */
	struct hashmap inlines; /* by address: struct inlines */
	struct unwind_rows rows; /* by address */
	bool rows_were_read;
};

/* Functions that are inlined at an address. */
struct inlines {
	u32 count;
	const char *names[];
};

struct mapping {
	u64 start, end, offset; /* of the file */
	struct object *object;
};

struct process {
	VECTOR(struct mapping) list; /* by address, apart from each other */
};

struct thread {
	const char *comm; /* NULL = not told */
};

struct perf_machine {
	const struct perf_data *data;
	struct perf_machine_options options;
	struct arena arena;
	struct hashmap threads, processes; /* by u32 */
	struct hashmap objects; /* "BUILD-ID PATH" */
	struct process kernel; /* modules and programs of BPF */
	struct kernel *running;
	bool kernel_looked_for;
	struct ksyms *symbols; /* of the recorded kernel; NULL = not to be had */
	u64 text_at; /* where the recorded kernel has its _text; 0 = not said */
	u32 last_tid;
	struct thread *last;
	size_t mappings;
	u64 left_out;
};

struct perf_machine *perf_machine_new(const struct perf_data *data,
				      const struct perf_machine_options *options)
{
	struct perf_machine *m = xzalloc(sizeof(*m));

	m->data = data;
	m->options = *options;
	return m;
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
		unwind_release(&o->rows);
	}
	vector_free(&m->kernel.list);
	hashmap_release(&m->threads);
	hashmap_release(&m->processes);
	hashmap_release(&m->objects);
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

static struct process *process_of(struct perf_machine *m, u32 pid)
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
	if (misc & PERF_RECORD_MISC_COMM_EXEC) {
		struct process *const p = process_of(m, pid);

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
	if (pid == parent)
		return;
	from = process_of(m, parent);
	to = process_of(m, pid);
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

static void hex(const u8 *bytes, size_t n, char *to)
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
		hex(said->bytes, MIN(said->size, (u8)20), build_id);
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
static size_t find(const struct process *p, u64 address)
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
	size_t first = find(p, new.start), last = first, n = 0;
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
		if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			const void *bytes;

			id.size = MIN(cursor_u8(&details), (u8)20);
			cursor_bytes(&details, 3);
			bytes = cursor_bytes(&details, 20);
			if (bytes)
				memcpy(id.bytes, bytes, 20);
		}
	}
	path = cursor_string(&c);
	if (!path || !length || start > UINT64_MAX - length)
		return;
	is_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (is_kernel && str_starts(path, PERF_KERNEL_NAME)) {
		m->text_at = offset; /* perf's way to say where its symbol _text is */
		return;
	}
	if (r->misc & PERF_RECORD_MISC_MMAP_DATA && r->type == PERF_RECORD_MMAP)
		return;
	new = (struct mapping){start, start + length, offset, object_of(m, path, is_kernel, &id)};
	map(m, is_kernel ? &m->kernel : process_of(m, pid), new);
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

/* ---- names ---- */

/* The running kernel's, if that is the recorded one and has not started anew. */
static struct ksyms *kernel_symbols(struct perf_machine *m)
{
	const struct perf_build_id *const recorded = perf_data_build_id(m->data, PERF_KERNEL_NAME);
	struct perf_build_id running;
	char now[41] = "", then[41] = "";

	if (m->kernel_looked_for)
		return m->symbols;
	m->kernel_looked_for = true;
	running = perf_build_id_of_notes("/sys/kernel/notes");
	hex(running.bytes, running.size, now);
	if (recorded)
		hex(recorded->bytes, MIN(recorded->size, (u8)20), then);
	if (!m->text_at || (recorded && !str_eq(now, then)))
		return NULL;
	m->running = kernel_new();
	m->symbols = kernel_ksyms(m->running);
	if (ksyms_address(m->symbols, "_text") != m->text_at &&
	    ksyms_address(m->symbols, "_stext") != m->text_at)
		m->symbols = NULL;
	return m->symbols;
}

static struct recorded_frame kernel_place(struct perf_machine *m, u64 address)
{
	struct recorded_frame place = {.is_kernel = true,
				       .address = address,
				       .in_file = address,
				       .object = PERF_KERNEL_NAME};
	const size_t i = find(&m->kernel, address);
	const struct mapping *const in =
		i < m->kernel.list.len && m->kernel.list.items[i].start <= address
			? &m->kernel.list.items[i]
			: NULL;
	struct ksyms *symbols = m->options.no_symbols ? NULL : kernel_symbols(m);
	struct kernel_symbol found;

	if (in)
		place.object = in->object->shown;
	if (in && in->object->looked_for) { /* it is its own name */
		place.symbol = in->object->path;
		place.offset = address - in->start;
	} else if (symbols && ksyms_at(symbols, address, KSYM_TELLING, &found)) {
		place.symbol = found.name;
		place.offset = address - found.address;
	}
	return place;
}

static struct elf_file *elf_of(struct perf_machine *m, struct object *o)
{
	const struct recorded_file_search search = {
		.places = m->options.places,
		.nr_places = m->options.nr_places,
		.path = o->path,
		.build_id = o->build_id,
		.unchanged_since_ns = perf_data_written(m->data),
	};

	if (!o->looked_for && !m->options.no_symbols)
		o->elf = recorded_file_open(&search);
	o->looked_for = true;
	return o->elf;
}

/* As perf shows it: "ns::f" of "int ns::f<int>(int) const". */
static char *without_types(char *name)
{
	char *close = strrchr(name, ')');
	int depth = 0;

	if (!close || strchr(close, ':'))
		return demangled_name(name);
	for (char *p = close; p > name; p--) {
		depth += *p == ')' ? 1 : *p == '(' ? -1 : 0;
		if (!depth) {
			*p = 0;
			break;
		}
	}
	return demangled_name(name);
}

static const char *clear_name(struct perf_machine *m, const char *name)
{
	char *clear = demangle(name);
	const char *kept = arena_strdup(&m->arena, clear ? without_types(clear) : name);

	free(clear);
	return kept;
}

/* Names are kept demangled, once for each symbol. */
static const char *shown_name(struct perf_machine *m, struct object *o,
			      const struct elf_symbol *symbol)
{
	void **at = hashmap_put(&o->names, &symbol->address, sizeof(symbol->address), NULL);

	if (!*at)
		*at = (void *)clear_name(m, symbol->name);
	return *at;
}

/* What is mapped at an address of a process; NULL = nothing. */
static const struct mapping *mapping_at(struct perf_machine *m, u32 pid, u64 address)
{
	const struct process *const p = process_of(m, pid);
	const size_t i = find(p, address);

	return i < p->list.len && p->list.items[i].start <= address ? &p->list.items[i] : NULL;
}

/* The object's file, and where in its memory the address is; NULL = it is not to be had. */
static struct elf_file *code_at(struct perf_machine *m, const struct mapping *in, u64 address,
				u64 *ret_at)
{
	struct elf_file *elf = in ? elf_of(m, in->object) : NULL;

	return elf && !elf_file_address(elf, address - in->start + in->offset, ret_at) ? elf : NULL;
}

static struct recorded_frame user_place(struct perf_machine *m, u32 pid, u64 address)
{
	const struct mapping *const in = mapping_at(m, pid, address);
	struct recorded_frame place = {.address = address, .in_file = address};
	struct elf_symbol symbol;
	struct elf_file *elf;
	u64 at;

	if (!in)
		return place;
	place.object = in->object->shown;
	place.build_id = in->object->build_id;
	place.in_file = address - in->start + in->offset;
	elf = code_at(m, in, address, &at);
	if (elf && elf_file_symbol_at(elf, at, &symbol, &place.offset))
		place.symbol = shown_name(m, in->object, &symbol);
	return place;
}

/* ---- what debug information says of code ---- */

static struct inlines *read_inlines(struct perf_machine *m, struct elf_file *elf, u64 at)
{
	struct debug_inline found[INLINES_MAX], outer;
	const u32 count = elf ? debug_inlines_at(elf, at, found, INLINES_MAX, &outer) : 0;
	struct inlines *all =
		arena_alloc(&m->arena, sizeof(*all) + MIN(count, INLINES_MAX) * sizeof(char *));

	all->count = MIN(count, INLINES_MAX);
	for (u32 i = 0; i < all->count; i++)
		all->names[i] = clear_name(m, found[i].function);
	return all;
}

u32 perf_machine_inlines(struct perf_machine *m, u32 pid, u64 address, const char *const **ret)
{
	const struct mapping *const in = mapping_at(m, pid, address);
	struct elf_file *elf;
	struct inlines *all;
	void **slot;
	u64 at;

	elf = code_at(m, in, address, &at);
	if (!elf)
		return 0;
	slot = hashmap_put(&in->object->inlines, &at, sizeof(at), NULL);
	if (!*slot)
		*slot = read_inlines(m, elf, at);
	all = *slot;
	*ret = all->names;
	return all->count;
}

const struct unwind_row *perf_machine_unwind_rule(struct perf_machine *m, u32 pid, u64 address)
{
	const struct mapping *const in = mapping_at(m, pid, address);
	struct elf_file *elf;
	struct unwind_rows *rows;
	size_t low = 0, high;
	u64 at;

	elf = code_at(m, in, address, &at);
	if (!elf)
		return NULL;
	rows = &in->object->rows;
	if (!in->object->rows_were_read) {
		unwind_add_file(rows, elf, 0, UINT64_MAX, 0);
		unwind_sort(rows);
		in->object->rows_were_read = true;
	}
	high = rows->list.len;
	while (low < high) { /* the first one behind the address */
		const size_t middle = low + (high - low) / 2;

		if (rows->list.items[middle].address <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->list.items[low - 1] : NULL;
}

/* ---- all ---- */

struct recorded_frame perf_machine_place(struct perf_machine *m, u32 pid, enum perf_mode mode,
					 u64 address)
{
	return mode == PERF_MODE_KERNEL ? kernel_place(m, address)
	       : mode == PERF_MODE_USER
		       ? user_place(m, pid, address)
		       : (struct recorded_frame){.address = address, .in_file = address};
}
