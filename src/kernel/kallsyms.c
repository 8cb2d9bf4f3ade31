/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/kallsyms (kernel/kallsyms.c, s_show()):
 *
 *	ffffffff81000000 T _stext
 *	ffffffffc0201000 t helper\t[module]
 *
 * Only where the tables it is printed from cannot be read (core_symbols.h). The text is read once (12 ms for 122,000 lines: the
 * kernel formats each), by a thread: functions are told while it still reads. A name is found by
 * searching in it; the index by address is built by the first question for an address.
 */
#include <stdio.h>

#include "base/file.h"
#include "kernel/core_symbols.h"
#include "kernel/kernel_internal.h"

#define MAX_KALLSYMS ((size_t)64 << 20)

struct kallsyms_entry {
	u64 address;
	u32 line; /* offset in the text */
};

/* One line, in place. */
struct line {
	u64 address;
	char kind;
	const char *name, *module; /* module NULL = vmlinux; neither is NUL-terminated */
	u32 name_len, module_len;
};

/* The value of a hexadecimal digit plus one, 0 for anything else: 2 million of them are read at a
 * time. */
static const u8 hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Parses the line at `at`; returns the next one's start, or NULL if it is not a line of kallsyms.
 */
static const char *parse_line(const char *at, const char *end, struct line *ret)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at)), *p = at, *space;
	u64 address = 0;
	u8 digit;

	if (!stop)
		stop = end;
	for (; p < stop && (digit = hex_digits[(u8)*p]); p++)
		address = address << 4 | (digit - 1u);
	if (stop - p < 4 || p[0] != ' ' || p[2] != ' ')
		return NULL;
	ret->address = address;
	ret->kind = p[1];
	ret->name = p + 3;
	space = memchr(ret->name, '\t', (size_t)(stop - ret->name));
	ret->name_len = (u32)((space ? space : stop) - ret->name);
	ret->module = NULL;
	ret->module_len = 0;
	if (space && stop - space > 3 && space[1] == '[') {
		ret->module = space + 2;
		ret->module_len = (u32)(stop - space - 3);
	}
	return stop < end ? stop + 1 : end;
}

/* kptr_restrict shows every address as 0; the first symbols may truly be 0 (per-CPU offsets). */
static bool has_addresses(const struct kallsyms *ks)
{
	const char *at = ks->text, *end = ks->text + ks->len;
	struct line line = {0};

	for (u32 n = 0; at && at < end && n < 4096 && !line.address; n++)
		at = parse_line(at, end, &line);
	return at && line.address;
}

static int start_load(struct kallsyms *ks)
{
	if (ks->is_open)
		return 0;
	ks->error = file_ahead_open(&ks->file, "/proc/kallsyms", MAX_KALLSYMS);
	ks->is_open = !ks->error;
	ks->text = ks->is_open ? ks->file.data : NULL;
	return ks->error;
}

static int load(struct kernel *k)
{
	struct kallsyms *ks = &k->kallsyms;

	if (ks->tried)
		return ks->error;
	ks->tried = true;
	if (!start_load(ks))
		ks->error = file_ahead_finish(&ks->file, &ks->len);
	if (!ks->error)
		ks->has_addresses = has_addresses(ks);
	return ks->error;
}

void kallsyms_release(struct kallsyms *ks)
{
	if (ks->is_open)
		file_ahead_close(&ks->file);
	free(ks->entries);
	hashmap_release(&ks->modules);
	arena_release(&ks->names);
}

/* ---- by address ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct kallsyms_entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

/* vmlinux comes sorted, then modules and BPF programs in their own order. */
static void build_index(struct kallsyms *ks)
{
	const char *end = ks->text + ks->len, *at = ks->text, *next;
	size_t cap = ks->len / 32 + 64;
	bool sorted = true;
	struct line line;

	ks->entries = xmalloc(cap * sizeof(*ks->entries));
	for (; at < end; at = next) {
		next = parse_line(at, end, &line);
		if (!next)
			break;
		/* Per-CPU symbols have offsets instead of addresses, which lie in the upper half.
		 */
		if (!(line.address >> 63))
			continue;
		if (ks->count == cap)
			ks->entries = xreallocarray(ks->entries, cap *= 2, sizeof(*ks->entries));
		if (ks->count && line.address < ks->entries[ks->count - 1].address)
			sorted = false;
		ks->entries[ks->count++] =
			(struct kallsyms_entry){line.address, (u32)(at - ks->text)};
	}
	if (!sorted)
		qsort(ks->entries, ks->count, sizeof(*ks->entries), compare_entries);
}

static const char *module_name(struct kallsyms *ks, const struct line *line)
{
	bool is_new;
	void **place;

	if (!line->module)
		return NULL;
	place = hashmap_put(&ks->modules, line->module, line->module_len, &is_new);
	if (is_new)
		*place = arena_strndup(&ks->names, line->module, line->module_len);
	return *place;
}

/* Of several names for one address the most telling: a global one, without compiler suffixes; of a
 * system call that the 64-bit and the 32-bit table share, the 64-bit name. */
static u32 name_rank(const struct line *line)
{
	const bool is_global = line->kind >= 'A' && line->kind <= 'Z';
	const bool is_odd = line->name[0] == '_' || memchr(line->name, '.', line->name_len) ||
			    line->name[0] == '$';

	const bool is_compat = line->name_len > 7 && !memcmp(line->name, "__ia32_", 7);

	return (is_global ? 4u : 0u) + (is_odd ? 0u : 2u) + (is_compat ? 0u : 1u);
}

/* ---- from the tables themselves ---- */

const struct kcore *kernel_kcore(struct kernel *k)
{
	if (!k->kcore_tried) {
		k->kcore_tried = true;
		k->has_kcore = !kcore_open(&k->kcore, NULL);
		if (!k->has_kcore)
			kcore_close(&k->kcore);
	}
	return k->has_kcore ? &k->kcore : NULL;
}

struct core_symbols *kernel_core_symbols(struct kernel *k)
{
	const struct kcore *core;

	if (k->core_tried)
		return k->core;
	k->core_tried = true;
	core = kernel_kcore(k);
	if (core)
		core_symbols_load(core, &k->core);
	return k->core;
}

struct best_name {
	char name[512];
	u32 rank;
	bool any;
};

static void offer_name(void *arg, char kind, const char *name)
{
	const struct line line = {.kind = kind, .name = name, .name_len = (u32)strlen(name)};
	struct best_name *best = arg;

	if (line.name_len >= sizeof(best->name) || (best->any && name_rank(&line) <= best->rank))
		return;
	memcpy(best->name, name, line.name_len + 1);
	best->rank = name_rank(&line);
	best->any = true;
}

static bool symbol_in_core(struct kernel *k, u64 addr, struct kernel_symbol *ret)
{
	struct core_symbols *core = k->kallsyms.tried ? NULL : kernel_core_symbols(k);
	struct best_name best = {.any = false};

	if (!core || !core_symbols_at(core, addr, &ret->address, offer_name, &best) || !best.any)
		return false;
	ret->name = arena_strdup(&k->kallsyms.names, best.name);
	ret->module = NULL;
	return true;
}

bool kernel_symbol_at(struct kernel *k, u64 addr, struct kernel_symbol *ret)
{
	struct kallsyms *ks = &k->kallsyms;
	u32 low = 0, high, best;
	struct line line, other;
	const char *end;

	if (symbol_in_core(k, addr, ret))
		return true;
	if (load(k) || !ks->has_addresses)
		return false;
	if (!ks->entries)
		build_index(ks);
	for (high = ks->count; low < high;) {
		const u32 middle = low + (high - low) / 2;

		if (ks->entries[middle].address <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	end = ks->text + ks->len;
	best = --low;
	if (!parse_line(ks->text + ks->entries[best].line, end, &line))
		return false;
	while (low && ks->entries[low - 1].address == line.address) {
		low--;
		/* Of equals the first in the file. */
		if (parse_line(ks->text + ks->entries[low].line, end, &other) &&
		    name_rank(&other) >= name_rank(&line))
			line = other;
	}
	ret->address = line.address;
	ret->name = arena_strndup(&ks->names, line.name, line.name_len);
	ret->module = module_name(ks, &line);
	return true;
}

/* ---- by name ---- */

u64 kernel_symbol_address(struct kernel *k, const char *name)
{
	struct kallsyms *ks = &k->kallsyms;
	const size_t len = strlen(name);
	const char *at, *end, *start;
	struct line line;
	char *needle;
	u64 address = 0;

	if (!len || len > 512)
		return 0;
	if (!ks->tried && kernel_core_symbols(k)) {
		address = core_symbols_address(k->core, name);
		if (address)
			return address;
	}
	if (load(k) || !ks->has_addresses)
		return 0;
	needle = xasprintf(" %s", name);
	end = ks->text + ks->len;
	for (at = ks->text; (at = memmem(at, (size_t)(end - at), needle, len + 1)); at += len + 1) {
		if (at[len + 1] != '\n' && at[len + 1] != '\t' && at[len + 1])
			continue;
		start = at;
		while (start > ks->text && start[-1] != '\n')
			start--;
		if (!parse_line(start, end, &line) || line.name != at + 1)
			continue;
		address = line.address;
		/* Of several, vmlinux's own comes first in the file. */
		break;
	}
	free(needle);
	return address;
}

/* The name gets its NUL in place, for as long as somebody looks at it: 60,000 are told. */
static int with_name(struct kallsyms *ks, const struct line *line,
		     int (*fn)(void *arg, const char *name, const char *module, u64 address),
		     void *arg)
{
	const char *module = module_name(ks, line);
	char *stop = ks->text + (line->name + line->name_len - ks->text);
	const char behind = *stop;
	int rc;

	*stop = '\0';
	rc = fn(arg, line->name, module, line->address);
	*stop = behind;
	return rc;
}

/* More whole lines than up to END; END: there are none. */
static const char *read_on(struct kallsyms *ks, const char *end)
{
	const size_t before = (size_t)(end - ks->text);
	const size_t len = file_ahead_wait(&ks->file, before);
	const char *last = memrchr(end, '\n', len - before);

	return last ? last + 1 : end;
}

typedef int (*function_fn)(void *arg, const char *name, const char *module, u64 address);

static int each_in_text(struct kernel *k, function_fn fn, void *arg)
{
	struct kallsyms *ks = &k->kallsyms;
	const char *at, *end, *next;
	struct line line;
	int rc = start_load(ks);

	if (rc)
		return rc;
	for (at = end = ks->text; !rc; at = next) {
		if (at == end && (end = read_on(ks, at)) == at)
			break;
		/* Half of the symbols are data: seen by the letter behind 16 digits. */
		if (end - at > 18 && at[16] == ' ' && (at[17] | 0x20) != 't' &&
		    (at[17] | 0x20) != 'w' && (next = memchr(at, '\n', (size_t)(end - at)))) {
			next++;
			continue;
		}
		next = parse_line(at, end, &line);
		if (!next)
			break;
		if (((line.kind | 0x20) != 't' && (line.kind | 0x20) != 'w') ||
		    symbol_is_padding(line.name))
			continue;
		rc = with_name(ks, &line, fn, arg);
	}
	return rc ? rc : load(k);
}

struct core_functions {
	function_fn fn;
	void *arg;
	struct arena names;
	VECTOR(struct kernel_symbol) of_modules;
};

static int keep_function(void *arg, const char *name, const char *module, u64 address,
			 bool is_alias)
{
	struct core_functions *f = arg;

	vector_push(&f->of_modules,
		    (struct kernel_symbol){arena_strdup(&f->names, name), module, address});
	return 0;
}

static int tell_function(void *arg, const char *name, const char *module, u64 address,
			 bool is_alias)
{
	const struct core_functions *f = arg;

	return f->fn(f->arg, name, module, address);
}

/* False: the tables, or those of a module, cannot be read; nothing was told. */
static bool each_in_core(struct kernel *k, function_fn fn, void *arg, int *ret)
{
	struct core_functions f = {.fn = fn, .arg = arg};
	struct core_symbols *core = k->kallsyms.tried ? NULL : kernel_core_symbols(k);
	const bool ok =
		core && !core_modules_each(kernel_kcore(k), "", &f.names, keep_function, &f);
	int rc = ok ? core_symbols_each(core, NULL, tell_function, &f) : 0;

	for (size_t i = 0; ok && !rc && i < f.of_modules.len; i++) {
		const struct kernel_symbol *s = &f.of_modules.items[i];

		rc = fn(arg, s->name, s->module, s->address);
	}
	vector_free(&f.of_modules);
	arena_release(&f.names);
	*ret = rc;
	return ok;
}

int kernel_each_function(struct kernel *k, function_fn fn, void *arg)
{
	int rc;

	return each_in_core(k, fn, arg, &rc) ? rc : each_in_text(k, fn, arg);
}

/* ---- what may be traced ---- */

int kernel_set_traceable(struct kernel *k, const char *path)
{
	char *text;
	const int err = file_read(path, MAX_KALLSYMS, &text, NULL);

	if (err)
		return err;
	free(text);
	k->traceable = arena_strdup(&k->arena, path);
	return 0;
}

bool kernel_traceable_is_given(const struct kernel *k)
{
	return k->traceable != NULL;
}

int kernel_each_traceable(struct kernel *k,
			  int (*fn)(void *arg, const char *name, const char *module), void *arg)
{
	const char *root = k->traceable ? NULL : kernel_tracefs(k);
	char path[64], *text;
	int rc;

	if (!root && !k->traceable)
		return -errno;
	snprintf(path, sizeof(path), "%s/available_filter_functions", root ? root : "");
	rc = file_read(k->traceable ? k->traceable : path, MAX_KALLSYMS, &text, NULL);
	if (rc)
		return rc;
	/* "name" or "name [module]" */
	for (char *line = text, *end; *line && !rc; line = end) {
		char *module = NULL, *blank;

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		blank = strchr(line, ' ');
		if (blank) {
			*blank = '\0';
			module = blank + 1 + (blank[1] == '[');
			module[strcspn(module, "]")] = '\0';
		}
		/* Functions that were never given a name (init text, weak ones that lost). */
		if (*line && !str_starts(line, "__ftrace_invalid_address___"))
			rc = fn(arg, line, module);
	}
	free(text);
	return rc;
}
