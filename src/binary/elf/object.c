/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are not linked yet, which modules of the kernel are (ET_REL): their sections have no
 * addresses, and what refers to them waits in tables of relocations (System V ABI, "Relocation").
 * We lay the sections out, one after the other where the kernel has modules, and put the addresses
 * into our copy of the debug information. Then a module is read as any other file.
 */
#include "arch/arch.h"
#include "binary/elf/internal.h"

enum { ALIGNMENT = 64 };
#define FIRST_ADDRESS 0xffffffffc0000000 /* a range of 32-bit signed addresses; MODULES_VADDR */
#define LAST_ADDRESS  0xfffffffffff00000

void object_lay_out(struct elf_file *f)
{
	u64 at = FIRST_ADDRESS;

	if (f->type != ET_REL)
		return;
	for (u32 i = 1; i < f->section_count; i++) {
		struct elf_section *s = &f->sections[i];

		if (!(s->flags & SHF_ALLOC))
			continue;
		if (s->size > LAST_ADDRESS - at)
			return;
		s->address = at;
		at = (at + s->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
}

static const struct elf_section *next_loaded(const struct elf_file *f, u32 *i)
{
	while (++*i < f->section_count)
		if (f->sections[*i].flags & SHF_ALLOC)
			return &f->sections[*i];
	return NULL;
}

bool object_is_laid_out_as(const struct elf_file *a, const struct elf_file *b)
{
	const struct elf_section *s, *t;
	u32 i = 0, j = 0;

	if (a->type != ET_REL && b->type != ET_REL)
		return true;
	do {
		s = next_loaded(a, &i);
		t = next_loaded(b, &j);
	} while (s && t && s->address == t->address && s->size == t->size &&
		 str_eq(s->name, t->name));
	return !s && !t;
}

/* False: what it stands for is not known here. */
static bool value_of_symbol(const struct elf_file *f, const u8 *symbols, u64 count, u64 i, u64 *ret)
{
	Elf64_Sym s;

	if (i >= count)
		return false;
	memcpy(&s, symbols + i * sizeof(s), sizeof(s));
	/* Of other modules nothing is known, and nothing is said but that they are declared. */
	*ret = s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_COMMON ? 0 : s.st_value;
	if (s.st_shndx < f->section_count)
		*ret += f->sections[s.st_shndx].address;
	return s.st_shndx < f->section_count || s.st_shndx == SHN_ABS || s.st_shndx == SHN_COMMON;
}

/* Those of one section, into our copy of what they are of. */
static bool relocate(struct elf_file *f, const struct elf_section *table,
		     const struct elf_section *of)
{
	const struct elf_section *const symtab =
		table->link < f->section_count ? &f->sections[table->link] : NULL;
	const u8 *const symbols = elf_section_bytes(f, symtab);
	u8 *const data = (u8 *)elf_section_bytes(f, of);
	struct cursor c = elf_section_cursor(f, table);

	if (!symbols || !data || of->flags & SHF_COMPRESSED || table->type != SHT_RELA)
		return false;
	while (c.len - c.pos >= sizeof(Elf64_Rela)) {
		const u64 at = cursor_u64(&c), info = cursor_u64(&c), addend = cursor_u64(&c);
		bool is_relative;
		u64 value;
		int size;

		size = arch_relocation(ELF64_R_TYPE(info), &is_relative);
		if (size < 0 || at > of->size || of->size - at < (u64)size ||
		    !value_of_symbol(f, symbols, symtab->size / sizeof(Elf64_Sym),
				     ELF64_R_SYM(info), &value))
			return false;
		value += addend - (is_relative ? of->address + at : 0);
		memcpy(data + at, &value, (size_t)size);
	}
	return true;
}

bool object_relocate(struct elf_file *f)
{
	if (f->type != ET_REL || f->is_relocated)
		return true;
	f->is_relocated = true;
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i], *of;

		if ((s->type != SHT_RELA && s->type != SHT_REL) || !s->size ||
		    s->info >= f->section_count)
			continue;
		of = &f->sections[s->info];
		if (!str_starts(of->name, ".debug_") || of->type == SHT_NOBITS)
			continue;
		if (!f->is_64 || f->machine != arch_elf_machine() || !relocate(f, s, of)) {
			f->is_relocated = false;
			return false;
		}
	}
	return true;
}
