/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files that make a dead kernel: kernel.c, address.c, kallsyms.c. */
#ifndef PANTRACE_TRACE_VMCORE_KERNEL_INTERNAL_H
#define PANTRACE_TRACE_VMCORE_KERNEL_INTERNAL_H

#include "kernel/symbols/ksyms.h"
#include "trace/vmcore/kernel.h"
#include "types/btf.h"

#define DEAD_PAGE	  4096u
#define DEAD_TRANSLATIONS 256

struct dead_translation {
	u64 page, physical; /* of the page; page 0 = not used */
};

struct dead_member {
	u32 offset, size;
	u8 bit_offset, bit_size; /* bit_size 0 = no bit-field */
};

struct dead_kernel {
	char *path;
	struct diag *diag;
	struct dump *dump;
	u64 table, table_mask; /* physical address of the upmost page table; bits of an address */
	u32 levels;
	struct dead_translation translations[DEAD_TRANSLATIONS];
	struct strbuf kallsyms;
	struct ksyms *symbols;
	struct type_store types;
	struct btf_source *btf;
	struct dead_member members[DEAD_FIELD_COUNT];
};

/* Values of VMCOREINFO: "SYMBOL(x)=hex", "NUMBER(x)=decimal". False: it does not say. */
bool dead_info_hex(const struct dead_kernel *k, const char *key, u64 *ret);
bool dead_info_number(const struct dead_kernel *k, const char *key, s64 *ret);

/* ---- address.c ---- */

/* Finds the page tables. 0, or -ENOKEY: VMCOREINFO does not say. */
int dead_address_init(struct dead_kernel *k);

/* ---- kallsyms.c ---- */

/* The kernel's own symbols; -ENOKEY: VMCOREINFO does not say where they are. */
int dead_kallsyms_read(struct dead_kernel *k, struct strbuf *out);
/* Those of modules, once members are known. What cannot be read is left out. */
void dead_kallsyms_read_modules(struct dead_kernel *k, struct strbuf *out);

#endif
