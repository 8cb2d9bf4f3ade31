/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies the sections of a split unit into an ELF file in memory, under the names that they have in
 * a program without split units. Addresses, and some names of files, stay in the program, so the
 * unit's parts of these sections are copied, too, without what is before them: that is where libdw
 * looks if a unit names no place.
 *
 * libdw could find .dwo files by itself, but it maps them, and it opens whatever path a program
 * names.
 */
#include "binary/debug/split.h"

#include <dwarf.h>

#include "base/strbuf.h"
#include "binary/debug/dwarf.h"
#include "binary/debug/package.h"
#include "binary/elf/internal.h"

/* Older than DWARF 5 (elfutils 0.188 has them, musl's and others' dwarf.h may not). */
#define PT_AT_GNU_DWO_NAME    0x2130
#define PT_AT_GNU_RANGES_BASE 0x2132
#define PT_AT_GNU_ADDR_BASE   0x2133

enum { MAX_PART = 1 << 30, OWN_PARTS = 16, PARTS = OWN_PARTS + 4 };

struct unit {
	u64 signature;
	u8 *image;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die, skeleton;
	bool is_good;
};

struct debug_split {
	struct elf_file *program;
	struct debug_package *package; /* NULL = none */
	bool package_searched;
	VECTOR(struct unit *) open;
	char *lacks; /* the first file that is not there */
};

const u8 *debug_section(struct elf_file *f, const char *name, u64 *ret_size)
{
	struct elf_file *const plain = elf_unpacked_file(f);
	const struct elf_section *s = plain ? elf_section_named(plain, name) : NULL;

	if (!s || s->size > MAX_PART)
		return NULL;
	*ret_size = s->size;
	return elf_section_bytes(plain, s);
}

/* What a unit has in sections of the program, from where its skeleton says. */
static const struct {
	const char *name;
	unsigned int begins[2]; /* attributes; 0 = all of the section */
} shared_parts[] = {
	{".debug_addr", {DW_AT_addr_base, PT_AT_GNU_ADDR_BASE}},
	{".debug_ranges", {PT_AT_GNU_RANGES_BASE}},
	/* clang: the names of files are in the skeleton's table of lines. */
	{".debug_line", {DW_AT_stmt_list}},
	{".debug_line_str", {0}},
};

enum { LINE_TABLE = 2 };

static struct debug_part shared_part(struct elf_file *program, Dwarf_Die *skeleton, u32 which)
{
	struct debug_part part = {.name = shared_parts[which].name};
	const unsigned int *const begins = shared_parts[which].begins;
	Dwarf_Attribute a;
	Dwarf_Word base = 0;
	u64 size;
	u32 length;
	const u8 *data = debug_section(program, part.name, &size);

	if (!data)
		return part;
	if (begins[0] && ((!dwarf_attr(skeleton, begins[0], &a) &&
			   (!begins[1] || !dwarf_attr(skeleton, begins[1], &a))) ||
			  dwarf_formudata(&a, &base) || base > size))
		return part;
	part.data = data + base;
	part.size = size - base;
	/* Of many tables of lines this one: its length stands at its head. */
	if (which == LINE_TABLE && part.size >= sizeof(length)) {
		memcpy(&length, part.data, sizeof(length));
		part.size = MIN(part.size, length + sizeof(length));
	}
	return part;
}

static bool has_part(const struct debug_part *parts, u32 n, const char *name)
{
	const size_t len = strlen(name);

	for (u32 i = 0; i < n; i++)
		if (str_starts(parts[i].name, name) &&
		    (!parts[i].name[len] || str_eq(parts[i].name + len, ".dwo")))
			return true;
	return false;
}

/* Adds what is not among the parts of the unit itself. How many there are then. */
static u32 add_shared_parts(const struct debug_split *q, struct unit *u, struct debug_part *parts,
			    u32 n)
{
	for (u32 i = 0; i < ARRAY_SIZE(shared_parts) && n < PARTS; i++) {
		if (has_part(parts, n, shared_parts[i].name))
			continue;
		parts[n] = shared_part(q->program, &u->skeleton, i);
		n += parts[n].data != NULL;
	}
	return n;
}

/*
 * DWARF 4: pairs of addresses count from where the unit begins, which only the skeleton says. The
 * lists end with two zeros; behind a pair that names another base they count from that.
 */
static void move_ranges(u8 *data, u64 size, u64 begin)
{
	bool has_base = false;

	for (u64 at = 0; at + 16 <= size && begin; at += 16) {
		u64 pair[2];

		memcpy(pair, data + at, sizeof(pair));
		if (pair[0] == UINT64_MAX || (!pair[0] && !pair[1])) {
			has_base = pair[0] == UINT64_MAX;
		} else if (!has_base) {
			pair[0] += begin;
			pair[1] += begin;
			memcpy(data + at, pair, sizeof(pair));
		}
	}
}

/* ---- files of their own ---- */

static char *dwo_path(Dwarf_Die *skeleton)
{
	Dwarf_Attribute a;
	const char *name, *directory;

	if (!dwarf_attr(skeleton, DW_AT_dwo_name, &a) &&
	    !dwarf_attr(skeleton, PT_AT_GNU_DWO_NAME, &a))
		return NULL;
	name = dwarf_formstring(&a);
	if (!name || !*name || *name == '/')
		return name && *name ? xstrdup(name) : NULL;
	directory = dwarf_attr(skeleton, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;
	return directory && *directory ? xasprintf("%s/%s", directory, name) : NULL;
}

/* The sections of a .dwo; they live as long as the file and *ret_elf. */
static u32 file_parts(struct elf_file *f, struct debug_part *ret, u32 max, Elf **ret_elf)
{
	u32 n = 0;

	f = elf_unpacked_file(f);
	*ret_elf = f ? debug_elf(f) : NULL;
	for (u32 i = 1; *ret_elf && i < f->section_count && n < max; i++) {
		const struct elf_section *s = &f->sections[i];
		Elf_Scn *section = elf_getscn(*ret_elf, i);
		Elf_Data *data;

		if (!section || !str_starts(s->name, ".debug_") || !str_ends(s->name, ".dwo") ||
		    s->type == SHT_NOBITS)
			continue;
		data = elf_getdata(section, NULL);
		if (data && data->d_buf)
			ret[n++] = (struct debug_part){s->name, data->d_buf, data->d_size};
	}
	return n;
}

/* header │ parts, each aligned to 8 │ names │ section headers: none, one for each part, names. */
static u8 *build_image(u16 machine, u64 begin, const struct debug_part *parts, u32 n,
		       size_t *ret_len)
{
	Elf64_Ehdr header = {.e_type = ET_EXEC,
			     .e_machine = machine,
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
		const size_t name_len = strlen(name) - (str_ends(name, ".dwo") ? 4 : 0);

		sections[i + 1] = (Elf64_Shdr){.sh_name = (u32)names.len,
					       .sh_type = i < n ? SHT_PROGBITS : SHT_STRTAB,
					       .sh_offset = at,
					       .sh_size = i < n ? parts[i].size : 0,
					       .sh_addralign = 1};
		strbuf_add(&names, name, name_len);
		strbuf_addch(&names, '\0');
		at = ALIGN_UP(at + sections[i + 1].sh_size, (u64)8);
	}
	sections[n + 1].sh_size = names.len;
	header.e_shoff = at = ALIGN_UP(at + names.len, (u64)8);
	*ret_len = at + (n + 2) * sizeof(*sections);
	image = xzalloc(*ret_len);
	memcpy(image, &header, sizeof(header));
	for (u32 i = 0; i < n; i++) {
		memcpy(image + sections[i + 1].sh_offset, parts[i].data, parts[i].size);
		if (str_eq(parts[i].name, ".debug_ranges"))
			move_ranges(image + sections[i + 1].sh_offset, parts[i].size, begin);
	}
	memcpy(image + sections[n + 1].sh_offset, names.data, names.len);
	memcpy(image + at, sections, (n + 2) * sizeof(*sections));
	strbuf_release(&names);
	return image;
}

/* ---- units ---- */

static bool find_unit(struct unit *u)
{
	Dwarf_CU *cu = NULL;
	uint64_t signature;
	uint8_t type;

	while (u->dwarf && dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &u->die, NULL) == 0)
		if ((type == DW_UT_split_compile || type == DW_UT_compile) &&
		    dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &signature, NULL, NULL) == 0 &&
		    signature == u->signature)
			return true;
	return false;
}

/* Parts of a file that may be closed then. */
static void make_unit(const struct debug_split *q, struct unit *u, struct debug_part *parts, u32 n)
{
	Dwarf_Addr begin;
	size_t len;

	n = add_shared_parts(q, u, parts, n);
	if (dwarf_lowpc(&u->skeleton, &begin))
		begin = 0;
	u->image = build_image(q->program->machine, begin, parts, n, &len);
	u->elf = elf_memory((char *)u->image, len);
	u->dwarf = u->elf ? dwarf_begin_elf(u->elf, DWARF_C_READ, NULL) : NULL;
	u->is_good = find_unit(u);
}

static bool open_file(const struct debug_split *q, struct unit *u)
{
	struct debug_part parts[PARTS];
	char *path = dwo_path(&u->skeleton);
	struct elf_file *f = NULL;
	Elf *elf = NULL;
	u32 n;

	if (path && elf_file_open(path, &f) == 0 && f->machine == q->program->machine) {
		n = file_parts(f, parts, OWN_PARTS, &elf);
		if (n)
			make_unit(q, u, parts, n);
	}
	elf_end(elf);
	elf_file_close(f);
	free(path);
	return u->is_good;
}

static void close_unit(struct unit *u)
{
	dwarf_end(u->dwarf);
	elf_end(u->elf);
	free(u->image);
	u->dwarf = NULL;
	u->elf = NULL;
	u->image = NULL;
}

static struct unit *open_unit(struct debug_split *q, u64 signature, Dwarf_Die *skeleton)
{
	struct unit *u = xzalloc(sizeof(*u));
	struct debug_part parts[PARTS];
	u32 n;

	u->signature = signature;
	u->skeleton = *skeleton;
	vector_push(&q->open, u);
	if (!q->program->is_64 || open_file(q, u))
		return u;
	close_unit(u);
	if (!q->package_searched)
		q->package = debug_package_open(q->program);
	q->package_searched = true;
	n = q->package ? debug_package_parts(q->package, signature, parts, OWN_PARTS) : 0;
	if (n)
		make_unit(q, u, parts, n);
	if (!u->is_good && !q->lacks)
		q->lacks = dwo_path(skeleton);
	return u;
}

const char *debug_split_lacks(const struct debug_split *q)
{
	return q->lacks;
}

bool debug_split_unit(struct debug_split *q, Dwarf_Die *skeleton, Dwarf_Die *ret)
{
	struct unit *u = NULL;
	uint64_t signature;

	if (dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &signature, NULL, NULL))
		return false;
	for (size_t i = 0; i < q->open.len && !u; i++)
		if (q->open.items[i]->signature == signature)
			u = q->open.items[i];
	if (!u)
		u = open_unit(q, signature, skeleton);
	if (u->is_good)
		*ret = u->die;
	return u->is_good;
}

bool debug_split_skeleton(const struct debug_split *q, const Dwarf_Die *unit, Dwarf_Die *ret)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);

	for (size_t i = 0; i < q->open.len; i++) {
		if (!dwarf || q->open.items[i]->dwarf != dwarf)
			continue;
		*ret = q->open.items[i]->skeleton;
		return true;
	}
	return false;
}

struct debug_split *debug_split_open(struct elf_file *program)
{
	struct debug_split *q = xzalloc(sizeof(*q));

	q->program = program;
	return q;
}

void debug_split_close(struct debug_split *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->open.len; i++) {
		close_unit(q->open.items[i]);
		free(q->open.items[i]);
	}
	vector_free(&q->open);
	debug_package_close(q->package);
	free(q->lacks);
	free(q);
}
