/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the BTF reader. */
#ifndef PANTRACE_TYPES_BTF_INTERNAL_H
#define PANTRACE_TYPES_BTF_INTERNAL_H

#include "base/vector.h"
#include "kernel/bpf/btf_layout.h"
#include "types/btf.h"

#define BTF_KIND_BIT(k) (1u << (k))

/* The types that have names: most of a kernel's 130,000 have none. */
enum btf_list {
	BTF_LIST_FUNCTIONS,
	BTF_LIST_ENUMS,
	BTF_LIST_OTHERS,
	BTF_LIST_COUNT,
};

struct btf_numbers {
	u32 *items, len; /* i of each type */
};

/*
 * One BTF object. Module objects are split: their type ids and string offsets go on where those of
 * the base end.
 *
 *	data ─► btf_header │ types (struct btf_type + what its kind adds) ... │ strings,
 *	NUL-terminated, first is ""
 */
struct btf_blob {
	struct btf_source *owner;
	const struct btf_blob *base; /* NULL: this is the base */
	char *module; /* NULL: vmlinux */
	u32 index; /* in type.source_id's upper half: 0 = vmlinux, i + 1 = modules.items[i] */

	bool is_mapped, tried;
	int error; /* result of opening; 0 = usable */
	const u8 *data;
	size_t len;
	const u8 *types;
	const char *strings; /* the last byte is NUL */
	u32 types_len, strings_len;
	u32 first_id, first_string;

	u32 *offsets; /* offset of type first_id + i in types; NULL until the first lookup */
	u32 count; /* of types */
	struct type **cache; /* converted types, by id - first_id */

	struct btf_numbers lists[BTF_LIST_COUNT];

	/* Names by hash, once there were many lookups; until then the last answer. */
	u32 lookups;
	char *asked;
	u32 asked_kinds, answer;
	u32 *heads, *next; /* index + 1 */
	u32 mask;

	int fd; /* of the kernel's object; 0 = not asked yet, < 0 = -errno */
};

struct btf_source {
	struct type_store *store;
	char *path, *module_dir; /* module_dir NULL: no modules */
	struct btf_blob vmlinux;
	VECTOR(struct btf_blob *) modules; /* listed, opened one by one */
	bool modules_listed;
	u32 depth; /* of the conversion under way */
	struct hashmap names; /* answers to lookup: struct btf_answer */
	struct hashmap enumerators; /* answers to lookup_enumerator */
};

/* A remembered answer; type NULL = there is none. */
struct btf_answer {
	const struct type *type;
	s64 value;
};

/* btf_attach() with another directory of module objects, or none. */
struct btf_source *btf_attach_from(struct type_store *store, const char *path,
				   const char *module_dir);

/* ---- btf.c: objects ---- */
/* Opens and indexes on first use. 0 or -errno. */
int btf_open(struct btf_blob *b);
/* An object that lies in memory, aligned to 4 bytes; the owner frees it. 0 or -EINVAL. */
int btf_open_memory(struct btf_blob *b, const void *data, size_t len);
void btf_close_memory(struct btf_blob *b);
struct btf_blob *btf_module(struct btf_source *s, const char *name); /* NULL or not opened yet */
void btf_list_modules(struct btf_source *s);
/* The object number i: vmlinux, then the modules; NULL at the end. Skips what cannot be opened. */
struct btf_blob *btf_next_blob(struct btf_source *s, u32 *iterator);
/*
 * The raw type, checked to be complete; *ret_owner is the object that holds it. NULL: no such type,
 * or void.
 */
const struct btf_type *btf_raw(const struct btf_blob *b, u32 id, const struct btf_blob **ret_owner);
/* The type first_id + n, which must exist. */
static inline const struct btf_type *btf_nth(const struct btf_blob *b, u32 n)
{
	return (const void *)(b->types + b->offsets[n]);
}

/* "" when out of bounds */
static inline const char *btf_name_at(const struct btf_blob *b, u32 offset)
{
	while (b->base && offset < b->first_string)
		b = b->base;
	if (offset < b->first_string || offset - b->first_string >= b->strings_len)
		return "";
	return b->strings + (offset - b->first_string);
}

/* In scans over many names, the first letter tells nearly all of them apart. */
static inline bool btf_is_name(const struct btf_blob *b, u32 offset, const char *name)
{
	const char *other = btf_name_at(b, offset);

	return *other == *name && str_eq(other, name);
}

/* First id with this name and one of these kinds; 0 = none. */
u32 btf_find_id(struct btf_blob *b, const char *name, u32 kinds);
/* Descriptor of the kernel's object of a module, or -errno. */
int btf_object_fd(struct btf_blob *b);

/* ---- btf_type.c: conversion ---- */
const struct type *btf_convert(const struct btf_blob *b, u32 id);

/* ---- btf_lookup.c ---- */
struct type *btf_lookup(struct type_store *store, const char *name);
const struct type *btf_lookup_enumerator(struct type_store *store, const char *name,
					 s64 *ret_value);
/* A complete struct or union in any object; NULL if none. */
const struct type *btf_find_definition(struct btf_source *s, const char *name, u32 kind);

static inline u32 btf_raw_kind(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static inline u32 btf_raw_vlen(const struct btf_type *t)
{
	return BTF_INFO_VLEN(t->info);
}

static inline bool btf_raw_flag(const struct btf_type *t)
{
	return BTF_INFO_KFLAG(t->info);
}

#endif
