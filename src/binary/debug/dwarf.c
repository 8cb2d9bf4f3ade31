/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/dwarf.h"

#include "binary/elf/internal.h"

enum { MAX_UNPACKED = 1 << 30 }; /* bytes of one compressed section */

/* ".debug_info" of ".debug_info.dwo" and ".zdebug_info"; NULL: nothing that we ask libdw about. */
static bool is_wanted(const char *name)
{
	static const char *const names[] = {
		"info", "types",    "abbrev", "addr",	  "aranges", "line",	    "line_str",
		"loc",	"loclists", "ranges", "rnglists", "str",     "str_offsets",
	};
	const char *p = str_starts(name, ".debug_")    ? name + 7
			: str_starts(name, ".zdebug_") ? name + 8
						       : NULL;

	for (size_t i = 0; p && i < ARRAY_SIZE(names); i++) {
		const size_t n = strlen(names[i]);

		if (strncmp(p, names[i], n) == 0 && (!p[n] || str_eq(p + n, ".dwo")))
			return true;
	}
	return false;
}

/* In our copy; libelf has read nothing yet. */
static void hide_section(struct elf_file *f, u32 i)
{
	const u32 none = SHT_NOBITS;

	memcpy(f->image.data + f->section_headers + (u64)i * f->section_header_size +
		       offsetof(Elf64_Shdr, sh_type),
	       &none, sizeof(none));
}

/* Of most sections a question needs a small part. */
static const void *bytes_of(struct elf_file *f, const struct elf_section *s)
{
	return elf_section_is_packed(s) ? (const void *)elf_section_bytes(f, s)
					: file_image_lend(&f->image, s->offset, s->size);
}

Elf *debug_elf(struct elf_file *f)
{
	if (elf_file_must_unpack(f))
		f = elf_unpacked_file(f);
	if (!f || !object_relocate(f))
		return NULL;
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];
		/* Names are looked up in a section like any other. */
		const bool is_names = s->type == SHT_STRTAB;

		if (s->type == SHT_NOBITS || (is_names && !is_wanted(s->name)))
			continue;
		if (!is_wanted(s->name) || !bytes_of(f, s) ||
		    (elf_section_is_packed(s) && elf_section_unpacked_size(f, s) > MAX_UNPACKED))
			hide_section(f, i);
	}
	if (f->image.error)
		return NULL;
	elf_version(EV_CURRENT);
	return elf_memory((char *)f->image.data, f->image.len);
}

/* Compressed sections have been unpacked by now. */
static void drop_packed(struct elf_file *f)
{
	for (u32 i = 1; i < f->section_count; i++)
		if (is_wanted(f->sections[i].name) && elf_section_is_packed(&f->sections[i]))
			file_image_drop(&f->image, f->sections[i].offset, f->sections[i].size);
}

static void open_shared(struct dwarf_file *d)
{
	struct elf_file *f = elf_shared_debug_file(d->file);

	if (!f)
		return;
	d->shared = xzalloc(sizeof(*d->shared));
	d->shared->file = f;
	if (dwarf_file_open(d->shared, f))
		dwarf_setalt(d->dwarf, d->shared->dwarf);
}

bool dwarf_file_open(struct dwarf_file *d, struct elf_file *f)
{
	if (!elf_section_named(f, ".debug_info") && !elf_section_named(f, ".zdebug_info"))
		return false;
	d->file = f;
	d->elf = debug_elf(f);
	d->dwarf = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	drop_packed(f);
	if (d->dwarf)
		open_shared(d);
	return d->dwarf != NULL;
}

void dwarf_file_close(struct dwarf_file *d)
{
	dwarf_end(d->dwarf);
	elf_end(d->elf);
	if (d->shared) {
		struct elf_file *f = d->shared->file;

		dwarf_file_close(d->shared);
		elf_file_close(f);
		free(d->shared);
	}
	*d = (struct dwarf_file){0};
}
