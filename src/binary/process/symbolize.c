/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/process/symbolize.h"

#include "base/hashmap.h"
#include "binary/debug/lines.h"
#include "binary/process/cache.h"
#include "kernel/symbols/ksyms.h"

struct symbolizer {
	struct kernel *kernel;
	bool demangle_names, want_lines;
	struct process_cache *processes;
	struct arena arena; /* strings handed out */
	struct hashmap shown; /* name as in the symbol table -> as shown */
	struct hashmap places; /* struct place_key -> struct symbol_places */
	struct hashmap strings; /* paths and build-ids */
	void (*ask)(void *arg); /* NULL = nobody tells more */
	void *ask_arg;
};

struct symbolizer *symbolizer_new(struct kernel *k, bool demangle_names)
{
	struct symbolizer *s = xzalloc(sizeof(*s));

	s->kernel = k;
	s->demangle_names = demangle_names;
	return s;
}

void symbolizer_release(struct symbolizer *s)
{
	if (!s)
		return;
	process_cache_release(s->processes);
	hashmap_release(&s->shown);
	hashmap_release(&s->places);
	hashmap_release(&s->strings);
	arena_release(&s->arena);
	free(s);
}

void symbolizer_want_lines(struct symbolizer *s)
{
	s->want_lines = true;
}

static struct process_cache *processes(struct symbolizer *s)
{
	if (!s->processes)
		s->processes = process_cache_new();
	return s->processes;
}

/* The objects may be closed while a name is still in use, so every string is kept once by us. */
static const char *keep(struct symbolizer *s, const char *text)
{
	void **slot;

	if (!text)
		return NULL;
	slot = hashmap_put(&s->strings, text, strlen(text), NULL);
	if (!*slot)
		*slot = arena_strdup(&s->arena, text);
	return *slot;
}

static const char *shown_name(struct symbolizer *s, const char *name)
{
	void **slot = hashmap_put(&s->shown, name, strlen(name), NULL);
	char *readable;

	if (*slot)
		return *slot;
	readable = s->demangle_names ? demangle(name) : NULL;
	*slot = arena_strdup(&s->arena, readable ? readable : name);
	free(readable);
	return *slot;
}

/* ---- kernel ---- */

bool symbolize_kernel(struct symbolizer *s, u64 address, struct symbol_name *ret)
{
	struct kernel_symbol k;

	*ret = (struct symbol_name){0};
	if (!s->kernel || !kernel_symbol_at(s->kernel, address, &k))
		return false;
	ret->function = shown_name(s, k.name);
	ret->module = k.module;
	ret->offset = address - k.address;
	return true;
}

/* ---- processes ---- */

static void name_in_object(struct symbolizer *s, const struct process_mapping *m, struct object *o,
			   u64 address, struct symbol_name *ret)
{
	struct elf_symbol symbol;
	u64 virtual;

	ret->module = keep(s, m->path);
	ret->file_offset = address - m->start + m->offset;
	if (!o || !o->elf)
		return;
	ret->build_id = keep(s, elf_file_build_id(o->elf));
	if (elf_file_address(o->elf, ret->file_offset, &virtual) < 0 ||
	    !elf_file_symbol_at(o->elf, virtual, &symbol, &ret->offset))
		return;
	ret->function = shown_name(s, symbol.name);
	if (s->want_lines && debug_line_at(o->elf, virtual, &ret->source_file, &ret->line) == 0)
		ret->source_file = keep(s, ret->source_file);
}

/* True if the address lies in one of the process's mappings. */
static bool name_in_process(struct symbolizer *s, struct process *p, u64 address,
			    struct symbol_name *ret)
{
	const struct process_mapping *m = process_maps_find(&p->maps, address);
	const char *name;

	if (!m)
		return false;
	switch (m->kind) {
	case MAPPING_FILE:
	case MAPPING_DELETED:
	case MAPPING_VDSO:
		name_in_object(s, m, p->objects[m - p->maps.list.items], address, ret);
		return true;
	case MAPPING_ANONYMOUS:
		name = process_jit_symbol(p, address, &ret->offset);
		ret->function = name ? shown_name(s, name) : NULL;
		ret->module = *m->path ? keep(s, m->path) : NULL;
		return true;
	case MAPPING_OTHER:
		ret->module = keep(s, m->path);
		return true;
	}
	return false;
}

/* As name_in_process(), in all that was ever known of the process. */
static bool name_in_any(struct symbolizer *s, pid_t pid, u64 address, struct symbol_name *ret)
{
	struct process *p = pid > 0 ? process_cache_get(processes(s), pid) : NULL;
	bool covered = false;

	if (p)
		covered = name_in_process(s, p, address, ret);
	if (p && !covered && process_cache_reread(processes(s), p)) {
		p = process_cache_get(processes(s), pid);
		covered = name_in_process(s, p, address, ret);
	}
	for (p = p ? process_cache_older(p) : NULL; p && !covered; p = process_cache_older(p))
		covered = name_in_process(s, p, address, ret);
	return covered;
}

bool symbolize_user(struct symbolizer *s, pid_t pid, u64 address, struct symbol_name *ret)
{
	*ret = (struct symbol_name){0};
	if (!name_in_any(s, pid, address, ret) && s->ask) {
		s->ask(s->ask_arg);
		name_in_any(s, pid, address, ret);
	}
	return ret->function != NULL;
}

struct place_key {
	u64 device, inode, mtime, address;
};

static const struct symbol_places *places_in(struct symbolizer *s, const struct object *o,
					     u64 address)
{
	const struct place_key key = {o->id.device, o->id.inode, o->id.mtime, address};
	void **slot = hashmap_put(&s->places, &key, sizeof(key), NULL);
	struct symbol_places *p = *slot;
	struct debug_inline found[ARRAY_SIZE(p->inlines)], outer;

	if (p)
		return p;
	*slot = p = arena_new(&s->arena, struct symbol_places);
	p->count = debug_inlines_at(o->elf, address, found, ARRAY_SIZE(found), &outer);
	for (u32 i = 0; i < p->count; i++)
		p->inlines[i] = (struct symbol_place){shown_name(s, found[i].function),
						      keep(s, found[i].file), found[i].line};
	p->outer = (struct symbol_place){NULL, keep(s, outer.file), outer.line};
	return p;
}

const struct symbol_places *symbolize_places(struct symbolizer *s, pid_t pid, u64 address,
					     bool is_return)
{
	struct process *p = pid > 0 ? process_cache_get(processes(s), pid) : NULL;

	address -= is_return;
	for (; p; p = process_cache_older(p)) {
		const struct process_mapping *m = process_maps_find(&p->maps, address);
		const struct object *o = m ? p->objects[m - p->maps.list.items] : NULL;
		u64 virtual;

		if (!m)
			continue;
		if (!o || !o->elf || (m->kind != MAPPING_FILE && m->kind != MAPPING_DELETED) ||
		    elf_file_address(o->elf, address - m->start + m->offset, &virtual) < 0 ||
		    debug_available(o->elf) < 0)
			return NULL;
		return places_in(s, o, virtual);
	}
	return NULL;
}

void symbolizer_note_process(struct symbolizer *s, pid_t pid)
{
	if (pid > 0)
		process_cache_get(processes(s), pid);
}

void symbolizer_ask(struct symbolizer *s, void (*ask)(void *arg), void *arg)
{
	s->ask = ask;
	s->ask_arg = arg;
}

void symbolizer_tell_exec(struct symbolizer *s, pid_t pid)
{
	process_cache_exec(processes(s), pid);
}

void symbolizer_tell_fork(struct symbolizer *s, pid_t child, pid_t parent)
{
	process_cache_fork(processes(s), child, parent);
}

void symbolizer_tell_mapping(struct symbolizer *s, pid_t pid, u64 start, u64 length, u64 offset,
			     u64 inode, const char *path)
{
	const struct process_mapping m = {
		.start = start,
		.end = start + length,
		.offset = offset,
		.inode = inode,
		.kind = *path == '/' && path[1] != '/' ? MAPPING_FILE
			: str_eq(path, "[vdso]")       ? MAPPING_VDSO
			: str_eq(path, "[vsyscall]")   ? MAPPING_OTHER
						       : MAPPING_ANONYMOUS,
		.path = path,
	};

	if (m.end > m.start)
		process_cache_map(processes(s), pid, &m);
}
