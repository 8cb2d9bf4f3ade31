/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of modules in the kernel's memory. Where a module's struct module is says sysfs (its
 * section .gnu.linkonce.this_module). The struct is laid out by the kernel's configuration, but one
 * place in it cannot be mistaken (include/linux/module.h, kernel/module/kallsyms.c,
 * post_relocation()):
 *
 *	struct mod_kallsyms *kallsyms;		is the address of
 *	struct mod_kallsyms core_kallsyms;	{ Elf_Sym *symtab; unsigned int num_symtab;
 *						  char *strtab; char *typetab; }
 *
 * The three tables follow each other (layout_symtab()). Together they are a megabyte for a large
 * driver, and pass through windows.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "kernel/core_symbols.h"
#include "kernel/core_table.h"

#define MODULE_SIZE 4096 /* what is looked at of a struct module, which has 1 to 1.5 KB */
#define MAX_SYMBOLS ((u32)1 << 20)
#define MAX_STRINGS ((size_t)64 << 20)
#define WINDOW	    ((size_t)64 << 10)
#define MAX_LIST    ((size_t)1 << 20) /* /proc/modules has 80 bytes for each */

enum { MAX_NAME = 1024 };

struct kallsyms_of_module {
	u64 symtab;
	u32 count, padding;
	u64 strtab, typetab;
};

static u64 module_struct(const char *module)
{
	char path[256], *text;
	u64 address;

	snprintf(path, sizeof(path), "/sys/module/%s/sections/.gnu.linkonce.this_module", module);
	if (file_read(path, 4096, &text, NULL))
		return 0;
	address = strtoull(text, NULL, 16);
	free(text);
	return address;
}

static bool find_kallsyms(const struct kcore *c, const char *module, struct kallsyms_of_module *ret)
{
	const u64 at = module_struct(module);
	u64 words[MODULE_SIZE / sizeof(u64)];
	size_t n;

	if (!at)
		return false;
	n = kcore_read(c, at, words, sizeof(words)) / sizeof(*words);
	for (size_t i = 0; i + 1 + sizeof(*ret) / sizeof(*words) <= n; i++) {
		if (words[i] != at + (i + 1) * sizeof(*words))
			continue;
		memcpy(ret, words + i + 1, sizeof(*ret));
		/* A list without members points at itself as well, but has no tables. */
		if (ret->count && ret->count <= MAX_SYMBOLS && ret->symtab >> 63 &&
		    ret->strtab >> 63 && ret->typetab > ret->strtab &&
		    ret->typetab - ret->strtab <= MAX_STRINGS)
			return true;
	}
	return false;
}

struct tables {
	struct core_window symbols, strings, types;
};

static void tables_open(struct tables *t, const struct kcore *c, const struct kallsyms_of_module *m)
{
	core_window_open(&t->symbols, c, m->symtab, m->count * sizeof(Elf64_Sym), WINDOW);
	core_window_open(&t->strings, c, m->strtab, m->typetab - m->strtab, WINDOW);
	core_window_open(&t->types, c, m->typetab, m->count, WINDOW);
}

static void tables_close(struct tables *t)
{
	core_window_close(&t->symbols);
	core_window_close(&t->strings);
	core_window_close(&t->types);
}

/* May one of its names begin so? They stand one after the other, each with a NUL behind it. */
static bool may_begin(struct tables *t, const char *prefix)
{
	const size_t prefix_len = strlen(prefix);
	char needle[MAX_NAME];
	const u8 *at;
	size_t from = 0, len;

	if (!prefix_len || prefix_len + 1 >= sizeof(needle))
		return true;
	*needle = '\0';
	memcpy(needle + 1, prefix, prefix_len);
	while (from + prefix_len < t->strings.len) {
		at = core_window_at(&t->strings, from, WINDOW, &len);
		if (len <= prefix_len || memmem(at, len, needle, prefix_len + 1))
			return true;
		from += len - prefix_len;
	}
	return false;
}

/* False: it cannot be as it says. Of the name no more is known than where it begins. */
static bool symbol_at(struct tables *t, u32 i, Elf64_Sym *symbol, const char **ret_name,
		      size_t *ret_len)
{
	const u8 *at;
	size_t len;

	at = core_window_at(&t->symbols, i * sizeof(*symbol), sizeof(*symbol), &len);
	if (len < sizeof(*symbol))
		return false;
	memcpy(symbol, at, sizeof(*symbol));
	*ret_name = (const char *)core_window_at(&t->strings, symbol->st_name, MAX_NAME, ret_len);
	return *ret_len > 0;
}

/* 0: it cannot be read. */
static char kind_at(struct tables *t, u32 i)
{
	size_t len;
	const u8 *at = core_window_at(&t->types, i, 1, &len);

	return len ? (char)(*at | 0x20) : '\0';
}

static int tell_each(struct tables *t, const char *module, u32 count, const char *prefix,
		     core_symbol_fn fn, void *arg)
{
	const size_t prefix_len = strlen(prefix);
	u64 last = 0;
	bool is_alias;

	for (u32 i = 1; i < count; i++) {
		const char kind = kind_at(t, i);
		const char *name;
		Elf64_Sym s;
		size_t len;
		int rc;

		if (kind && kind != 't' && kind != 'w')
			continue;
		if (!kind || !symbol_at(t, i, &s, &name, &len) || !(s.st_value >> 63))
			return -EOPNOTSUPP;
		if (!*name)
			continue;
		is_alias = s.st_value == last;
		last = s.st_value;
		if (len < prefix_len || memcmp(name, prefix, prefix_len))
			continue;
		if (!memchr(name, '\0', len))
			return -EOPNOTSUPP;
		rc = symbol_is_padding(name) ? 0 : fn(arg, name, module, s.st_value, is_alias);
		if (rc)
			return rc;
	}
	return 0;
}

static int each_of(const struct kcore *c, const char *module, const char *prefix, core_symbol_fn fn,
		   void *arg)
{
	struct kallsyms_of_module m;
	const char *name;
	struct tables t;
	Elf64_Sym s;
	size_t len;
	int rc = 0;

	if (!find_kallsyms(c, module, &m))
		return -EOPNOTSUPP;
	tables_open(&t, c, &m);
	if (!symbol_at(&t, 0, &s, &name, &len) || *name || s.st_name || s.st_value)
		rc = -EOPNOTSUPP;
	else if (may_begin(&t, prefix))
		rc = tell_each(&t, module, m.count, prefix, fn, arg);
	tables_close(&t);
	return rc;
}

/* "name size users used-by state address" (kernel/module/procfs.c) */
int core_modules_each(const struct kcore *c, const char *prefix, struct arena *names,
		      core_symbol_fn fn, void *arg)
{
	char *text, *line, *rest;
	int rc = 0;

	if (file_read("/proc/modules", MAX_LIST, &text, NULL))
		return 0; /* a kernel without modules */
	for (line = strtok_r(text, "\n", &rest); line && !rc; line = strtok_r(NULL, "\n", &rest)) {
		char name[128], state[16];

		if (sscanf(line, "%127s %*u %*d %*s %15s", name, state) != 2)
			rc = -EOPNOTSUPP;
		else if (!strcmp(state, "Live"))
			rc = each_of(c, arena_strdup(names, name), prefix, fn, arg);
	}
	free(text);
	return rc;
}
