/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of modules in the kernel's memory. Where a module's struct module is says sysfs (its
 *section .gnu.linkonce.this_module). The struct is laid out by the kernel's configuration, but one
 *place in it cannot be mistaken (include/linux/module.h, kernel/module/kallsyms.c,
 *post_relocation()):
 *
 *	struct mod_kallsyms *kallsyms;		is the address of
 *	struct mod_kallsyms core_kallsyms;	{ Elf_Sym *symtab; unsigned int num_symtab; char
 **strtab; char *typetab; }
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "kernel/core_symbols.h"

#define MODULE_SIZE 4096 /* what is looked at of a struct module, which has 1 to 1.5 KB */
#define MAX_SYMBOLS ((u32)1 << 20)
#define MAX_STRINGS ((size_t)64 << 20)
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
		    ret->strtab >> 63 && ret->typetab >> 63)
			return true;
	}
	return false;
}

struct tables {
	Elf64_Sym *symbols;
	char *strings, *types;
	size_t strings_len;
};

/* How long the strings are is not said: up to the last that a symbol refers to. */
static bool read_tables(const struct kcore *c, const struct kallsyms_of_module *m, struct tables *t)
{
	t->symbols = xreallocarray(NULL, m->count, sizeof(*t->symbols));
	t->types = xmalloc(m->count);
	if (!kcore_read_all(c, m->symtab, t->symbols, m->count * sizeof(*t->symbols)) ||
	    !kcore_read_all(c, m->typetab, t->types, m->count))
		return false;
	for (u32 i = 0; i < m->count; i++)
		t->strings_len = MAX(t->strings_len, (size_t)t->symbols[i].st_name);
	if (t->strings_len > MAX_STRINGS || t->symbols[0].st_name || t->symbols[0].st_value)
		return false;
	t->strings_len += MAX_NAME;
	t->strings = xmalloc(t->strings_len + 1);
	t->strings_len = kcore_read(c, m->strtab, t->strings, t->strings_len);
	t->strings[t->strings_len] = '\0';
	return t->strings_len && !t->strings[0];
}

static int each_of(const struct kcore *c, const char *module, core_symbol_fn fn, void *arg)
{
	struct kallsyms_of_module m;
	struct tables t = {0};
	int rc = 0;

	if (!find_kallsyms(c, module, &m))
		return -EOPNOTSUPP;
	if (!read_tables(c, &m, &t))
		rc = -EOPNOTSUPP;
	for (u32 i = 1; !rc && i < m.count; i++) {
		const Elf64_Sym *s = &t.symbols[i];
		const char kind = (char)(t.types[i] | 0x20);

		if (kind != 't' && kind != 'w')
			continue;
		if (s->st_name >= t.strings_len || !(s->st_value >> 63))
			rc = -EOPNOTSUPP;
		else if (t.strings[s->st_name])
			rc = fn(arg, t.strings + s->st_name, module, s->st_value);
	}
	free(t.symbols);
	free(t.strings);
	free(t.types);
	return rc;
}

/* "name size users used-by state address" (kernel/module/procfs.c) */
int core_modules_each(const struct kcore *c, struct arena *names, core_symbol_fn fn, void *arg)
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
			rc = each_of(c, arena_strdup(names, name), fn, arg);
	}
	free(text);
	return rc;
}
