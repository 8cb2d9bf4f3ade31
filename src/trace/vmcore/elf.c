/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps as ELF cores: a segment PT_LOAD for each range of memory, notes of the kernel's. */
#include <elf.h>
#include <stdlib.h>

#include "trace/vmcore/dump_internal.h"

#define SEGMENTS_MAX  (1u << 20)
#define NOTES_MAX     (64u << 20)
#define NAME_OF_INFO  "VMCOREINFO"
#define ALIGN_OF_NOTE 4

struct range {
	u64 physical, size, from; /* from: where it begins in the file */
};

struct elf_dump {
	VECTOR(struct range) ranges; /* by address; none lies within another */
};

static bool recognise(const u8 *head, size_t n)
{
	return n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

/* If there are too many segments for e_phnum, the first section header has their number. */
static int count_segments(const struct dump_file *f, const Elf64_Ehdr *eh, u64 *ret)
{
	Elf64_Shdr sh;
	int err;

	*ret = eh->e_phnum;
	if (eh->e_phnum != PN_XNUM)
		return 0;
	err = dump_file_read(f, eh->e_shoff, &sh, sizeof(sh));
	*ret = err ? 0 : sh.sh_info;
	return err;
}

static char *find_info(const char *notes, u64 len)
{
	struct cursor c = cursor_of(notes, len);

	while (!c.failed && c.pos < c.len) {
		const u32 name_len = cursor_u32(&c), len_of = cursor_u32(&c);
		const char *name, *text;

		cursor_u32(&c); /* type */
		name = cursor_bytes(&c, name_len);
		cursor_align(&c, ALIGN_OF_NOTE);
		text = cursor_bytes(&c, len_of);
		if (name && text && name_len == sizeof(NAME_OF_INFO) &&
		    !memcmp(name, NAME_OF_INFO, name_len) && len_of <= DUMP_INFO_MAX)
			return xstrndup(text, len_of);
		cursor_align(&c, ALIGN_OF_NOTE);
	}
	return NULL;
}

static int add_segment(struct elf_dump *e, const struct dump_file *f, const Elf64_Phdr *ph,
		       char **ret_info)
{
	char *notes;
	int err;

	if (ph->p_type == PT_LOAD && ph->p_filesz) {
		if (ph->p_filesz > f->size || ph->p_offset > f->size - ph->p_filesz ||
		    ph->p_filesz > UINT64_MAX - ph->p_paddr)
			return -EINVAL;
		vector_push(&e->ranges, (struct range){ph->p_paddr, ph->p_filesz, ph->p_offset});
	} else if (ph->p_type == PT_NOTE && !*ret_info) {
		err = dump_file_copy(f, ph->p_offset, ph->p_filesz, NOTES_MAX, &notes);
		if (err)
			return err;
		*ret_info = find_info(notes, ph->p_filesz);
		free(notes);
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct range *const x = a, *const y = b;

	if (x->physical != y->physical)
		return x->physical < y->physical ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size); /* the longer first */
}

/* With QEMU's -p the same memory may appear at several virtual addresses. */
static void put_in_order(struct elf_dump *e)
{
	size_t n = 0;

	if (e->ranges.len)
		qsort(e->ranges.items, e->ranges.len, sizeof(*e->ranges.items), by_address);
	for (size_t i = 0; i < e->ranges.len; i++) {
		const struct range r = e->ranges.items[i];
		const struct range *const last = n ? &e->ranges.items[n - 1] : NULL;

		if (!last || r.physical + r.size > last->physical + last->size)
			e->ranges.items[n++] = r;
	}
	e->ranges.len = n;
}

static void elf_close(void *own)
{
	struct elf_dump *const e = own;

	vector_free(&e->ranges);
	free(e);
}

static int elf_open(const struct dump_file *f, void **ret, char **ret_info)
{
	struct elf_dump *const e = xzalloc(sizeof(*e));
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	u64 count = 0;
	int err = dump_file_read(f, 0, &eh, sizeof(eh));

	*ret = e;
	if (err)
		return err;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_type != ET_CORE || eh.e_machine != EM_X86_64)
		return -EMEDIUMTYPE;
	if (eh.e_phentsize != sizeof(ph))
		return -EINVAL;
	err = count_segments(f, &eh, &count);
	if (!err && count > SEGMENTS_MAX)
		err = -EINVAL;
	for (u64 i = 0; i < count && !err; i++) {
		err = eh.e_phoff > f->size
			      ? -EINVAL
			      : dump_file_read(f, eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph));
		if (!err)
			err = add_segment(e, f, &ph, ret_info);
	}
	put_in_order(e);
	return err;
}

/* The last range that begins at or before the address; NULL = none. */
static const struct range *range_at(const struct elf_dump *e, u64 physical)
{
	size_t low = 0, high = e->ranges.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (e->ranges.items[middle].physical <= physical)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &e->ranges.items[low - 1] : NULL;
}

static int elf_read(void *own, const struct dump_file *f, u64 physical, void *to, size_t n)
{
	for (u8 *out = to; n;) {
		const struct range *const r = range_at(own, physical);
		const u64 within = r ? physical - r->physical : 0;
		const size_t piece = r && within < r->size ? MIN(n, r->size - within) : 0;
		const int err = piece ? dump_file_read(f, r->from + within, out, piece) : -ENODATA;

		if (err)
			return err;
		physical += piece;
		out += piece;
		n -= piece;
	}
	return 0;
}

const struct dump_format dump_elf = {recognise, elf_open, elf_read, elf_close};
