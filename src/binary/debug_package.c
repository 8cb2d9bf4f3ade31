/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	.debug_cu_index   version u16, 0 u16 (before DWARF 5: u32 2) │ columns u32 │ units u32 │
 *			  slots u32 │ slots × signature u64 │ slots × row u32 (from 1; 0 = free) │
 *			  columns × section id u32 │ units × columns × offset u32 │
 *			  units × columns × size u32
 *
 * What a unit has in each section is copied into an ELF file in memory under the name that the
 * section has in a program without split units. The addresses stay in the program: the part of its
 * .debug_addr that is the unit's goes along, without its header, which is where libdw looks when a
 * unit names no place.
 */
#include "binary/debug_package.h"

#include <dwarf.h>

#include "base/strbuf.h"
#include "binary/elf_internal.h"

/* Older than DWARF 5 (elfutils 0.188 has it, musl's and others' dwarf.h may not). */
#define PT_AT_GNU_ADDR_BASE 0x2133

enum { MAX_COLUMNS = 16, MAX_UNITS = 1 << 20, MAX_PART = 1 << 30, PARTS = 8 };

struct part {
	const char *name;
	const u8 *data;
	u64 size;
};

struct unit {
	u64 signature;
	u8 *image;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die, skeleton;
	bool is_good;
};

struct debug_package {
	struct elf_file *program, *file;
	u32 version, columns, units, slots;
	const u8 *signatures, *rows, *ids, *offsets, *sizes;
	VECTOR(struct unit *) open;
};

static u32 read_u32(const u8 *p, u64 i)
{
	u32 v;

	memcpy(&v, p + 4 * i, sizeof(v));
	return v;
}

/* The bytes of a section; compressed ones are not looked into. */
static const u8 *section_bytes(const struct elf_file *f, const char *name, u64 *ret_size)
{
	const struct elf_section *s = elf_section_named(f, name);

	if (!s || s->type == SHT_NOBITS || (s->flags & SHF_COMPRESSED) || s->size > MAX_PART)
		return NULL;
	*ret_size = s->size;
	return f->data + s->offset;
}

static bool read_index(struct debug_package *p)
{
	u64 size, slots, table;
	const u8 *data = section_bytes(p->file, ".debug_cu_index", &size);

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

/* What column c of a row is: its section in the package and its name outside. Location lists
 * changed their form. */
static bool name_column(const struct debug_package *p, u32 id, const char **ret_from,
			const char **ret_to)
{
	static const struct {
		u32 id, version; /* 0 = both */
		const char *from, *to;
	} rows[] = {
		{1, 0, ".debug_info.dwo", ".debug_info"},
		{3, 0, ".debug_abbrev.dwo", ".debug_abbrev"},
		{4, 0, ".debug_line.dwo", ".debug_line"},
		{5, 5, ".debug_loclists.dwo", ".debug_loclists"},
		{6, 0, ".debug_str_offsets.dwo", ".debug_str_offsets"},
		{8, 5, ".debug_rnglists.dwo", ".debug_rnglists"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].id != id || (rows[i].version && rows[i].version != p->version))
			continue;
		*ret_from = rows[i].from;
		*ret_to = rows[i].to;
		return true;
	}
	return false;
}

/* The addresses of the unit that the skeleton stands for. */
static struct part address_part(const struct debug_package *p, Dwarf_Die *skeleton)
{
	struct part part = {.name = ".debug_addr"};
	Dwarf_Attribute a;
	Dwarf_Word base;
	u64 size;
	const u8 *data = section_bytes(p->program, part.name, &size);

	if (!data ||
	    (!dwarf_attr(skeleton, DW_AT_addr_base, &a) &&
	     !dwarf_attr(skeleton, PT_AT_GNU_ADDR_BASE, &a)) ||
	    dwarf_formudata(&a, &base) || base > size)
		return part;
	part.data = data + base;
	part.size = size - base;
	return part;
}

static u32 collect(const struct debug_package *p, u32 row, Dwarf_Die *skeleton, struct part *parts)
{
	const u64 at = (u64)row * p->columns;
	u32 n = 0;

	for (u32 c = 0; c < p->columns && n < PARTS - 2; c++) {
		const u32 offset = read_u32(p->offsets, at + c),
			  length = read_u32(p->sizes, at + c);
		const char *from, *to;
		const u8 *data;
		u64 size;

		if (!name_column(p, read_u32(p->ids, c), &from, &to))
			continue;
		data = section_bytes(p->file, from, &size);
		if (data && offset <= size && length <= size - offset)
			parts[n++] =
				(struct part){.name = to, .data = data + offset, .size = length};
	}
	parts[n] = (struct part){.name = ".debug_str"};
	parts[n].data = section_bytes(p->file, ".debug_str.dwo", &parts[n].size);
	n += parts[n].data != NULL;
	parts[n] = address_part(p, skeleton);
	n += parts[n].data != NULL;
	return n;
}

/* header │ parts, each aligned to 8 │ names │ section headers: none, one for each part, names. */
static u8 *build_image(const struct debug_package *p, const struct part *parts, u32 n,
		       size_t *ret_len)
{
	Elf64_Ehdr header = {.e_type = ET_EXEC,
			     .e_machine = p->program->machine,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (u16)(n + 2),
			     .e_shstrndx = (u16)(n + 1)};
	Elf64_Shdr sections[PARTS + 2] = {0};
	struct strbuf names = STRBUF_INIT;
	u64 at = sizeof(header);
	u8 *image;

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	strbuf_addch(&names, '\0');
	for (u32 i = 0; i <= n; i++) {
		const char *name = i < n ? parts[i].name : ".shstrtab";

		sections[i + 1] = (Elf64_Shdr){.sh_name = (u32)names.len,
					       .sh_type = i < n ? SHT_PROGBITS : SHT_STRTAB,
					       .sh_offset = at,
					       .sh_size = i < n ? parts[i].size : 0,
					       .sh_addralign = 1};
		strbuf_add(&names, name, strlen(name) + 1);
		at = ALIGN_UP(at + sections[i + 1].sh_size, (u64)8);
	}
	sections[n + 1].sh_size = names.len;
	header.e_shoff = at = ALIGN_UP(at + names.len, (u64)8);
	*ret_len = at + (n + 2) * sizeof(*sections);
	image = xzalloc(*ret_len);
	memcpy(image, &header, sizeof(header));
	for (u32 i = 0; i < n; i++)
		memcpy(image + sections[i + 1].sh_offset, parts[i].data, parts[i].size);
	memcpy(image + sections[n + 1].sh_offset, names.data, names.len);
	memcpy(image + at, sections, (n + 2) * sizeof(*sections));
	strbuf_release(&names);
	return image;
}

static struct unit *open_unit(struct debug_package *p, u64 signature, Dwarf_Die *skeleton)
{
	struct unit *u = xzalloc(sizeof(*u));
	struct part parts[PARTS];
	const s64 row = find_row(p, signature);
	Dwarf_CU *cu = NULL;
	uint8_t type;
	size_t len;

	u->signature = signature;
	u->skeleton = *skeleton;
	vector_push(&p->open, u);
	if (row < 0)
		return u;
	u->image = build_image(p, parts, collect(p, (u32)row, skeleton, parts), &len);
	u->elf = elf_memory((char *)u->image, len);
	u->dwarf = u->elf ? dwarf_begin_elf(u->elf, DWARF_C_READ, NULL) : NULL;
	while (u->dwarf && !u->is_good &&
	       dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &u->die, NULL) == 0)
		u->is_good = type == DW_UT_split_compile || type == DW_UT_compile;
	return u;
}

bool debug_package_unit(struct debug_package *p, Dwarf_Die *skeleton, Dwarf_Die *ret)
{
	struct unit *u = NULL;
	uint64_t signature;

	if (dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &signature, NULL, NULL))
		return false;
	for (size_t i = 0; i < p->open.len && !u; i++)
		if (p->open.items[i]->signature == signature)
			u = p->open.items[i];
	if (!u)
		u = open_unit(p, signature, skeleton);
	if (u->is_good)
		*ret = u->die;
	return u->is_good;
}

bool debug_package_skeleton(const struct debug_package *p, const Dwarf_Die *unit, Dwarf_Die *ret)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);

	for (size_t i = 0; i < p->open.len; i++) {
		if (!dwarf || p->open.items[i]->dwarf != dwarf)
			continue;
		*ret = p->open.items[i]->skeleton;
		return true;
	}
	return false;
}

struct debug_package *debug_package_open(struct elf_file *f)
{
	struct debug_package *p = xzalloc(sizeof(*p));
	char *path = xasprintf("%s.dwp", f->path);

	p->program = f;
	if (f->is_64 && elf_file_open(path, &p->file) == 0 && p->file->is_64 &&
	    p->file->machine == f->machine && read_index(p)) {
		free(path);
		return p;
	}
	free(path);
	debug_package_close(p);
	return NULL;
}

void debug_package_close(struct debug_package *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->open.len; i++) {
		struct unit *u = p->open.items[i];

		dwarf_end(u->dwarf);
		elf_end(u->elf);
		free(u->image);
		free(u);
	}
	vector_free(&p->open);
	if (p->file)
		elf_file_close(p->file);
	free(p);
}
