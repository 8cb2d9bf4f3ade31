/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF objects: opening, the offsets of their types, names (Documentation/bpf/btf.rst). */
#include "types/btf.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/bpf/btf_layout.h"
#include "kernel/kernel.h"
#include "types/btf_internal.h"

#define KERNEL_BTF_DIR "/sys/kernel/btf"
/* A kernel's BTF object has 5 to 20 MB; a vmlinux with debug information 1 GB. */
#define MAX_FILE ((size_t)2 << 30)
/* Building an index takes 3 ms, a lookup without it 0.06 ms: after so many lookups it pays. */
#define LOOKUPS_BEFORE_INDEX 48

/* ---- opening ---- */

/* .BTF of an ELF64 file (a vmlinux image), or the whole file if it is not ELF. */
static int find_section(const u8 *data, size_t len, const u8 **ret, size_t *ret_len)
{
	const Elf64_Ehdr *eh = (const void *)data;
	Elf64_Shdr names, sh;
	u64 table_end;

	*ret = data;
	*ret_len = len;
	if (len < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return 0;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_shentsize != sizeof(sh))
		return -EINVAL;
	if (__builtin_add_overflow(eh->e_shoff, (u64)eh->e_shnum * sizeof(sh), &table_end) ||
	    table_end > len || eh->e_shstrndx >= eh->e_shnum)
		return -EINVAL;
	memcpy(&names, data + eh->e_shoff + eh->e_shstrndx * sizeof(sh), sizeof(names));
	if (names.sh_offset > len || names.sh_size > len - names.sh_offset)
		return -EINVAL;
	for (u32 i = 0; i < eh->e_shnum; i++) {
		memcpy(&sh, data + eh->e_shoff + i * sizeof(sh), sizeof(sh));
		if (sh.sh_name >= names.sh_size || names.sh_size - sh.sh_name < sizeof(".BTF") ||
		    memcmp(data + names.sh_offset + sh.sh_name, ".BTF", sizeof(".BTF")))
			continue;
		if (sh.sh_offset > len || sh.sh_size > len - sh.sh_offset)
			return -EINVAL;
		*ret = data + sh.sh_offset;
		*ret_len = sh.sh_size;
		return 0;
	}
	return -ENOENT;
}

static int read_header(struct btf_blob *b, const u8 *data, size_t len)
{
	struct btf_sections sections;

	if (btf_find_sections(data, len, &sections) || (!b->base && *sections.strings))
		return -EINVAL;
	b->types = sections.types;
	b->types_len = sections.types_len;
	b->strings = sections.strings;
	b->strings_len = sections.strings_len;
	b->first_id = b->base ? b->base->first_id + b->base->count : 1;
	b->first_string = b->base ? b->base->first_string + b->base->strings_len : 0;
	return 0;
}

static const u32 list_kinds[BTF_LIST_COUNT] = {
	[BTF_LIST_FUNCTIONS] = BTF_KIND_BIT(BTF_KIND_FUNC),
	[BTF_LIST_ENUMS] = BTF_KIND_BIT(BTF_KIND_ENUM) | BTF_KIND_BIT(PT_BTF_ENUM64),
	[BTF_LIST_OTHERS] = BTF_KIND_BIT(BTF_KIND_STRUCT) | BTF_KIND_BIT(BTF_KIND_UNION) |
			    BTF_KIND_BIT(BTF_KIND_FWD) | BTF_KIND_BIT(BTF_KIND_TYPEDEF) |
			    BTF_KIND_BIT(BTF_KIND_INT) | BTF_KIND_BIT(BTF_KIND_FLOAT) |
			    BTF_KIND_BIT(BTF_KIND_VAR) | BTF_KIND_BIT(BTF_KIND_DATASEC),
};

/*
 * One pass over the types. Anything after an unknown or truncated type is ignored. The pass takes
 * no longer than finding where each type ends. Functions stand together, so that the processor
 * predicts them well. Other kinds come in any order: each is written to all other lists without a
 * branch, and the next one overwrites it where it does not belong.
 */
static void index_types(struct btf_blob *b)
{
	const size_t most = b->types_len / sizeof(struct btf_type) + 1;
	/* Tail pages that are never written cost nothing. */
	u32 *offsets = xmalloc(most * sizeof(*offsets));
	u32 *functions = xmalloc(most * sizeof(*functions)), nfunctions = 0;
	u32 *enums = xmalloc(most * sizeof(*enums)), nenums = 0;
	u32 *others = xmalloc(most * sizeof(*others)), nothers = 0;
	const u8 *types = b->types, *end = types + b->types_len, *at = types;
	u32 n = 0;

	while ((size_t)(end - at) >= sizeof(struct btf_type)) {
		const struct btf_type *t = (const void *)at;
		const u32 kind = btf_raw_kind(t);
		size_t size;

		if (kind == BTF_KIND_FUNC) {
			functions[nfunctions++] = n;
			offsets[n++] = (u32)(at - types);
			at += sizeof(*t);
			continue;
		}
		size = btf_type_size(t);
		if (!size || size > (size_t)(end - at))
			break;
		enums[nenums] = others[nothers] = n;
		nenums += list_kinds[BTF_LIST_ENUMS] >> kind & 1;
		nothers += list_kinds[BTF_LIST_OTHERS] >> kind & 1;
		offsets[n++] = (u32)(at - types);
		at += size;
	}
	b->lists[BTF_LIST_FUNCTIONS] = (struct btf_numbers){functions, nfunctions};
	b->lists[BTF_LIST_ENUMS] = (struct btf_numbers){enums, nenums};
	b->lists[BTF_LIST_OTHERS] = (struct btf_numbers){others, nothers};
	b->offsets = offsets;
	b->count = n;
	b->cache = xzalloc(((size_t)n + 1) * sizeof(*b->cache));
}

/* b->data: a BTF object, or an ELF file with one. */
static int begin(struct btf_blob *b)
{
	const u8 *section;
	size_t len;
	const int err = find_section(b->data, b->len, &section, &len);

	return err ? err : read_header(b, section, len);
}

static int load(struct btf_blob *b, const char *path, bool is_kernel)
{
	const void *map;
	size_t len;
	char *copy;
	int err;

	/* The kernel's own object cannot change, so it can be mapped (since 6.16). */
	if (is_kernel && !file_map(path, &map, &len)) {
		b->data = map;
		b->len = len;
		b->is_mapped = true;
	} else {
		err = file_read(path, MAX_FILE, &copy, &len);
		if (err)
			return err;
		b->data = (const u8 *)copy;
		b->len = len;
	}
	return begin(b);
}

static void free_tables(struct btf_blob *b)
{
	for (u32 i = 0; i < BTF_LIST_COUNT; i++)
		free(b->lists[i].items);
	free(b->offsets);
	free(b->cache);
	free(b->heads);
	free(b->next);
	free(b->asked);
}

static void unload(struct btf_blob *b)
{
	if (b->is_mapped)
		file_unmap(b->data, b->len);
	else
		free((void *)b->data);
	free_tables(b);
	if (b->fd > 0)
		close(b->fd);
	free(b->module);
}

int btf_open(struct btf_blob *b)
{
	struct btf_source *s = b->owner;
	char *path;

	if (b->tried)
		return b->error;
	b->tried = true;
	if (b->base) {
		b->error = btf_open(&s->vmlinux);
		if (b->error)
			return b->error;
	}
	if (b->data) {
		b->error = begin(b);
	} else {
		path = b->module ? xasprintf("%s/%s", s->module_dir, b->module) : xstrdup(s->path);
		b->error = load(b, path, str_starts(path, KERNEL_BTF_DIR "/"));
		free(path);
	}
	if (!b->error)
		index_types(b);
	return b->error;
}

int btf_open_memory(struct btf_blob *b, const void *data, size_t len)
{
	int err;

	*b = (struct btf_blob){.data = data, .len = len, .tried = true};
	err = read_header(b, data, len);
	if (!err)
		index_types(b);
	return err;
}

void btf_close_memory(struct btf_blob *b)
{
	free_tables(b);
}

struct btf_source *btf_attach_from(struct type_store *store, const char *path,
				   const char *module_dir)
{
	struct btf_source *s = xzalloc(sizeof(*s));

	s->store = store;
	s->path = xstrdup(path);
	s->module_dir = module_dir ? xstrdup(module_dir) : NULL;
	s->vmlinux.owner = s;
	store->source = s;
	store->lookup = btf_lookup;
	store->lookup_enumerator = btf_lookup_enumerator;
	return s;
}

struct btf_source *btf_attach(struct type_store *store, const char *path)
{
	/* Module objects extend the BTF of the running kernel only. */
	if (path)
		return btf_attach_from(store, path, NULL);
	return btf_attach_from(store, KERNEL_BTF_DIR "/vmlinux", KERNEL_BTF_DIR);
}

struct btf_source *btf_attach_data(struct type_store *store, void *data, size_t len)
{
	struct btf_source *const s = btf_attach_from(store, "", NULL);

	s->vmlinux.data = data;
	s->vmlinux.len = len;
	return s;
}

static void free_answers(struct hashmap *m)
{
	hashmap_each (m, e)
		free(e->value);
	hashmap_release(m);
}

void btf_release(struct btf_source *s)
{
	if (!s)
		return;
	if (s->store->source == s) {
		s->store->source = NULL;
		s->store->lookup = NULL;
		s->store->lookup_enumerator = NULL;
	}
	for (size_t i = 0; i < s->modules.len; i++) {
		unload(s->modules.items[i]);
		free(s->modules.items[i]);
	}
	vector_free(&s->modules);
	unload(&s->vmlinux);
	free_answers(&s->names);
	free_answers(&s->enumerators);
	free(s->path);
	free(s->module_dir);
	free(s);
}

int btf_available(struct btf_source *s)
{
	return btf_open(&s->vmlinux);
}

bool btf_exists(struct btf_source *s)
{
	struct btf_header h;
	ssize_t n;
	int fd;

	if (s->vmlinux.tried)
		return !s->vmlinux.error;
	fd = open(s->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, &h, sizeof(h));
	close(fd);
	if (n == (ssize_t)sizeof(h) && h.magic == BTF_MAGIC)
		return h.version == BTF_VERSION;
	return !btf_open(&s->vmlinux); /* in an ELF file */
}

/* ---- modules ---- */

static int compare_modules(const void *a, const void *b)
{
	const struct btf_blob *const *x = a, *const *y = b;

	return strcmp((*x)->module, (*y)->module);
}

void btf_list_modules(struct btf_source *s)
{
	struct dirent *e;
	DIR *dir;

	if (s->modules_listed || !s->module_dir)
		return;
	s->modules_listed = true;
	dir = opendir(s->module_dir);
	if (!dir)
		return;
	while ((e = readdir(dir))) {
		struct btf_blob *b;

		if (e->d_name[0] == '.' || str_eq(e->d_name, "vmlinux"))
			continue;
		b = xzalloc(sizeof(*b));
		b->owner = s;
		b->base = &s->vmlinux;
		b->module = xstrdup(e->d_name);
		vector_push(&s->modules, b);
	}
	closedir(dir);
	if (s->modules.len)
		qsort(s->modules.items, s->modules.len, sizeof(*s->modules.items), compare_modules);
	for (size_t i = 0; i < s->modules.len; i++)
		s->modules.items[i]->index = (u32)i + 1;
}

struct btf_blob *btf_module(struct btf_source *s, const char *name)
{
	if (str_eq(name, "vmlinux"))
		return &s->vmlinux;
	btf_list_modules(s);
	for (size_t i = 0; i < s->modules.len; i++)
		if (str_eq(s->modules.items[i]->module, name))
			return s->modules.items[i];
	return NULL;
}

struct btf_blob *btf_next_blob(struct btf_source *s, u32 *iterator)
{
	if (!*iterator) {
		++*iterator;
		if (!btf_open(&s->vmlinux))
			return &s->vmlinux;
		return NULL;
	}
	btf_list_modules(s);
	while (*iterator <= s->modules.len) {
		struct btf_blob *b = s->modules.items[(*iterator)++ - 1];

		if (!btf_open(b))
			return b;
	}
	return NULL;
}

/* ---- raw access ---- */

const struct btf_type *btf_raw(const struct btf_blob *b, u32 id, const struct btf_blob **ret_owner)
{
	while (b->base && id < b->first_id)
		b = b->base;
	if (id < b->first_id || id - b->first_id >= b->count)
		return NULL;
	if (ret_owner)
		*ret_owner = b;
	return btf_nth(b, id - b->first_id);
}

static void build_index(struct btf_blob *b)
{
	u32 size = 1024;

	while (size < b->count)
		size *= 2;
	b->mask = size - 1;
	b->heads = xzalloc((size_t)size * sizeof(*b->heads));
	b->next = xzalloc(((size_t)b->count + 1) * sizeof(*b->next));
	/* Backwards, so that the chains have the lowest id first. */
	for (u32 i = b->count; i-- > 0;) {
		const struct btf_type *t = btf_nth(b, i);
		const char *name = t->name_off ? btf_name_at(b, t->name_off) : "";
		u32 *head;

		if (!*name)
			continue;
		head = &b->heads[hash_bytes(name, strlen(name)) & b->mask];
		b->next[i] = *head;
		*head = i + 1;
	}
}

static bool is_wanted(const struct btf_blob *b, u32 i, const char *name, u32 kinds)
{
	const struct btf_type *t = btf_nth(b, i);

	return (kinds & BTF_KIND_BIT(btf_raw_kind(t))) && btf_is_name(b, t->name_off, name);
}

static u32 find_indexed(const struct btf_blob *b, const char *name, u32 kinds)
{
	for (u32 i = b->heads[hash_bytes(name, strlen(name)) & b->mask]; i; i = b->next[i - 1]) {
		if (is_wanted(b, i - 1, name, kinds))
			return b->first_id + i - 1;
	}
	return 0;
}

static u32 scan_list(const struct btf_blob *b, enum btf_list list, const char *name, u32 kinds)
{
	const u32 *items = b->lists[list].items;

	for (u32 i = 0; i < b->lists[list].len; i++)
		if (is_wanted(b, items[i], name, kinds))
			return b->first_id + items[i];
	return 0;
}

static u32 scan(const struct btf_blob *b, const char *name, u32 kinds)
{
	u32 first = 0, id;

	for (u32 list = 0; list < BTF_LIST_COUNT; list++) {
		id = kinds & list_kinds[list] ? scan_list(b, list, name, kinds) : 0;
		if (id && (!first || id < first))
			first = id;
	}
	return first;
}

u32 btf_find_id(struct btf_blob *b, const char *name, u32 kinds)
{
	if (btf_open(b) || !*name)
		return 0;
	if (!b->heads && b->asked && b->asked_kinds == kinds && str_eq(b->asked, name))
		return b->answer;
	if (!b->heads && ++b->lookups > LOOKUPS_BEFORE_INDEX)
		build_index(b);
	if (b->heads)
		return find_indexed(b, name, kinds);
	free(b->asked);
	b->asked = xstrdup(name);
	b->asked_kinds = kinds;
	b->answer = scan(b, name, kinds);
	return b->answer;
}

/* ---- the kernel's objects ---- */

/* Finds the kernel's object with this name. */
static int find_object_fd(const char *module)
{
	union bpf_attr attr;
	u32 id = 0;

	for (;;) {
		struct bpf_btf_info info = {0};
		char name[64] = "";
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (sys_bpf(BPF_BTF_GET_NEXT_ID, &attr, sizeof(attr)) < 0)
			return -ENOENT;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.btf_id = id;
		fd = sys_bpf(BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd == -ENOENT) /* gone in between */
			continue;
		if (fd < 0)
			return fd;
		info.name = (u64)(uintptr_t)name;
		info.name_len = sizeof(name);
		if (!sys_bpf_info(fd, &info, sizeof(info)) && info.kernel_btf &&
		    str_eq(name, module))
			return fd;
		close(fd);
	}
}

int btf_object_fd(struct btf_blob *b)
{
	if (!b->fd)
		b->fd = find_object_fd(b->module ? b->module : "vmlinux");
	return b->fd;
}
