/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF locations -> struct access. Shared by the files of this folder only. */
#ifndef PANTRACE_BINARY_DEBUG_ACCESS_H
#define PANTRACE_BINARY_DEBUG_ACCESS_H

#include "binary/debug/internal.h"
#include "binary/debug/variable.h"

/* Where code runs: the surroundings that a location may refer to. */
struct access_site {
	struct elf_file *file;
	struct arena *arena; /* for steps and reasons */
	u64 address;
	Dwarf_Die unit;
	Dwarf_Die function; /* the concrete one around it; addr NULL = none (statics) */
	u64 entry; /* of the function */
	bool is_behind_start; /* certainly behind the function's first line */
	bool from_caller, is_brief; /* as DEBUG_FROM_CALLER, DEBUG_BRIEF */
};

/* False: no function of the unit has the address; then only statics can be fetched. */
bool access_site_init(struct access_site *s, struct elf_file *f, struct arena *arena,
		      Dwarf_Die *unit, u64 address);
/*
 * Behind the function's first line, where unoptimised code has stored the parameters; its entry, if
 * that is not known. Reads the unit's lines.
 */
u64 access_site_body(const struct access_site *s);
/*
 * How a variable or parameter is fetched at the site. What a parameter is at the function's first
 * instruction by convention alone, DWARF does not say: then *ret_by_convention is true, and the
 * result is ACCESS_NONE.
 */
struct access access_of(const struct access_site *s, Dwarf_Die *variable, bool *ret_by_convention);
/* expression.c: a whole expression, of a value of `size` bytes. */
struct access access_translate(const struct access_site *s, Dwarf_Attribute *a, const Dwarf_Op *ops,
			       size_t n, u64 size);
/* Up to 8 bytes, as they lie in memory, as a number. */
bool access_bytes(const u8 *data, u64 n, s64 *ret);
/*
 * function.c: what the calling convention says of a parameter of the site's function at its entry.
 */
struct access access_by_convention(const struct access_site *s, Dwarf_Die *parameter,
				   struct type_store *store);
/* Where it has a location; at most max. 0: it has one list-free location, or none. */
u32 access_ranges(Dwarf_Die *variable, struct debug_range *ret, u32 max);
/* One step. */
struct access access_simple(struct arena *arena, enum access_result result,
			    const struct access_step *step, s64 add);
struct access access_refuse(const char *reason);

#endif
