/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses, from files that are the recorded ones; what these say of code. */
#include "binary/elf/file.h"
#include "binary/process/vdso.h"
#include "kernel/symbols/ksyms.h"
#include "trace/perf/format.h"
#include "trace/perf/machine_internal.h"
#include "trace/recorded_file.h"

/* ---- the kernel ---- */

/* The recorded kernel's; "" = not said. */
static void recorded_kernel(const struct perf_machine *m, char to[41])
{
	const struct perf_build_id *const id =
		perf_data_build_id(m->data, PERF_KERNEL_NAME) ?: &m->kernel_id;

	*to = 0;
	perf_hex(id->bytes, MIN(id->size, (u8)20), to);
}

static bool is_running_kernel(const struct perf_machine *m)
{
	const struct perf_build_id running = perf_build_id_of_notes("/sys/kernel/notes");
	char now[41] = "", then[41];

	recorded_kernel(m, then);
	perf_hex(running.bytes, running.size, now);
	return *then && str_eq(now, then);
}

/* Its file, by build-id, where debug files are; "vmlinux" in the places of the options. */
static void find_vmlinux(struct perf_machine *m)
{
	char id[41];
	const struct recorded_file_search search = {.places = m->options.places,
						    .nr_places = m->options.nr_places,
						    .path = "/vmlinux",
						    .build_id = id};
	struct elf_symbol text;

	recorded_kernel(m, id);
	m->vmlinux = *id ? recorded_file_open(&search) : NULL;
	if (!m->vmlinux)
		return;
	if (!elf_file_find_symbol(m->vmlinux, "_text", &text) ||
	    !elf_file_find_symbol(m->vmlinux, "_stext", &text)) {
		m->vmlinux_text = text.address;
		return;
	}
	elf_file_close(m->vmlinux);
	m->vmlinux = NULL;
}

/* They are of this boot, as the addresses are. */
static struct ksyms *symbols_in_file(struct perf_machine *m)
{
	size_t len;
	char *const text = perf_data_kernel_symbols(m->data, &len);

	m->in_file = text ? ksyms_new(text, len) : NULL;
	return m->in_file;
}

/*
 * The running kernel's, if that is the recorded one and has not started anew; else those that the
 * recording holds.
 */
static struct ksyms *kernel_symbols(struct perf_machine *m)
{
	char then[41];

	if (m->kernel_looked_for)
		return m->symbols;
	m->kernel_looked_for = true;
	recorded_kernel(m, then);
	if (m->text_at && (!*then || is_running_kernel(m))) {
		m->running = kernel_new();
		m->symbols = kernel_ksyms(m->running);
		if (ksyms_address(m->symbols, "_text") != m->text_at &&
		    ksyms_address(m->symbols, "_stext") != m->text_at)
			m->symbols = NULL;
	}
	if (!m->symbols)
		m->symbols = symbols_in_file(m);
	if (!m->symbols)
		find_vmlinux(m);
	return m->symbols;
}

static struct recorded_frame kernel_place(struct perf_machine *m, u64 address)
{
	struct recorded_frame place = {.is_kernel = true,
				       .address = address,
				       .in_file = address,
				       .object = PERF_KERNEL_NAME};
	const size_t i = perf_machine_find(&m->kernel, address);
	const struct mapping *const in =
		i < m->kernel.list.len && m->kernel.list.items[i].start <= address
			? &m->kernel.list.items[i]
			: NULL;
	struct ksyms *symbols = m->options.no_symbols ? NULL : kernel_symbols(m);
	struct kernel_symbol found;
	struct elf_symbol in_file;

	if (in)
		place.object = in->object->shown;
	if (in && in->object->looked_for) { /* it is its own name */
		place.symbol = in->object->path;
		place.offset = address - in->start;
	} else if (symbols && ksyms_at(symbols, address, KSYM_TELLING, &found)) {
		place.symbol = found.name;
		place.offset = address - found.address;
	} else if (!in && m->vmlinux && m->text_at &&
		   elf_file_symbol_at(m->vmlinux, address - m->text_at + m->vmlinux_text, &in_file,
				      &place.offset)) {
		place.symbol = in_file.name;
	}
	return place;
}

/* Ours, if the recorded kernel is ours. */
static struct elf_file *own_vdso(const struct perf_machine *m)
{
	struct elf_file *elf;

	return is_running_kernel(m) && !vdso_open(&elf) ? elf : NULL;
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

	if (!o->looked_for)
		o->elf = str_eq(o->path, "[vdso]") ? own_vdso(m) : recorded_file_open(&search);
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

const struct mapping *perf_machine_mapping(struct perf_machine *m, u32 pid, u64 address)
{
	const struct process *const p = perf_machine_process(m, pid);
	const size_t i = perf_machine_find(p, address);

	return i < p->list.len && p->list.items[i].start <= address ? &p->list.items[i] : NULL;
}

struct elf_file *perf_machine_code(struct perf_machine *m, const struct mapping *in, u64 address,
				   u64 *ret_at)
{
	struct elf_file *elf = in ? elf_of(m, in->object) : NULL;
	const u64 at = in ? address - in->start : 0;

	int rc = elf ? elf_file_mapped_address(elf, in->end - in->start, at, ret_at) : -ENOENT;

	if (rc == -EINVAL)
		rc = elf_file_address(elf, at + in->offset, ret_at);
	return rc ? NULL : elf;
}

static struct recorded_frame user_place(struct perf_machine *m, u32 pid, u64 address)
{
	const struct mapping *const in = perf_machine_mapping(m, pid, address);
	struct recorded_frame place = {.address = address, .in_file = address};
	struct elf_symbol symbol;
	struct elf_file *elf;
	u64 at;

	if (!in)
		return place;
	place.object = in->object->shown;
	place.build_id = in->object->build_id;
	place.in_file = address - in->start + in->offset;
	elf = m->options.no_symbols ? NULL : perf_machine_code(m, in, address, &at);
	if (elf && elf_file_symbol_at(elf, at, &symbol, &place.offset))
		place.symbol = shown_name(m, in->object, &symbol);
	return place;
}

static struct recorded_mapping told(const struct mapping *m)
{
	return (struct recorded_mapping){.start = m->start,
					 .length = m->end - m->start,
					 .offset = m->offset,
					 .path = m->object->path,
					 .build_id = m->object->build_id};
}

static bool kernel_mapping(struct perf_machine *m, u64 address, struct recorded_mapping *ret)
{
	const size_t i = perf_machine_find(&m->kernel, address);
	const struct mapping *const in = i < m->kernel.list.len ? &m->kernel.list.items[i] : NULL;
	char id[41];

	if (in && in->start <= address) {
		*ret = told(in);
		ret->is_symbol = in->object->looked_for;
		return true;
	}
	if (m->kernel_map.length && !m->kernel_map.build_id) {
		recorded_kernel(m, id);
		m->kernel_map.build_id = arena_strdup(&m->arena, id);
	}
	*ret = m->kernel_map;
	return ret->length;
}

bool perf_machine_mapped(struct perf_machine *m, u32 pid, enum perf_mode mode, u64 address,
			 struct recorded_mapping *ret)
{
	const struct mapping *in;

	if (mode == PERF_MODE_KERNEL)
		return kernel_mapping(m, address, ret);
	in = perf_machine_mapping(m, pid, address);
	if (in)
		*ret = told(in);
	return in;
}

/* ---- what debug information says of code ---- */

static struct inlines *read_inlines(struct perf_machine *m, struct elf_file *elf, u64 at)
{
	struct debug_inline found[PERF_INLINES_MAX], outer;
	const u32 count = elf ? debug_inlines_at(elf, at, found, PERF_INLINES_MAX, &outer) : 0;
	struct inlines *all = arena_alloc(&m->arena, sizeof(*all) + MIN(count, PERF_INLINES_MAX) *
									    sizeof(char *));

	all->count = MIN(count, PERF_INLINES_MAX);
	for (u32 i = 0; i < all->count; i++)
		all->names[i] = clear_name(m, found[i].function);
	return all;
}

u32 perf_machine_inlines(struct perf_machine *m, u32 pid, u64 address, const char *const **ret)
{
	const struct mapping *const in = perf_machine_mapping(m, pid, address);
	struct elf_file *elf;
	struct inlines *all;
	void **slot;
	u64 at;

	elf = m->options.no_symbols ? NULL : perf_machine_code(m, in, address, &at);
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
	const struct mapping *const in = perf_machine_mapping(m, pid, address);
	struct elf_file *elf;
	struct unwind_rows *rows;
	size_t low = 0, high;
	u64 at;

	elf = perf_machine_code(m, in, address, &at);
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

const u8 *perf_machine_code_bytes(struct perf_machine *m, u32 pid, u64 address, u64 n)
{
	u64 at, offset;
	struct elf_file *const elf =
		perf_machine_code(m, perf_machine_mapping(m, pid, address), address, &at);

	return elf && !elf_file_offset(elf, at, &offset) ? elf_file_bytes(elf, offset, n) : NULL;
}

int perf_machine_saved(struct perf_machine *m, u32 pid, u64 address, struct unwind_saved *ret)
{
	u64 at;
	struct elf_file *const elf =
		perf_machine_code(m, perf_machine_mapping(m, pid, address), address, &at);

	return elf ? unwind_saved_at(elf, at, ret) : -ENODATA;
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
