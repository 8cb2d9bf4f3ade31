/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes: notes that <sys/sdt.h> leaves in the section .note.stapsdt
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). One note:
 *
 *	u32 name size (8), u32 descriptor size, u32 type (3), "stapsdt\0"
 *	word pc, word base, word semaphore	word = 8 bytes in ELF64, 4 in ELF32
 *	provider\0 name\0 arguments\0
 *	padding to 4 bytes
 *
 * base is where .stapsdt.base was when the note was made: prelink may have moved the file since,
 * and pc and semaphore with it.
 */
#include <stdio.h>

#include "base/hashmap.h"
#include "binary/elf/internal.h"

enum { NOTE_STAPSDT = 3 };

static bool parse_note(struct elf_file *f, const void *desc, u32 len, u64 base_now,
		       struct usdt_note *ret)
{
	struct cursor c = cursor_of(desc, len);
	size_t word = f->is_64 ? 8 : 4;
	u64 pc = cursor_uint(&c, word), base = cursor_uint(&c, word),
	    semaphore = cursor_uint(&c, word);
	u64 moved = base_now && base ? base_now - base : 0;
	struct usdt_note n = {0};

	n.provider = cursor_string(&c);
	n.name = cursor_string(&c);
	n.args = cursor_string(&c);
	if (c.failed || !*n.provider || !*n.name)
		return false;
	n.address = pc + moved;
	if (elf_file_offset(f, n.address, &n.offset) < 0 ||
	    !elf_file_is_executable_offset(f, n.offset))
		return false;
	/* Without its semaphore the probe would never fire: such a note is ignored. */
	if (semaphore && elf_file_offset(f, semaphore + moved, &n.semaphore) < 0)
		return false;
	*ret = n;
	return true;
}

/* The same probe at the same place with the same arguments, e.g. from a section that a linker
 * duplicated. */
static bool is_duplicate(struct hashmap *seen, const struct usdt_note *n)
{
	char key[512];
	int len = snprintf(key, sizeof(key), "%" PRIx64 " %s:%s %s", n->offset, n->provider,
			   n->name, n->args);
	bool is_new;

	hashmap_put(seen, key, (size_t)MIN(len, (int)sizeof(key) - 1), &is_new);
	return !is_new;
}

static int each_note(struct elf_file *f, const struct elf_section *s, u64 base,
		     struct hashmap *seen, int (*fn)(void *arg, const struct usdt_note *n),
		     void *arg)
{
	struct cursor c = elf_section_cursor(f, s);

	while (!c.failed && c.pos < c.len) {
		u32 name_len = cursor_u32(&c), desc_len = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, name_len);
		struct usdt_note n;
		const void *desc;
		int result;

		cursor_align(&c, 4);
		desc = cursor_bytes(&c, desc_len);
		if (!name || !desc)
			break;
		if (c.pos < c.len)
			cursor_align(&c, 4);
		if (type != NOTE_STAPSDT || name_len != 8 || memcmp(name, "stapsdt", 8) != 0)
			continue;
		if (!parse_note(f, desc, desc_len, base, &n) || is_duplicate(seen, &n))
			continue;
		result = fn(arg, &n);
		if (result)
			return result;
	}
	return 0;
}

int elf_file_each_usdt(struct elf_file *f, int (*fn)(void *arg, const struct usdt_note *n),
		       void *arg)
{
	const struct elf_section *base = elf_section_named(f, ".stapsdt.base");
	struct hashmap seen = {0};
	int result = 0;

	for (u32 i = 1; i < f->section_count && !result; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type == SHT_NOTE && str_eq(s->name, ".note.stapsdt"))
			result = each_note(f, s, base ? base->address : 0, &seen, fn, arg);
	}
	hashmap_release(&seen);
	return result;
}
