/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	.debug_cu_index   version u16, 0 u16 (before DWARF 5: u32 2) │ columns u32 │ units u32 │
 *			  slots u32 │ slots × signature u64 │ slots × row u32 (from 1; 0 = free) │
 *			  columns × section id u32 │ units × columns × offset u32 │
 *			  units × columns × size u32
 */
#include "binary/debug/package.h"

#include "binary/elf/internal.h"

enum { MAX_COLUMNS = 16, MAX_UNITS = 1 << 20 };

struct debug_package {
	struct elf_file *file;
	u32 version, columns, units, slots;
	const u8 *signatures, *rows, *ids, *offsets, *sizes;
};

static u32 read_u32(const u8 *p, u64 i)
{
	u32 v;

	memcpy(&v, p + 4 * i, sizeof(v));
	return v;
}

static bool read_index(struct debug_package *p)
{
	u64 size, slots, table;
	const u8 *data = debug_section(p->file, ".debug_cu_index", &size);

	if (!data || size < 16)
		return false;
	p->version = read_u32(data, 0) & 0xffff;
	p->columns = read_u32(data, 1);
	p->units = read_u32(data, 2);
	p->slots = read_u32(data, 3);
	if ((p->version != 2 && p->version != 5) || !p->columns || p->columns > MAX_COLUMNS ||
	    p->units > MAX_UNITS || !p->slots || p->slots > 4 * MAX_UNITS ||
	    (p->slots & (p->slots - 1)))
		return false;
	slots = (u64)p->slots * 12;
	table = (u64)p->units * p->columns * 4;
	if (16 + slots + 4 * p->columns + 2 * table > size)
		return false;
	p->signatures = data + 16;
	p->rows = p->signatures + (u64)p->slots * 8;
	p->ids = data + 16 + slots;
	p->offsets = p->ids + 4 * p->columns;
	p->sizes = p->offsets + table;
	return true;
}

/* Row of a signature, from 0; -1 = it is not there. The slots are a hash table with double hashing
 * (7.3.5.3). */
static s64 find_row(const struct debug_package *p, u64 signature)
{
	const u32 mask = p->slots - 1, step = ((u32)(signature >> 32) & mask) | 1;
	u32 slot = (u32)signature & mask;

	for (u32 i = 0; i < p->slots; i++, slot = (slot + step) & mask) {
		const u32 row = read_u32(p->rows, slot);
		u64 s;

		if (!row)
			return -1;
		memcpy(&s, p->signatures + 8 * (u64)slot, sizeof(s));
		if (s == signature)
			return row <= p->units ? (s64)row - 1 : -1;
	}
	return -1;
}

/* The section that a column is of; NULL: none that is of use. */
static const char *column_name(const struct debug_package *p, u32 id)
{
	static const struct {
		u32 id, version; /* 0 = both */
		const char *name;
	} rows[] = {
		{1, 0, ".debug_info.dwo"},     {3, 0, ".debug_abbrev.dwo"},
		{4, 0, ".debug_line.dwo"},     {5, 2, ".debug_loc.dwo"},
		{5, 5, ".debug_loclists.dwo"}, {6, 0, ".debug_str_offsets.dwo"},
		{8, 5, ".debug_rnglists.dwo"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id && (!rows[i].version || rows[i].version == p->version))
			return rows[i].name;
	return NULL;
}

u32 debug_package_parts(struct debug_package *p, u64 signature, struct debug_part *ret, u32 max)
{
	const s64 row = find_row(p, signature);
	const u64 at = (u64)row * p->columns;
	u32 n = 0;

	for (u32 c = 0; row >= 0 && c < p->columns && n < max; c++) {
		const u32 offset = read_u32(p->offsets, at + c),
			  length = read_u32(p->sizes, at + c);
		const char *name = column_name(p, read_u32(p->ids, c));
		u64 size;
		const u8 *data = name ? debug_section(p->file, name, &size) : NULL;

		if (data && offset <= size && length <= size - offset)
			ret[n++] = (struct debug_part){name, data + offset, length};
	}
	if (n && n < max) {
		ret[n] = (struct debug_part){.name = ".debug_str.dwo"};
		ret[n].data = debug_section(p->file, ret[n].name, &ret[n].size);
		n += ret[n].data != NULL;
	}
	return n;
}

struct debug_package *debug_package_open(const struct elf_file *f)
{
	struct debug_package *p = xzalloc(sizeof(*p));
	char *path = xasprintf("%s.dwp", f->path);
	const bool is_good = f->is_64 && elf_file_open(path, &p->file) == 0 && p->file->is_64 &&
			     p->file->machine == f->machine && read_index(p);

	free(path);
	if (is_good)
		return p;
	debug_package_close(p);
	return NULL;
}

void debug_package_close(struct debug_package *p)
{
	if (!p)
		return;
	elf_file_close(p->file);
	free(p);
}
