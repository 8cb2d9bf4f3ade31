/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/symbols/ksyms.h"

#include "base/file.h"
#include "base/glob.h"
#include "kernel/kernel_internal.h"
#include "kernel/symbols/internal.h"

#define MAX_KALLSYMS ((size_t)256 << 20)

/* ---- loading ---- */

struct ksyms *ksyms_new(char *text, size_t len)
{
	struct ksyms *ks = xzalloc(sizeof(*ks));

	ks->data = text;
	ks->len = len;
	return ks;
}

struct ksyms *kernel_ksyms(struct kernel *k)
{
	if (!k->ksyms) {
		k->ksyms = ksyms_new(NULL, 0);
		k->ksyms->kernel = k;
	}
	return k->ksyms;
}

void ksyms_release(struct ksyms *ks)
{
	if (!ks)
		return;
	hashmap_release(&ks->by_name);
	vector_free(&ks->modules);
	vector_free(&ks->list);
	free(ks->data);
	free(ks);
}

/*
 * The index of the module; symbols of one module are adjacent. False: there are too many modules.
 */
static bool find_module(struct ksyms *ks, const char *module, u16 *ret)
{
	size_t last;

	if (!ks->modules.len)
		vector_push(&ks->modules, NULL);
	last = ks->modules.len - 1;
	if (!module) {
		*ret = 0;
		return true;
	}
	if (!last || !str_eq(ks->modules.items[last], module)) {
		if (++last > UINT16_MAX)
			return false;
		vector_push(&ks->modules, module);
	}
	*ret = (u16)last;
	return true;
}

static bool is_text(char type)
{
	return (type | 0x20) == 't' || (type | 0x20) == 'w';
}

void ksyms_add(struct ksyms *ks, u64 address, char type, const char *name, const char *module)
{
	/* Per-CPU symbols have offsets, which lie in the lower half. Hidden addresses are 0. */
	const bool is_wanted = address >> 63 || (!address && is_text(type));
	u16 number;

	if (is_wanted && find_module(ks, module, &number))
		vector_push(&ks->list, (struct ksym){.address = address,
						     .name = (u32)(name - ks->data),
						     .module = number,
						     .type = type});
}

static int compare(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* vmlinux comes sorted, then modules and BPF programs in their own order. */
static void sort(struct ksyms *ks)
{
	const struct ksym *s = ks->list.items;
	size_t i = 1;

	while (i < ks->list.len && s[i - 1].address <= s[i].address)
		i++;
	if (i < ks->list.len)
		qsort(ks->list.items, ks->list.len, sizeof(*s), compare);
	while (ks->known < ks->list.len && !ks->list.items[ks->known].address)
		ks->known++;
}

static int load(struct ksyms *ks)
{
	if (ks->is_loaded)
		return ks->error;
	ks->is_loaded = true;
	if (ks->kernel && ksyms_read_iterator(ks)) {
		ks->error = file_read("/proc/kallsyms", MAX_KALLSYMS, &ks->data, &ks->len);
		if (ks->error)
			return ks->error;
	}
	if (!ks->list.len)
		ksyms_parse_text(ks);
	sort(ks);
	return 0;
}

bool ksyms_has_addresses(struct ksyms *ks)
{
	return !load(ks) && ks->known < ks->list.len;
}

/* ---- by address ---- */

static const char *name_of(const struct ksyms *ks, const struct ksym *s)
{
	return ks->data + s->name;
}

/*
 * The first symbol at the greatest address that is not above this one (get_symbol_pos() in
 * kernel/kallsyms.c).
 */
static const struct ksym *search(const struct ksyms *ks, u64 address)
{
	const struct ksym *all = ks->list.items;
	size_t low = ks->known, high = ks->list.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ks->known)
		return NULL;
	low--;
	while (low > ks->known && all[low - 1].address == all[low].address)
		low--;
	return &all[low];
}

/*
 * Where the symbol ends: at the next symbol of its range. The last one of a module ends with its
 * page.
 */
static u64 end_of(const struct ksyms *ks, const struct ksym *s)
{
	const struct ksym *const stop = ks->list.items + ks->list.len;
	const u64 page_end = (s->address + 4096) & ~4095ULL;

	for (const struct ksym *n = s + 1; n < stop; n++) {
		if (n->address == s->address)
			continue;
		if (!n->module != !s->module)
			break;
		return s->module && n->address - s->address > 1u << 20 ? page_end : n->address;
	}
	return s->module ? page_end : s->address;
}

/*
 * How telling a name is: a global one first, one without suffixes of the compiler; of a system call
 * that the 64-bit and the 32-bit table share, the 64-bit name.
 */
static u32 rank(const struct ksyms *ks, const struct ksym *s)
{
	const char *name = name_of(ks, s);
	const bool is_global = s->type >= 'A' && s->type <= 'Z';
	const bool is_odd = name[0] == '_' || name[0] == '$' || strchr(name, '.');
	const bool is_compat = str_starts(name, "__ia32_");

	return (is_global ? 4u : 0u) + (is_odd ? 0u : 2u) + (is_compat ? 0u : 1u);
}

static const struct ksym *most_telling(const struct ksyms *ks, const struct ksym *first)
{
	const struct ksym *const stop = ks->list.items + ks->list.len, *best = first;

	for (const struct ksym *s = first + 1; s < stop && s->address == first->address; s++)
		if (rank(ks, s) > rank(ks, best))
			best = s;
	return best;
}

static const struct ksym *find(struct ksyms *ks, u64 address)
{
	const size_t slot = (address ^ address >> 12) % KSYMS_CACHE;
	const struct ksym *s;

	if (ks->cache[slot].index && ks->cache[slot].address == address)
		return &ks->list.items[ks->cache[slot].index - 1];
	s = search(ks, address);
	if (s) {
		ks->cache[slot].address = address;
		ks->cache[slot].index = (u32)(s - ks->list.items) + 1;
	}
	return s;
}

bool ksyms_at(struct ksyms *ks, u64 address, enum ksym_naming naming, struct kernel_symbol *ret)
{
	const struct ksym *first = load(ks) ? NULL : find(ks, address), *s;

	if (!first)
		return false;
	s = naming == KSYM_TELLING ? most_telling(ks, first) : first;
	*ret = (struct kernel_symbol){.name = name_of(ks, s),
				      .module = ks->modules.items[s->module],
				      .address = s->address,
				      .end = end_of(ks, first)};
	return true;
}

/* ---- by name ---- */

/*
 * The first names are looked up by scanning; building the index takes as long as this many scans.
 */
#define SCANS_BEFORE_INDEX 12
/* Flag in the value found for a name (an index + 1): symbols at several addresses have it. */
#define IS_SHARED ((uintptr_t)1 << 40)

static size_t index_of(uintptr_t found)
{
	return (found & (IS_SHARED - 1)) - 1;
}

/*
 * Another symbol of that name is added. vmlinux stands first in the file, but modules may be at
 * lower addresses.
 */
static uintptr_t found_again(const struct ksyms *ks, uintptr_t found, size_t i)
{
	const struct ksym *all = ks->list.items;

	if (!found)
		return i + 1;
	return (all[i].name < all[index_of(found)].name ? i + 1 : found) | IS_SHARED;
}

static uintptr_t scan(const struct ksyms *ks, const char *name)
{
	uintptr_t found = 0;

	for (size_t i = ks->known; i < ks->list.len; i++)
		if (str_eq(name_of(ks, &ks->list.items[i]), name))
			found = found_again(ks, found, i);
	return found;
}

static void index_names(struct ksyms *ks)
{
	ks->by_name.keys_stay = true;
	for (size_t i = ks->known; i < ks->list.len; i++) {
		const char *name = name_of(ks, &ks->list.items[i]);
		void **place = hashmap_put(&ks->by_name, name, strlen(name), NULL);

		*place = (void *)found_again(ks, (uintptr_t)*place, i);
	}
}

/* 0: there is none. */
static uintptr_t find_name(struct ksyms *ks, const char *name)
{
	if (load(ks))
		return 0;
	if (ks->scans < SCANS_BEFORE_INDEX) {
		ks->scans++;
		return scan(ks, name);
	}
	if (!ks->by_name.len)
		index_names(ks);
	return (uintptr_t)hashmap_gets(&ks->by_name, name);
}

u64 ksyms_address(struct ksyms *ks, const char *name)
{
	const uintptr_t found = find_name(ks, name);

	return found ? ks->list.items[index_of(found)].address : 0;
}

u32 ksyms_count(struct ksyms *ks, const char *name)
{
	const uintptr_t found = find_name(ks, name);
	u32 n = 0;

	if (!(found & IS_SHARED))
		return found != 0;
	for (size_t i = ks->known; i < ks->list.len; i++)
		n += str_eq(name_of(ks, &ks->list.items[i]), name);
	return n;
}

/* ---- functions ---- */

/*
 * Not functions: padding in front of functions (scripts/link-vmlinux.sh, kCFI) and parts that were
 * split off because they are rarely run.
 */
static bool is_function(const struct ksyms *ks, const struct ksym *s)
{
	const char *name = name_of(ks, s), *module = ks->modules.items[s->module];

	if (!is_text(s->type) || str_starts(name, "__pfx_") || str_starts(name, "__cfi_"))
		return false;
	if (module && (str_eq(module, "bpf") || str_starts(module, "__builtin")))
		return false;
	return !strstr(name, ".cold");
}

bool ksyms_ran_at_boot(struct ksyms *ks, u64 address)
{
	if (!ks->boot_end) {
		ks->boot_begin = ksyms_address(ks, "_sinittext");
		ks->boot_end = MAX(ksyms_address(ks, "_einittext"), 1u);
	}
	return address && address >= ks->boot_begin && address < ks->boot_end;
}

/* Looks at all names of the address whose first symbol is s. False: no function name matches. */
static bool match_names(const struct ksyms *ks, const struct ksym *s, size_t n, const char *glob,
			struct kernel_function *ret)
{
	*ret = (struct kernel_function){.address = s->address};
	for (size_t i = 0; i < n; i++) {
		if (!is_function(ks, &s[i]))
			continue;
		if (!ret->own)
			ret->own = name_of(ks, &s[i]);
		if (glob && !glob_match(glob, name_of(ks, &s[i])))
			continue;
		ret->name = name_of(ks, &s[i]);
		ret->module = ks->modules.items[s[i].module];
		return true;
	}
	return false;
}

int ksyms_each_function(struct ksyms *ks, const char *glob, kernel_function_fn fn, void *arg)
{
	struct kernel_function f;
	int rc = load(ks);
	size_t n;

	if (rc)
		return rc;
	for (size_t i = 0; i < ks->list.len && !rc; i += n) {
		const struct ksym *s = &ks->list.items[i];

		for (n = 1; s->address && i + n < ks->list.len && s[n].address == s->address;)
			n++;
		if (match_names(ks, s, n, glob, &f) && !ksyms_ran_at_boot(ks, f.address))
			rc = fn(arg, &f);
	}
	return rc;
}

/* ---- the running kernel's ---- */

bool kernel_symbol_at(struct kernel *k, u64 address, struct kernel_symbol *ret)
{
	return ksyms_at(kernel_ksyms(k), address, KSYM_TELLING, ret);
}

u64 kernel_symbol_address(struct kernel *k, const char *name)
{
	return ksyms_address(kernel_ksyms(k), name);
}
