/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be traced, without asking ftrace: its list is written by one search in kallsyms for each
 * function, 50 ms on hardware and 2 s in a virtual machine without help. What it holds are the
 * functions that begin with ftrace's nop, and those bytes can be read: the symbols tell where
 * (core_symbols.h, or else the text of kallsyms), kcore.h has the memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/glob.h"
#include "kernel/core_symbols.h"
#include "kernel/kernel_internal.h"

struct candidate {
	u64 address;
	const char *name, *module;
	u32 order;
};

struct search {
	struct kernel *k;
	const char *glob;
	const struct kcore *core;
	struct arena arena;
	VECTOR(struct candidate) list;
	u64 last;
	u64 text_from,
		text_to; /* of vmlinux; not what is run once, which is freed and used for something else */
	struct {
		bool known;
		u64 text_from, text_to, with_registers, without;
	} vmlinux; /* what traced functions call instead of the nop, and where that lies */
	kernel_function_fn fn;
	void *arg;
	bool any;
};

/* ---- the functions whose names match ---- */

static void note_address(struct search *s, const char *name, u64 address)
{
	if (*name != '_')
		return;
	if (!s->text_from && str_eq(name, "_stext"))
		s->text_from = address;
	else if (!s->text_to && str_eq(name, "_etext"))
		s->text_to = address;
}

static int add_candidate(struct search *s, const char *name, const char *module, u64 address)
{
	const u32 order = (u32)s->list.len;

	if (s->glob && !glob_match(s->glob, name))
		return 0;
	vector_push(&s->list, (struct candidate){.address = address,
						 .name = arena_strdup(&s->arena, name),
						 .module = module,
						 .order = order});
	return 0;
}

static int each_core_symbol(void *arg, const char *name, const char *module, u64 address,
			    bool is_alias)
{
	struct search *s = arg;

	if (!module)
		note_address(s, name, address);
	/* Of several names for one address the first is ftrace's, too. */
	return is_alias ? 0 : add_candidate(s, name, module, address);
}

static int each_symbol(void *arg, const char *name, const char *module, u64 address)
{
	struct search *s = arg;

	if (!module)
		note_address(s, name, address);
	if (address == s->last)
		return 0;
	s->last = address;
	if (module && (str_eq(module, "bpf") || str_starts(module, "__builtin")))
		return 0;
	return add_candidate(s, name, module, address);
}

static int find_in_core(struct search *s)
{
	struct core_symbols *symbols = kernel_core_symbols(s->k);
	const char *prefixes[] = {"_etext", NULL, NULL}, *prefix = "";
	int err;

	if (!symbols)
		return -EOPNOTSUPP;
	/* Of a pattern what stands before its first special character. */
	if (s->glob)
		prefix = arena_strndup(&s->arena, s->glob, strcspn(s->glob, "*?[\\"));
	prefixes[1] = prefix;
	s->text_from = core_symbols_text(symbols);
	err = core_symbols_each(symbols, s->glob ? prefixes : NULL, each_core_symbol, s);
	return err ? err : core_modules_each(s->core, prefix, &s->arena, each_core_symbol, s);
}

static int find_candidates(struct search *s)
{
	int err = find_in_core(s);

	if (!err)
		return 0;
	s->list.len = 0;
	return kernel_each_function(s->k, each_symbol, s);
}

/* ---- those that begin as ftrace wants it ---- */

/* Only where a function is being traced somebody needs to know. */
static void find_callers(struct search *s)
{
	if (s->vmlinux.known)
		return;
	s->vmlinux.known = true;
	s->vmlinux.text_from = kernel_symbol_address(s->k, "_stext");
	s->vmlinux.text_to = kernel_symbol_address(s->k, "_etext");
	s->vmlinux.with_registers = kernel_symbol_address(s->k, "ftrace_regs_caller");
	s->vmlinux.without = kernel_symbol_address(s->k, "ftrace_caller");
}

static bool is_ftrace_call(struct search *s, u64 target)
{
	struct kernel_symbol symbol;

	find_callers(s);
	if (target >= s->vmlinux.text_from && target < s->vmlinux.text_to)
		return target == s->vmlinux.with_registers || target == s->vmlinux.without;
	/* A trampoline, made for one user of the function. */
	return kernel_symbol_at(s->k, target, &symbol) &&
	       (str_starts(symbol.name, "ftrace_trampoline") ||
		str_starts(symbol.name, "bpf_trampoline"));
}

static bool is_site(struct search *s, const struct candidate *c, const u8 *code, u32 *ret_offset)
{
	s64 target;

	switch (arch_trace_site(code, ret_offset, &target)) {
	case TRACE_SITE_NOP:
		return true;
	case TRACE_SITE_CALL:
		return is_ftrace_call(s, c->address + (u64)target);
	case TRACE_SITE_NONE:
		break;
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

_Static_assert(ARCH_TRACE_SITE_SIZE <= CORE_SPOT, "a site is read as a spot");

static bool in_text(const struct search *s, const struct candidate *c)
{
	return c->module || (c->address >= s->text_from && c->address < s->text_to);
}

/* N of them, CORE_SPOTS at most. */
static int tell_sites(struct search *s, const struct candidate *c, u32 n)
{
	u8 code[CORE_SPOTS * CORE_SPOT];
	u64 addresses[CORE_SPOTS];
	u32 offset;
	int rc = 0;

	for (u32 i = 0; i < n; i++)
		addresses[i] = c[i].address;
	kcore_read_spots(s->core, addresses, n, code);
	for (u32 i = 0; i < n && !rc; i++) {
		if (!in_text(s, &c[i]) || !is_site(s, &c[i], code + (size_t)i * CORE_SPOT, &offset))
			continue;
		s->any = true;
		rc = s->fn(s->arg, &(struct kernel_function){c[i].name, c[i].module, c[i].address,
							     c[i].address + offset});
	}
	return rc;
}

/* vmlinux comes sorted and lies below its modules, which are not sorted. */
static void sort_candidates(struct search *s)
{
	struct candidate *list = s->list.items;
	const size_t len = s->list.len;
	size_t sorted = 1;

	if (!len)
		return;
	while (sorted < len && by_address(&list[sorted - 1], &list[sorted]) < 0)
		sorted++;
	if (sorted == len)
		return;
	qsort(list + sorted, len - sorted, sizeof(*list), by_address);
	if (by_address(&list[sorted - 1], &list[sorted]) > 0)
		qsort(list, len, sizeof(*list), by_address);
}

static int tell_all(struct search *s)
{
	size_t n;
	int rc = 0;

	sort_candidates(s);
	if (s->list.len > CORE_SPOTS)
		kcore_expect_much(s->core);
	for (size_t i = 0; i < s->list.len && !rc; i += n) {
		n = MIN(s->list.len - i, (size_t)CORE_SPOTS);
		rc = tell_sites(s, &s->list.items[i], (u32)n);
	}
	return rc;
}

/* Only who may see ftrace's list; it is not read. */
static bool may_see(struct kernel *k)
{
	const char *root = kernel_traceable_is_given(k) ? NULL : kernel_tracefs(k);
	char path[64];
	int fd;

	if (!root)
		return false;
	snprintf(path, sizeof(path), "%s/available_filter_functions", root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int kernel_each_entry(struct kernel *k, const char *glob, kernel_function_fn fn, void *arg)
{
	struct search s = {.k = k, .glob = glob, .fn = fn, .arg = arg};
	int err;

	s.core = may_see(k) ? kernel_kcore(k) : NULL;
	if (!s.core)
		return -EOPNOTSUPP;
	err = find_candidates(&s);
	if (!err && s.text_from && s.text_to)
		err = tell_all(&s);
	vector_free(&s.list);
	arena_release(&s.arena);
	return s.any ? err : -EOPNOTSUPP;
}
