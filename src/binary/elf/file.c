/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers, segments, sections and build-id (System V ABI, "Object Files"; elf(5)). */
#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "binary/elf/internal.h"
#include "binary/elf/zip.h"

enum {
	MAX_HEADER = 64, /* sizeof(Elf64_Ehdr) */
	MAX_SEGMENTS = 1024,
	MAX_NOTES = 1 << 20, /* bytes of one run */
	MAX_SECTIONS = 1 << 20, /* -ffunction-sections objects have tens of thousands */
};

const void *elf_file_bytes(struct elf_file *f, u64 offset, u64 n)
{
	return file_image_bytes(&f->image, offset, n);
}

const u8 *elf_section_bytes(struct elf_file *f, const struct elf_section *s)
{
	return s && s->type != SHT_NOBITS ? elf_file_bytes(f, s->offset, s->size) : NULL;
}

struct cursor elf_section_cursor(struct elf_file *f, const struct elf_section *s)
{
	const u8 *data = elf_section_bytes(f, s);

	return cursor_of(data ? data : (const u8 *)"", data ? s->size : 0);
}

int elf_file_error(const struct elf_file *f)
{
	return f->image.error ? f->image.error : f->debug ? f->debug->image.error : 0;
}

/* ---- headers ---- */

struct header {
	u64 segments, sections;
	u32 segment_size, segment_count, section_size, section_count, names;
};

static int read_header(struct elf_file *f, struct header *h)
{
	const size_t len = MIN(f->image.len, (size_t)MAX_HEADER);
	const void *head = elf_file_bytes(f, 0, len);
	struct cursor c = cursor_of(head ? head : "", head ? len : 0);
	const u8 *ident = cursor_bytes(&c, EI_NIDENT);
	size_t word;

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	/* Code of the other byte order cannot run here. */
	if (ident[EI_DATA] != ELFDATA2LSB || __BYTE_ORDER != __LITTLE_ENDIAN)
		return -ENOEXEC;
	f->is_64 = ident[EI_CLASS] == ELFCLASS64;
	word = f->is_64 ? 8 : 4;
	f->type = cursor_u16(&c);
	f->machine = cursor_u16(&c);
	cursor_u32(&c); /* e_version */
	f->entry = cursor_uint(&c, word);
	h->segments = cursor_uint(&c, word);
	h->sections = cursor_uint(&c, word);
	cursor_u32(&c); /* e_flags */
	cursor_u16(&c); /* e_ehsize */
	h->segment_size = cursor_u16(&c);
	h->segment_count = cursor_u16(&c);
	h->section_size = cursor_u16(&c);
	h->section_count = cursor_u16(&c);
	h->names = cursor_u16(&c);
	return c.failed ? -ENOEXEC : 0;
}

static struct elf_segment read_segment(struct cursor *c, bool is_64)
{
	struct elf_segment s = {.type = cursor_u32(c)};
	size_t word = is_64 ? 8 : 4;

	if (is_64)
		s.flags = cursor_u32(c);
	s.offset = cursor_uint(c, word);
	s.address = cursor_uint(c, word);
	cursor_uint(c, word); /* physical address */
	s.file_size = cursor_uint(c, word);
	s.memory_size = cursor_uint(c, word);
	if (!is_64)
		s.flags = cursor_u32(c);
	return s;
}

static struct elf_section read_section(struct cursor *c, bool is_64, u32 *ret_name)
{
	struct elf_section s = {.name = ""};
	size_t word = is_64 ? 8 : 4;

	*ret_name = cursor_u32(c);
	s.type = cursor_u32(c);
	s.flags = cursor_uint(c, word);
	s.address = cursor_uint(c, word);
	s.offset = cursor_uint(c, word);
	s.size = cursor_uint(c, word);
	s.link = cursor_u32(c);
	s.info = cursor_u32(c);
	cursor_uint(c, word); /* alignment */
	s.entry_size = cursor_uint(c, word);
	return s;
}

static void read_segments(struct elf_file *f, const struct header *h)
{
	u32 want = f->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	u32 n = MIN(h->segment_count, (u32)MAX_SEGMENTS);
	const u8 *p = elf_file_bytes(f, h->segments, (u64)n * h->segment_size);

	if (!p || !n || h->segment_size < want)
		return;
	f->segments = xreallocarray(NULL, n, sizeof(*f->segments));
	for (u32 i = 0; i < n; i++) {
		struct cursor c = cursor_of(p + (size_t)i * h->segment_size, want);
		struct elf_segment s = read_segment(&c, f->is_64);

		/* A range that wraps would defeat every comparison below. */
		if (s.offset + s.file_size < s.offset || s.address + s.memory_size < s.address ||
		    s.address + s.file_size < s.address)
			continue;
		f->segments[f->segment_count++] = s;
	}
}

/* The name of section i; "" unless it is a NUL-terminated string inside the string section. */
static const char *section_name(struct elf_file *f, const struct elf_section *names, u32 at)
{
	const char *strings = (const char *)elf_section_bytes(f, names);

	if (!strings || at >= names->size || !memchr(strings + at, 0, names->size - at))
		return "";
	return strings + at;
}

static void read_sections(struct elf_file *f, struct header *h)
{
	u32 want = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), name;
	const u8 *p = elf_file_bytes(f, h->sections, h->section_size);
	const struct elf_section *names = NULL;
	struct elf_section first;
	u32 *name_at;
	u64 n;

	if (!h->sections || h->section_size < want || !p)
		return;
	struct cursor head = cursor_of(p, want);

	first = read_section(&head, f->is_64, &name);
	/* Counts that do not fit 16 bits are in section 0. */
	n = h->section_count ? h->section_count : first.size;
	if (h->names == SHN_XINDEX)
		h->names = first.link;
	n = MIN(MIN(n, (u64)MAX_SECTIONS), (f->image.len - h->sections) / h->section_size);
	p = n ? elf_file_bytes(f, h->sections, n * h->section_size) : NULL;
	if (!p)
		return;
	f->section_headers = h->sections;
	f->section_header_size = h->section_size;
	f->sections = xreallocarray(NULL, n, sizeof(*f->sections));
	f->section_count = (u32)n;
	name_at = xreallocarray(NULL, n, sizeof(*name_at));
	for (u32 i = 0; i < n; i++) {
		struct cursor c = cursor_of(p + (size_t)i * h->section_size, want);
		struct elf_section *s = &f->sections[i];

		*s = read_section(&c, f->is_64, &name_at[i]);
		if (s->type != SHT_NOBITS && !file_image_has(&f->image, s->offset, s->size))
			s->type = SHT_NULL, s->size = 0, s->offset = 0;
	}
	if (h->names < n && f->sections[h->names].type == SHT_STRTAB)
		names = &f->sections[h->names];
	for (u32 i = 0; i < n; i++)
		f->sections[i].name = section_name(f, names, name_at[i]);
	free(name_at);
}

/* ---- opening ---- */

/* Takes over the image. */
static int open_image(struct file_image image, const char *path, struct elf_file **ret)
{
	struct elf_file *f = xzalloc(sizeof(*f));
	struct header h = {0};
	int err;

	f->path = xstrdup(path);
	f->image = image;
	err = read_header(f, &h);
	if (!err) {
		read_segments(f, &h);
		read_sections(f, &h);
		object_lay_out(f);
	}
	/* Half of the headers would be taken for a file that has no more. */
	if (f->image.error)
		err = f->image.error;
	if (err) {
		elf_file_close(f);
		return err;
	}
	*ret = f;
	return 0;
}

int elf_file_open_fd(int fd, const char *path, struct elf_file **ret)
{
	struct file_image image;
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT)
		return -ENOEXEC;
	err = file_image_open(&image, fd);
	return err ? err : open_image(image, path, ret);
}

static int open_entry(int fd, const char *path, const char *entry, struct elf_file **ret)
{
	struct file_image image;
	u64 offset, size;
	const char *why;
	int err = zip_find(fd, entry, &offset, &size, &why);

	if (!err && size < EI_NIDENT)
		err = -ENOEXEC;
	if (!err)
		err = file_image_open_part(&image, fd, offset, size);
	return err ? err : open_image(image, path, ret);
}

int elf_file_open(const char *path, struct elf_file **ret)
{
	const char *separator = zip_separator(path);
	int fd = foreign_open(path, NULL), err;
	char *archive;

	if (fd >= 0 || !separator) {
		err = fd < 0 ? fd : elf_file_open_fd(fd, path, ret);
	} else {
		archive = xstrndup(path, (size_t)(separator - path));
		fd = foreign_open(archive, NULL);
		err = fd < 0 ? fd : open_entry(fd, path, separator + 2, ret);
		free(archive);
	}
	if (fd >= 0)
		close(fd);
	return err == -EPERM ? -ENOEXEC : err; /* no file at all */
}

int elf_file_open_buffer(void *data, size_t len, const char *path, struct elf_file **ret)
{
	struct file_image image;

	file_image_of(&image, data, len);
	return open_image(image, path, ret);
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	debug_release(f);
	elf_file_close(f->debug);
	elf_file_close(f->mini);
	if (f->unpacked != f)
		elf_file_close(f->unpacked);
	file_image_close(&f->image);
	arena_release(&f->names);
	vector_free(&f->tables);
	vector_free(&f->index);
	free(f->segments);
	free(f->sections);
	free(f->path);
	free(f);
}

/* ---- what the headers say ---- */

const char *elf_file_path(const struct elf_file *f)
{
	return f->path;
}

char *elf_file_on_disk(const struct elf_file *f, u64 *ret_base)
{
	const char *separator = f->image.base ? zip_separator(f->path) : NULL;

	*ret_base = f->image.base;
	return separator ? xstrndup(f->path, (size_t)(separator - f->path)) : xstrdup(f->path);
}

bool elf_file_is_64(const struct elf_file *f)
{
	return f->is_64;
}

bool elf_file_is_dynamic(const struct elf_file *f)
{
	return f->type == ET_DYN;
}

u64 elf_file_entry(const struct elf_file *f)
{
	return f->entry;
}

const struct elf_section *elf_section_named(const struct elf_file *f, const char *name)
{
	for (u32 i = 1; i < f->section_count; i++)
		if (str_eq(f->sections[i].name, name))
			return &f->sections[i];
	return NULL;
}

bool elf_file_is_in_section(const struct elf_file *f, const char *section, u64 address)
{
	const struct elf_section *s = elf_section_named(f, section);

	return s && address >= s->address && address - s->address < s->size;
}

const char *elf_file_section_at(const struct elf_file *f, u64 address, u64 *ret_begin)
{
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->flags & SHF_ALLOC && address >= s->address &&
		    address - s->address < s->size) {
			*ret_begin = s->address;
			return s->name;
		}
	}
	return NULL;
}

/* ---- build-id ---- */

/* A run of notes: u32 name size, descriptor size, type; then both, each padded to 4 bytes. */
static bool find_build_id(struct elf_file *f, const void *notes, size_t len)
{
	struct cursor c = cursor_of(notes, len);

	while (!c.failed && c.pos < c.len) {
		u32 name_len = cursor_u32(&c), desc_len = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, name_len);
		const u8 *desc;

		cursor_align(&c, 4);
		desc = cursor_bytes(&c, desc_len);
		if (!name || !desc)
			return false;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
		    desc_len && desc_len <= (sizeof(f->build_id) - 1) / 2) {
			for (u32 i = 0; i < desc_len; i++) {
				f->build_id[2 * i] = "0123456789abcdef"[desc[i] >> 4];
				f->build_id[2 * i + 1] = "0123456789abcdef"[desc[i] & 15];
			}
			f->build_id[2 * desc_len] = 0;
			return true;
		}
		if (c.pos < c.len)
			cursor_align(&c, 4);
	}
	return false;
}

const char *elf_file_build_id(struct elf_file *f)
{
	bool found = f->build_id_read;

	f->build_id_read = true;
	for (u32 i = 0; i < f->segment_count && !found; i++) {
		const struct elf_segment *s = &f->segments[i];
		const void *p = s->type == PT_NOTE && s->file_size <= MAX_NOTES
					? elf_file_bytes(f, s->offset, s->file_size)
					: NULL;

		found = p && find_build_id(f, p, s->file_size);
	}
	/* Debug files keep the sections, but their segments may point at nothing. */
	for (u32 i = 0; i < f->section_count && !found; i++) {
		const struct elf_section *s = &f->sections[i];

		const u8 *p = s->type == SHT_NOTE && s->size <= MAX_NOTES ? elf_section_bytes(f, s)
									  : NULL;

		found = p && find_build_id(f, p, s->size);
	}
	return *f->build_id ? f->build_id : NULL;
}

/* ---- addresses and offsets ---- */

int elf_file_offset(struct elf_file *f, u64 address, u64 *ret_offset)
{
	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && address >= s->address &&
		    address - s->address < s->file_size) {
			*ret_offset = s->offset + (address - s->address);
			return 0;
		}
	}
	return -ENOENT;
}

int elf_file_address(struct elf_file *f, u64 offset, u64 *ret_address)
{
	const struct elf_segment *best = NULL;

	/* Linkers may let two segments share a page of the file; code is what is asked about. */
	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && offset >= s->offset &&
		    offset - s->offset < s->file_size &&
		    (!best || (s->flags & PF_X && !(best->flags & PF_X))))
			best = s;
	}
	if (!best)
		return -ENOENT;
	*ret_address = best->address + (offset - best->offset);
	return 0;
}

int elf_file_mapped_address(struct elf_file *f, u64 size, u64 at, u64 *ret_address)
{
	const struct elf_segment *code = NULL;
	const u64 page = 4096;
	u64 begin, end;

	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		if (s->file_size)
			return -EINVAL;
		if (code)
			return -ENOENT;
		code = s;
	}
	if (!code || code->address > UINT64_MAX / 2 || code->memory_size > UINT64_MAX / 4)
		return -ENOENT;
	begin = code->address & ~(page - 1);
	end = ALIGN_UP(code->address + code->memory_size, page);
	if (end - begin != size || at >= size)
		return -ENOENT;
	*ret_address = begin + at;
	return 0;
}

int elf_file_load_bias(struct elf_file *f, u64 start, u64 offset, u64 *ret_bias)
{
	const u64 page = 0xffff; /* the largest page size in use; the kernel maps whole pages */

	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X && offset + page >= s->offset &&
		    (offset < s->offset || offset - s->offset < s->file_size)) {
			*ret_bias = start - offset - (s->address - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}

bool elf_file_is_executable_offset(struct elf_file *f, u64 offset)
{
	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X && offset >= s->offset &&
		    offset - s->offset < s->file_size)
			return true;
	}
	return false;
}
