/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ksyms.c and the two ways to read symbols share. */
#ifndef PANTRACE_KERNEL_SYMBOLS_INTERNAL_H
#define PANTRACE_KERNEL_SYMBOLS_INTERNAL_H

#include "base/hashmap.h"
#include "base/vector.h"
#include "kernel/symbols/ksyms.h"

struct ksym {
	u64 address;
	u32 name; /* where it begins in data */
	u16 module; /* index */
	char type; /* as in kallsyms: 't' is text, 'T' global text */
};

#define KSYMS_CACHE 4096 /* addresses that were asked for: those of a trace are few */

struct ksyms {
	struct kernel *kernel; /* where to read from; NULL: the text of a recording */
	bool is_loaded;
	int error;
	char *data; /* holds the names, each with its NUL */
	size_t len;
	VECTOR(struct ksym) list; /* rising addresses; equal ones in the order of the file */
	size_t known; /* index of the first one whose address is known */
	VECTOR(const char *) modules; /* [0] = NULL, vmlinux */
	u32 scans; /* lookups by name so far without the index */
	struct hashmap by_name;
	/* the range of code that was discarded after boot; end 0 = not asked yet */
	u64 boot_begin, boot_end;
	struct {
		u64 address;
		u32 index; /* + 1 */
	} cache[KSYMS_CACHE];
};

/*
 * Appends a symbol whose names lie in data; module NULL = vmlinux. Symbols without an address are
 * left out.
 */
void ksyms_add(struct ksyms *ks, u64 address, char type, const char *name, const char *module);
/* Lines of kallsyms in data. */
void ksyms_parse_text(struct ksyms *ks);
/*
 * Reads data from the kernel's iterator and parses it. -errno: this kernel has none, or it is not
 * permitted.
 */
int ksyms_read_iterator(struct ksyms *ks);

#endif
