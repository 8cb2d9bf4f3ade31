/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of struct elf_file, shared by binary/elf/file.c, binary/elf/symbols.c, binary/elf/index.c,
 * binary/elf/debug.c, usdt.c and binary/debug/lines.c only.
 *
 * Parts of the file are copied when they are first asked for (base/file_image.h), and stay. 32- and
 * 64-bit headers are turned into one form when the file is opened (System V ABI, "Object Files";
 * elf(5)); everything that comes from the file is checked against its length here, so that the rest
 * may trust segments[] and sections[]: a range of a section that is not SHT_NOBITS lies within the
 * image. Its bytes may still be missing, if the file was cut short later: elf_section_bytes().
 */
#ifndef PANTRACE_BINARY_ELF_INTERNAL_H
#define PANTRACE_BINARY_ELF_INTERNAL_H

#include <elf.h>

#include "base/cursor.h"
#include "base/file_image.h"
#include "base/vector.h"
#include "binary/elf/file.h"

struct elf_segment {
	u32 type, flags;
	u64 offset, address, file_size, memory_size;
};

struct elf_section {
	const char *name; /* "" if it cannot be read */
	u32 type, link, info;
	u64 flags, address, offset, size, entry_size;
};

/* One symbol table; counts and string table are checked. */
struct elf_table {
	struct elf_file *file;
	const u8 *symbols;
	u64 count;
	u32 entry_size; /* 16 or 24 */
	const char *strings; /* ends with NUL within strings_len */
	u64 strings_len;
	const u8 *versions; /* u16 per symbol (.gnu.version), NULL = none */
};

struct elf_index_entry {
	u64 start, end; /* end of the symbol itself */
	u64 reach; /* the largest end up to and including this entry: how far a walk back must go */
	u32 table, symbol;
};

struct elf_file {
	char *path;
	struct file_image image;
	bool is_64;
	u16 type, machine;
	u64 entry;
	struct elf_segment *segments;
	u32 segment_count;
	struct elf_section *sections;
	u32 section_count;
	u64 section_headers; /* where they are in the image, and the size of one */
	u32 section_header_size;
	char build_id[2 * 64 + 1]; /* "" = not read yet or none */
	bool build_id_read, debug_searched, dynamic_read, own_read, debug_read, index_built;
	bool has_symtab, is_mini, is_relocated, unpack_tried;
	u32 dynamic_tables; /* the first ones of `tables` are .dynsym */
	const char *debug_path; /* or NULL */
	bool is_kernel;
	struct elf_file *debug; /* separate debug file, or NULL */
	struct elf_file *mini; /* decompressed .gnu_debugdata, or NULL */
	struct elf_file *unpacked; /* elf_unpacked_file(): may be the file itself */
	VECTOR(struct elf_table) tables;
	VECTOR(struct elf_index_entry) index;
	struct arena names; /* of symbols whose version suffix had to be cut off */
	void *dwarf; /* binary/debug/lines.c; freed by debug_release() */
};

/* Of section s; NULL: s is NULL, has no bytes, or they cannot be read. */
const u8 *elf_section_bytes(struct elf_file *f, const struct elf_section *s);
struct cursor elf_section_cursor(struct elf_file *f, const struct elf_section *s);
const struct elf_section *elf_section_named(const struct elf_file *f, const char *name);
/* Takes over the buffer (malloc'ed) also when it fails. */
int elf_file_open_buffer(void *data, size_t len, const char *path, struct elf_file **ret);

/* binary/elf/debug.c: the two are looked for once and owned by f; NULL = none. */
struct elf_file *elf_debug_file(struct elf_file *f);
struct elf_file *elf_mini_file(struct elf_file *f);
/* What dwz took out of several debug files (.gnu_debugaltlink): the caller's; NULL = none. */
struct elf_file *elf_shared_debug_file(struct elf_file *f);

/* binary/elf/symbols.c */
enum elf_tables {
	ELF_DYNAMIC,
	ELF_OWN, /* and .symtab */
	ELF_ALL, /* and, without .symtab, those of the debug file and .gnu_debugdata */
};
void elf_read_tables(struct elf_file *f, enum elf_tables wanted);
/* The i-th symbol of a table; false if it is undefined, nameless or of a kind that names nothing.
 * The name still has its version. */
bool elf_table_symbol(const struct elf_table *t, u64 i, struct elf_symbol *ret);
/* Without "@VERSION"; in the file's memory where there is no suffix, else a copy owned by f. */
const char *elf_plain_name(struct elf_file *f, const char *name);
/* demangle.c: "ns::f" of "ns::f(int)"; malloc'ed or NULL. */
char *demangle_without_parameters(const char *mangled);

/* binary/elf/object.c: does nothing with files that are linked */
void object_lay_out(struct elf_file *f);
/* Are the addresses of the one those of the other? */
bool object_is_laid_out_as(const struct elf_file *a, const struct elf_file *b);
/* Its debug sections, in our copy. False: there is something in them that we do not know. */
bool object_relocate(struct elf_file *f);

/* binary/elf/unpack.c: compressed debug sections */
bool elf_section_is_packed(const struct elf_section *s);
/* As the section says: it may be any number. */
u64 elf_section_unpacked_size(struct elf_file *f, const struct elf_section *s);
/* Are there some that libdw cannot unpack, or not as they are? */
bool elf_file_must_unpack(struct elf_file *f);
/*
 * The file with all of them unpacked: f itself if there are none, else a copy that f owns. NULL:
 * there is something in them that we do not know.
 */
struct elf_file *elf_unpacked_file(struct elf_file *f);

/* binary/debug/lines.c */
void debug_release(struct elf_file *f);

#endif
