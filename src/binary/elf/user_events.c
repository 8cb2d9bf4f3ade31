/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers of a file that is loaded anywhere are in its relocations (R_X86_64_RELATIVE: the
 * addend); where there is none for a place, in the place itself (fixed executables; packed
 * relocations, DT_RELR).
 */
#define PANTRACE_NO_SITES
#include "binary/elf/user_events.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/event.h"
#include "binary/elf/internal.h"

#define TABLE	   "pantrace_table"
#define MAX_TYPES  512
#define MAX_ENUMS  16
#define MAX_STRING (1u << 20)

struct relocation {
	u64 at, to;
};

struct reading {
	struct elf_file *file;
	VECTOR(struct relocation) relocations; /* by place */
	struct arena arena; /* of one event */
};

static int by_place(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void read_relocations(struct reading *r)
{
	for (u32 i = 0; i < r->file->section_count; i++) {
		const struct elf_section *s = &r->file->sections[i];
		const u8 *data = s->type == SHT_RELA ? elf_section_bytes(r->file, s) : NULL;

		for (u64 at = 0; data && at + sizeof(Elf64_Rela) <= s->size;
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;

			memcpy(&rela, data + at, sizeof(rela));
			if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				vector_push(
					&r->relocations,
					((struct relocation){rela.r_offset, (u64)rela.r_addend}));
		}
	}
	if (r->relocations.len)
		qsort(r->relocations.items, r->relocations.len, sizeof(struct relocation),
		      by_place);
}

/* Bytes at a virtual address; NULL: not in the file. */
static const void *bytes_at(const struct reading *r, u64 address, u64 n)
{
	u64 offset;

	return elf_file_offset(r->file, address, &offset) ? NULL
							  : elf_file_bytes(r->file, offset, n);
}

static u64 pointer_at(const struct reading *r, u64 address)
{
	const struct relocation key = {.at = address};
	const struct relocation *found =
		r->relocations.len ? bsearch(&key, r->relocations.items, r->relocations.len,
					     sizeof(key), by_place)
				   : NULL;
	const void *place = found ? NULL : bytes_at(r, address, 8);
	u64 value = 0;

	if (found)
		return found->to;
	if (place)
		memcpy(&value, place, 8);
	return value;
}

static const char *string_at(const struct reading *r, u64 address)
{
	u64 offset, n = 0;
	const char *text;

	if (!address || elf_file_offset(r->file, address, &offset))
		return NULL;
	do {
		n += 256;
		if (!file_image_has(&r->file->image, offset, n))
			n = r->file->image.len - MIN(offset, (u64)r->file->image.len);
		text = elf_file_bytes(r->file, offset, n);
		if (text && memchr(text, 0, n))
			return text;
	} while (text && n < MAX_STRING && offset + n < r->file->image.len);
	return NULL;
}

/* Up to the end of the types; the counts of arrays may have zeros. */
static const unsigned char *types_at(struct reading *r, u64 address)
{
	unsigned char *types = arena_alloc(&r->arena, MAX_TYPES + 3);
	u32 n = 0;

	while (n < MAX_TYPES) {
		const u8 *one = bytes_at(r, address + n, 1), *count;

		if (!one)
			return NULL;
		types[n++] = *one;
		if (!*one)
			return types;
		if ((*one & PANTRACE_T_KIND) != PANTRACE_T_ARRAY)
			continue;
		count = bytes_at(r, address + n, 2);
		if (!count)
			return NULL;
		memcpy(types + n, count, 2);
		n += 2;
	}
	return NULL;
}

static const struct pantrace_enum *enum_at(struct reading *r, u64 address)
{
	struct pantrace_enum *e = arena_alloc(&r->arena, sizeof(*e));
	struct pantrace_enum_value *values;
	const u32 *n = bytes_at(r, address, 4);
	const u64 list = pointer_at(r, address + offsetof(struct pantrace_enum, values));

	if (!n)
		return NULL;
	memcpy(&e->n, n, 4);
	if (e->n > 4096)
		return NULL;
	values = arena_alloc(&r->arena, (e->n + 1) * sizeof(*values));
	e->values = values;
	for (u32 i = 0; i < e->n; i++) {
		const u64 at = list + i * sizeof(*values);
		const void *number = bytes_at(r, at + 8, 8);

		values[i].name = string_at(r, pointer_at(r, at));
		if (!values[i].name || !number)
			return NULL;
		memcpy(&values[i].value, number, 8);
	}
	return e;
}

static bool enums_at(struct reading *r, u64 address, struct pantrace_event *event)
{
	const struct pantrace_enum **list = arena_alloc(&r->arena, (MAX_ENUMS + 1) * sizeof(*list));
	u32 n = 0;

	event->enums = list;
	for (const unsigned char *t = event->types; *t; t++) {
		if ((*t & PANTRACE_T_KIND) == PANTRACE_T_ARRAY) {
			t += 2;
			continue;
		}
		if ((*t & PANTRACE_T_KIND) != PANTRACE_T_ENUM || n == MAX_ENUMS)
			continue;
		list[n] = enum_at(r, pointer_at(r, address + 8 * n));
		if (!list[n++])
			return false;
	}
	return true;
}

static bool event_at(struct reading *r, u64 address, struct pantrace_event *ret)
{
	const u32 *level = bytes_at(r, address + offsetof(struct pantrace_event, level), 4);
	u64 types, enums;

	memset(ret, 0, sizeof(*ret));
	ret->provider =
		string_at(r, pointer_at(r, address + offsetof(struct pantrace_event, provider)));
	ret->name = string_at(r, pointer_at(r, address + offsetof(struct pantrace_event, name)));
	ret->fields =
		string_at(r, pointer_at(r, address + offsetof(struct pantrace_event, fields)));
	types = pointer_at(r, address + offsetof(struct pantrace_event, types));
	enums = pointer_at(r, address + offsetof(struct pantrace_event, enums));
	if (!ret->provider || !ret->name || !level || !types)
		return false;
	memcpy(&ret->level, level, 4);
	ret->types = types_at(r, types);
	return ret->types && *ret->types != PANTRACE_T_GATE && enums_at(r, enums, ret);
}

static int give(struct reading *r, u64 address, int (*fn)(void *arg, const char *line), void *arg)
{
	struct pantrace_event event;
	char fields[8192];
	char *line;
	int err = 0;

	if (event_at(r, address, &event)) {
		pt_event_fields(&event, fields, sizeof(fields));
		line = xasprintf("event 1 0 %u %s:%s%s", MIN(event.level, (u32)PANTRACE_DEBUG),
				 event.provider, event.name, fields);
		err = fn(arg, line);
		free(line);
	}
	arena_release(&r->arena);
	r->arena = (struct arena)ARENA_INIT;
	return err;
}

int elf_file_each_user_event(struct elf_file *f, int (*fn)(void *arg, const char *line), void *arg)
{
	const struct elf_section *table = elf_section_named(f, TABLE);
	const u8 *sites = elf_section_bytes(f, table);
	struct reading r = {.file = f};
	u64 last = 0;
	int err = 0;

	if (!sites || !f->is_64)
		return 0;
	read_relocations(&r);
	for (u64 at = 0; at + sizeof(struct pantrace_site) <= table->size && !err;
	     at += sizeof(struct pantrace_site)) {
		struct pantrace_site site;
		u64 event;

		memcpy(&site, sites + at, sizeof(site));
		event = table->address + at + offsetof(struct pantrace_site, event) +
			(u64)(s64)site.event;
		if (event == last)
			continue;
		last = event;
		err = give(&r, event, fn, arg);
	}
	vector_free(&r.relocations);
	return err;
}
