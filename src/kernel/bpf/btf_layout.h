/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How BTF lies in memory (Documentation/bpf/btf.rst). What its types mean: types/btf.h. */
#ifndef PANTRACE_KERNEL_BPF_BTF_LAYOUT_H
#define PANTRACE_KERNEL_BPF_BTF_LAYOUT_H

#include <linux/btf.h>

#include "base/base.h"

/* linux/btf.h of older headers */
#define PT_BTF_TYPE_TAG 18
#define PT_BTF_ENUM64	19
#define PT_BTF_KIND_MAX 19

/*
 * struct btf_type and what its kind adds, one after the other; names, each with its NUL, the last
 * byte included.
 */
struct btf_sections {
	const u8 *types;
	const char *strings;
	u32 types_len, strings_len;
};

/* Of the object that begins at data. 0 or -EINVAL: damaged, or of another byte order. */
int btf_find_sections(const u8 *data, size_t len, struct btf_sections *ret);

/* Bytes of a struct btf_type of each kind, and of each of its members. */
extern const struct btf_kind_size {
	u8 fixed, each;
} btf_kind_sizes[32];

/*
 * Of the type with all that follows it; 0: a kind that is not known, so that what follows
 * cannot be found.
 */
static inline size_t btf_type_size(const struct btf_type *t)
{
	const struct btf_kind_size *s = &btf_kind_sizes[BTF_INFO_KIND(t->info)];

	return s->fixed + (size_t)s->each * BTF_INFO_VLEN(t->info);
}

#endif
