/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's symbols from its own memory: the tables that /proc/kallsyms is printed from (kernel/kallsyms.c). The kernel
 * formats that text line by line, 20 ms on hardware and 0.2 to 0.4 s in a virtual machine without help; the tables are 3 MB,
 * where they lie stands in VMCOREINFO (Linux 6.0), and a few names are found in them without reading all.
 *
 * Nothing is believed: a table in another layout than the known ones, or one whose _stext is not where VMCOREINFO has it, is
 * refused, and so is a module whose symbols do not lie in it. Then the text must be read.
 */
#ifndef PANTRACE_KERNEL_CORE_SYMBOLS_H
#define PANTRACE_KERNEL_CORE_SYMBOLS_H

#include "base/arena.h"
#include "kernel/kcore.h"

/* module NULL = vmlinux; is_alias: another name has the same address and stands before this one. */
typedef int (*core_symbol_fn)(void *arg, const char *name, const char *module, u64 address,
			      bool is_alias);

struct core_symbols;

/* The padding in front of functions has names, too (scripts/link-vmlinux.sh, kCFI). */
static inline bool symbol_is_padding(const char *name)
{
	return *name == '_' && (str_starts(name, "__pfx_") || str_starts(name, "__cfi_"));
}

/* -EOPNOTSUPP: it cannot be done here. The core file stays open as long as they are used. */
int core_symbols_load(const struct kcore *c, struct core_symbols **ret);
void core_symbols_release(struct core_symbols *s);
/* Where the text of vmlinux begins. */
u64 core_symbols_text(const struct core_symbols *s);
/*
 * Text symbols of vmlinux, in the order of their addresses: those whose names begin with one of the prefixes (NULL at the end of
 * them; of more than 16, or one that is empty, all are told; prefixes NULL = all). Ends when fn returns non-zero, and returns
 * that; -EIO: a table ends too early.
 */
int core_symbols_each(struct core_symbols *s, const char *const *prefixes, core_symbol_fn fn, void *arg);
/*
 * Every symbol at the greatest address up to this one, in the order of the file; kind as in kallsyms. False: it is not an
 * address of vmlinux.
 */
bool core_symbols_at(struct core_symbols *s, u64 address, u64 *ret_start,
		     void (*fn)(void *arg, char kind, const char *name), void *arg);
/* 0 = there is none of this name. */
u64 core_symbols_address(struct core_symbols *s, const char *name);
/*
 * The same of modules, of one prefix ("" = all). Names are valid during the call, modules' names as long as the arena.
 * -EOPNOTSUPP: one of the modules cannot be read.
 */
int core_modules_each(const struct kcore *c, const char *prefix, struct arena *names, core_symbol_fn fn, void *arg);

#endif
