/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .debug_names (DWARF 5, 6.1.1): the names in some units, and whose they are. A linker puts the
 * tables of several files one behind the other.
 *
 *	header          its sizes say where the rest is
 *	units           offsets in .debug_info of the units that the table covers; units of types
 *	buckets         of the hashes; not needed where each name is looked at
 *	hashes          u32 each
 *	strings         offset in .debug_str of each name
 *	lists           where the entries of each name begin
 *	abbreviations   what entries consist of: code, tag, pairs of attribute and form
 *	entries         of each name: code and attributes, again and again; 0
 *
 * Only tables of LLVM are used, which have each function with code and each inlined copy by all of
 * its names. gdb-add-index writes tables without inlined copies. Of a name that matches each entry
 * is compared with what it is about, and of the others the hash: what is not so makes the table one
 * that is not used.
 */
#include <dwarf.h>

#include "base/cursor.h"
#include "binary/debug/internal.h"
#include "binary/elf/internal.h"

/* libdw does not know them. */
enum { DW_IDX_compile_unit = 1, DW_IDX_type_unit = 2, DW_IDX_die_offset = 3 };

struct table {
	struct elf_file *file;
	u32 offset_size; /* bytes: 4 or 8 */
	u32 unit_count, name_count;
	u64 types_count; /* units of types, which have no code */
	struct cursor units, hashes, strings, lists, abbreviations, entries;
	u64 *budget; /* bytes of abbreviations that may be read for entries of all tables */
};

struct entry {
	u32 tag;
	u64 unit; /* its number */
	u64 die; /* offset in the unit */
	u64 types; /* or that of a unit of types; UINT64_MAX = none */
};

static struct cursor part(struct cursor *c, u64 count, u64 size)
{
	const u64 len = count * size; /* both are u32 */

	return cursor_of(cursor_bytes(c, len), len);
}

static u64 number(struct cursor c, u32 size, u64 i)
{
	cursor_bytes(&c, i * size);
	return cursor_uint(&c, size);
}

/* The table at c, which is left behind it. False: no table of a kind that is used. */
static bool read_table(struct cursor *c, struct table *t)
{
	u32 types, foreign, buckets, abbreviations, augmentation;
	u64 len = cursor_u32(c);
	const char *by;
	struct cursor in;

	t->offset_size = len == UINT32_MAX ? 8 : 4;
	if (len == UINT32_MAX)
		len = cursor_u64(c);
	in = cursor_of(cursor_bytes(c, len), len);
	if (c->failed || cursor_u16(&in) != 5)
		return false;
	cursor_u16(&in); /* padding */
	t->unit_count = cursor_u32(&in);
	types = cursor_u32(&in);
	foreign = cursor_u32(&in);
	buckets = cursor_u32(&in);
	t->name_count = cursor_u32(&in);
	abbreviations = cursor_u32(&in);
	augmentation = cursor_u32(&in);
	by = cursor_bytes(&in, ALIGN_UP((u64)augmentation, 4u));
	t->types_count = (u64)types + foreign;
	t->units = part(&in, t->unit_count, t->offset_size);
	part(&in, types, t->offset_size);
	part(&in, foreign, 8);
	part(&in, buckets, 4);
	t->hashes = part(&in, buckets ? t->name_count : 0, 4);
	t->strings = part(&in, t->name_count, t->offset_size);
	t->lists = part(&in, t->name_count, t->offset_size);
	t->abbreviations = part(&in, abbreviations, 1);
	t->entries = part(&in, in.len - in.pos, 1);
	return !in.failed && buckets && augmentation >= 4 && memcmp(by, "LLVM", 4) == 0;
}

/* Of the string with upper case folded; UINT32_MAX: it may have letters beyond ASCII. */
static u32 hash_of(const char *s)
{
	u32 h = 5381;

	for (; *s; s++) {
		const u8 c = (u8)*s;

		if (c >= 0x80)
			return UINT32_MAX;
		h = h * 33 + (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return h;
}

static u64 value_of(struct cursor *c, u64 form)
{
	switch (form) {
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
		return cursor_uleb128(c);
	case DW_FORM_data1:
	case DW_FORM_ref1:
		return cursor_u8(c);
	case DW_FORM_data2:
	case DW_FORM_ref2:
		return cursor_u16(c);
	case DW_FORM_data4:
	case DW_FORM_ref4:
		return cursor_u32(c);
	case DW_FORM_data8:
	case DW_FORM_ref8:
		return cursor_u64(c);
	default:
		c->failed = true;
		return 0;
	}
}

/* What entries of a code consist of, behind the tag; failed: there is none. */
static struct cursor abbreviation(const struct table *t, u64 code, u32 *ret_tag)
{
	struct cursor a = t->abbreviations;
	u64 found, attribute;

	while ((found = cursor_uleb128(&a)) != 0 && !a.failed) {
		*ret_tag = (u32)cursor_uleb128(&a);
		if (found == code)
			return a;
		do
			attribute = cursor_uleb128(&a);
		while ((cursor_uleb128(&a) || attribute) && !a.failed);
	}
	a.failed = true;
	return a;
}

/* False at the end of the list; c->failed: it is damaged. */
static bool next_entry(const struct table *t, struct cursor *c, struct entry *ret)
{
	const u64 code = cursor_uleb128(c);
	struct cursor a;
	u64 attribute, form;

	*ret = (struct entry){.unit = t->unit_count > 1 ? UINT64_MAX : 0, .types = UINT64_MAX};
	if (!code || c->failed)
		return false;
	a = abbreviation(t, code, &ret->tag);
	while (attribute = cursor_uleb128(&a), form = cursor_uleb128(&a),
	       !a.failed && (attribute || form)) {
		const u64 value = value_of(c, form);

		if (attribute == DW_IDX_compile_unit)
			ret->unit = value;
		else if (attribute == DW_IDX_die_offset)
			ret->die = value;
		else if (attribute == DW_IDX_type_unit)
			ret->types = value;
	}
	/* The abbreviations are read again for each entry: in a damaged table, both may be many. */
	c->failed |= a.failed || a.pos > *t->budget;
	*t->budget -= MIN(a.pos, *t->budget);
	return !c->failed;
}

static bool is_about(const struct table *t, const struct entry *e, const char *name, u64 unit)
{
	const char *own, *linkage;
	Dwarf_Die die;

	if (e->die > UINT32_MAX || !debug_die_at(t->file, unit + e->die, (int)e->tag, &die))
		return false;
	own = dwarf_diename(&die);
	linkage = debug_linkage_name(&die);
	return (own && str_eq(own, name)) || (linkage && str_eq(linkage, name));
}

/* The i-th list ends where the next begins; behind the last one there may be zeros. */
static bool is_whole(const struct table *t, u32 i, u64 end)
{
	return i + 1 < t->name_count ? end == number(t->lists, t->offset_size, i + 1)
				     : t->entries.len - end < t->offset_size;
}

/* A unit that has the name keeps it, whatever another table says. */
static void note_unit(struct debug_names *n, u64 unit, enum debug_naming naming)
{
	void **const slot = hashmap_put(&n->units, &unit, sizeof(unit), NULL);

	*slot = (void *)MAX((uintptr_t)*slot, (uintptr_t)naming);
}

/* The units that have a function of the i-th name. False: the list is damaged. */
static bool note_units(const struct table *t, u32 i, const char *name, struct debug_names *ret)
{
	struct cursor c = t->entries;
	struct entry e;
	u64 unit;

	cursor_bytes(&c, number(t->lists, t->offset_size, i));
	while (next_entry(t, &c, &e)) {
		if (e.types < t->types_count)
			continue;
		if (e.types != UINT64_MAX || e.unit >= t->unit_count)
			return false;
		unit = number(t->units, t->offset_size, e.unit);
		if (!is_about(t, &e, name, unit))
			return false;
		if (e.tag == DW_TAG_subprogram || e.tag == DW_TAG_inlined_subroutine)
			note_unit(ret, unit, DEBUG_NAMED);
	}
	return !c.failed && is_whole(t, i, c.pos);
}

static bool look_through(const struct table *t, bool (*fn)(void *arg, const char *name), void *arg,
			 struct debug_names *ret)
{
	Dwarf *const dwarf = debug_dwarf(t->file);

	for (u32 i = 0; i < t->unit_count; i++)
		note_unit(ret, number(t->units, t->offset_size, i), DEBUG_NOT_NAMED);
	for (u32 i = 0; i < t->name_count; i++) {
		size_t len;
		const char *name =
			dwarf_getstring(dwarf, number(t->strings, t->offset_size, i), &len);
		const u32 hash = name ? hash_of(name) : 0;

		if (!name || (hash != UINT32_MAX && hash != number(t->hashes, 4, i)))
			return false;
		if (fn(arg, name) && !note_units(t, i, name, ret))
			return false;
	}
	return true;
}

void debug_names_search(struct debug_names *ret, struct elf_file *f,
			bool (*fn)(void *arg, const char *name), void *arg)
{
	struct elf_file *const file = debug_of(f)->dwarf.file;
	const struct elf_section *const s = elf_section_named(file, ".debug_names");
	struct cursor c =
		s && file->type != ET_REL ? elf_section_cursor(file, s) : cursor_of("", 0);
	u64 budget = debug_budget(f);
	bool is_good = true;

	*ret = (struct debug_names){.dwarf = debug_dwarf(f)};
	while (is_good && !c.failed && c.pos < c.len) {
		struct table t = {.file = f, .budget = &budget};

		if (read_table(&c, &t))
			is_good = look_through(&t, fn, arg, ret);
	}
	if (!is_good || c.failed)
		debug_names_release(ret);
}

void debug_names_release(struct debug_names *n)
{
	hashmap_release(&n->units);
	*n = (struct debug_names){0};
}

enum debug_naming debug_names_say(const struct debug_names *n, Dwarf_Die *unit)
{
	const u64 at = dwarf_dieoffset(unit) - dwarf_cuoffset(unit);

	return dwarf_cu_getdwarf(unit->cu) == n->dwarf
		       ? (uintptr_t)hashmap_get(&n->units, &at, sizeof(at))
		       : DEBUG_NAMES_UNKNOWN;
}
