/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and addresses of a kernel's symbols: of the running kernel, from its iterator over them
 * (iter:ksym, Linux 6.0) or from /proc/kallsyms; of a recorded one from the text that the recording
 * holds. Everything is read by the first question, which takes 20 to 40 ms.
 *
 * Several names may belong to one address. The kernel's own output (function tracers, %pS) has the
 * first of them; scripts are shown the one that tells most.
 */
#ifndef PANTRACE_KERNEL_SYMBOLS_KSYMS_H
#define PANTRACE_KERNEL_SYMBOLS_KSYMS_H

#include "base/base.h"

struct kernel;
struct ksyms;

/* Of the running kernel; belongs to k. */
struct ksyms *kernel_ksyms(struct kernel *k);
/* Of the text of a kallsyms file, malloc'ed and NUL-terminated: taken, and changed. */
struct ksyms *ksyms_new(char *text, size_t len);
void ksyms_release(struct ksyms *ks);

/* Are addresses shown? Where kernel.kptr_restrict hides them there are only names. */
bool ksyms_has_addresses(struct ksyms *ks);

enum ksym_naming {
	KSYM_FIRST, /* as the kernel prints it */
	KSYM_TELLING, /* for people: a global name, without a compiler's suffix */
};

struct kernel_symbol {
	const char *name, *module; /* module NULL = vmlinux; both are valid as long as the ksyms */
	u64 address; /* of the symbol's start */
	u64 end; /* the first address after it, as the kernel counts it */
};

/* The symbol that contains address. False: there is none, or no addresses are known. */
bool ksyms_at(struct ksyms *ks, u64 address, enum ksym_naming naming, struct kernel_symbol *ret);
/* The address of a symbol, of several that of vmlinux or else the first; 0 = unknown. */
u64 ksyms_address(struct ksyms *ks, const char *name);
/*
 * How many symbols have this name, each at an address of its own; 0 = none, or no addresses are
 * known.
 */
u32 ksyms_count(struct ksyms *ks, const char *name);
/* Is it code that ran at boot, and whose memory was given back since? */
bool ksyms_ran_at_boot(struct ksyms *ks, u64 address);

/* A function under whichever of its names was asked for. */
struct kernel_function {
	const char *name; /* the one that matches; the kernel's own where that does */
	const char *own; /* what the kernel calls it: the first of its names */
	const char *module; /* NULL = vmlinux */
	u64 address; /* 0 = not known */
};

typedef int (*kernel_function_fn)(void *arg, const struct kernel_function *f);
/*
 * The functions one of whose names matches the glob (NULL = all), in the order of addresses; fn
 * returning non-zero ends, and is returned. Each is reported once, or, without addresses, once for
 * each name. Left out are BPF programs and trampolines, what compilers and linkers put beside
 * functions (padding, cold parts), and code that ran at boot and is gone. Returns -errno if
 * nothing can be read.
 */
int ksyms_each_function(struct ksyms *ks, const char *glob, kernel_function_fn fn, void *arg);

/* The running kernel's, in short. */
bool kernel_symbol_at(struct kernel *k, u64 address, struct kernel_symbol *ret); /* KSYM_TELLING */
u64 kernel_symbol_address(struct kernel *k, const char *name);

#endif
