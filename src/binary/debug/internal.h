/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef PANTRACE_BINARY_DEBUG_INTERNAL_H
#define PANTRACE_BINARY_DEBUG_INTERNAL_H

#include <elfutils/libdw.h>

#include "base/hashmap.h"
#include "binary/debug/dwarf.h"
#include "binary/debug/index.h"
#include "binary/debug/lines.h"

/* What is known of a file, in its struct elf_file. */
struct debug {
	struct dwarf_file dwarf;
	struct debug_split *split; /* NULL = there was no skeleton yet */
	struct hashmap outlines; /* scope.c: of units, by their DIEs */
	struct debug_frames *frames; /* unwind.c: call frame information, sorted; NULL = not yet */
	struct debug_index *index; /* index_build.c */
	bool index_tried;
};

/* Opened on the first call. */
struct debug *debug_of(struct elf_file *f);
/* NULL = no DWARF. Opened on the first call. */
Dwarf *debug_dwarf(struct elf_file *f);
/* The DIE at an offset of .debug_info, if it has the tag (0 = any). */
bool debug_die_at(struct elf_file *f, u64 offset, int tag, Dwarf_Die *ret);
/* More DIEs than an honest file has: what looks at them counts down. */
u64 debug_budget(struct elf_file *f);
/*
 * site.c. Calls fn for each function of a unit that has code (function NULL), and each copy that is
 * inlined into one. fn's non-zero result, 0, or -EBADMSG: the tree has no end.
 */
int debug_each_site(Dwarf_Die *unit, u64 *budget,
		    int (*fn)(void *arg, Dwarf_Die *die, const Dwarf_Die *function, u64 address),
		    void *arg);
bool debug_unit_is_c(Dwarf_Die *unit);
/* mention.c. Units that cannot have a function of a name are known by their bytes. */
struct debug_mention {
	Dwarf *dwarf;
	const char *name;
	VECTOR(u32) offsets; /* of the name in .debug_str */
	const u8 *table; /* .debug_str_offsets */
	u64 table_len;
};

/* The name must live as long. */
void debug_mention_init(struct debug_mention *m, struct elf_file *f, const char *name);
void debug_mention_release(struct debug_mention *m);
/* False: no function of the unit, and nothing that is inlined there, has exactly that name. */
bool debug_may_mention(const struct debug_mention *m, Dwarf_Die *unit);
/* names.c. What .debug_names says of units, where it can be believed. */
enum debug_naming { DEBUG_NAMES_UNKNOWN, DEBUG_NOT_NAMED, DEBUG_NAMED };
struct debug_names {
	Dwarf *dwarf;
	struct hashmap units; /* their offsets -> enum debug_naming */
};

/* Which units have a function, or a copy of one, with a name for which fn is true. */
void debug_names_search(struct debug_names *ret, struct elf_file *f,
			bool (*fn)(void *arg, const char *name), void *arg);
void debug_names_release(struct debug_names *n);
enum debug_naming debug_names_say(const struct debug_names *n, Dwarf_Die *unit);
/* variable.c. Calls fn for each external variable of a unit: no declarations, nothing nameless. */
int debug_each_external(Dwarf_Die *unit, int (*fn)(void *arg, Dwarf_Die *variable), void *arg);
/* The compilation unit that has code at a virtual address. */
bool debug_unit_at(struct elf_file *f, u64 address, Dwarf_Die *ret);
/* Calls fn for each compilation unit until it returns non-zero, which is the result. */
int debug_each_unit(struct elf_file *f, int (*fn)(void *arg, Dwarf_Die *unit), void *arg);
/*
 * The same, without those that are known not to have a statement of that line (0 = any) of a source
 * file that ends so.
 */
int debug_each_unit_of(struct elf_file *f, const char *source, u32 line,
		       int (*fn)(void *arg, Dwarf_Die *unit), void *arg);
/* The unit that has the line table: the program's own, where `unit` is split off. */
void debug_line_unit(struct elf_file *f, const Dwarf_Die *unit, Dwarf_Die *ret);
/* The first row of a line table (libdw sorts them) that is not below the address; count = none. */
size_t debug_row_from(Dwarf_Lines *lines, size_t count, u64 address);
/*
 * Functions, inlined copies and blocks around an address, innermost first, as the code lies: an
 * inlined copy is followed by what it is inlined in. malloc'ed; the number of them, or 0.
 * with_entries: optimised code may say that a copy begins at the address without having code there;
 * then that counts, too.
 */
u32 debug_scopes_at(struct elf_file *f, Dwarf_Die *unit, u64 address, bool with_entries,
		    Dwarf_Die **ret);
void debug_outlines_release(struct hashmap *outlines);
void debug_frames_release(struct debug_frames *q); /* NULL is fine */
/* Where a function, or an inlined copy, begins. */
bool debug_entry_of(Dwarf_Die *die, u64 *ret);
/* Where the code ends that begins at its entry; parts that lie elsewhere (.cold) do not count. */
bool debug_end_of(Dwarf_Die *die, u64 entry, u64 *ret);
/* Where the source calls what is inlined. False: that is not known, and both are 0. */
bool debug_call_of(Dwarf_Die *inlined, const char **ret_file, u32 *ret_line);
/* The file that a DIE's declaration is in, NULL = unknown. */
const char *debug_declared_in(Dwarf_Die *die);
/* The next child of the same parent; 0, or not: there is none. Damaged trees do not go back. */
static inline int debug_next_sibling(Dwarf_Die *die)
{
	const void *const before = die->addr;

	return dwarf_siblingof(die, die) == 0 && (uintptr_t)die->addr > (uintptr_t)before ? 0 : 1;
}
/* "get" of the template's copy "get<int>", malloc'ed; NULL: it is none. */
char *debug_template_name(const char *name);
/* The linkage name, NULL if it has none. */
const char *debug_linkage_name(Dwarf_Die *die);
/* die NULL = void. */
const struct type *debug_convert_type(struct elf_file *f, struct type_store *types, Dwarf_Die *die);
/* As the source spells it, "const char*", "struct foo*"; NULL if it has no short spelling. */
const char *debug_spell_type(struct type_store *types, Dwarf_Die *die);
/* The type that a DIE (parameter, member, function) refers to, NULL = void; *memory holds it. */
Dwarf_Die *debug_type_of(Dwarf_Die *die, Dwarf_Die *memory);

#endif
