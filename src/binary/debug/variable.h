/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which variables exist at an address of a program, and how their values are fetched there; where
 * functions begin, inlined copies included. What DWARF says is translated as a whole or refused
 * with the reason: a value that comes out of this is the variable's.
 */
#ifndef PANTRACE_BINARY_DEBUG_VARIABLE_H
#define PANTRACE_BINARY_DEBUG_VARIABLE_H

#include "binary/elf/file.h"
#include "binary/location.h"
#include "types/type.h"

enum debug_variable_kind {
	DEBUG_PARAMETER,
	DEBUG_LOCAL,
	DEBUG_FILE_STATIC, /* of the source file that the code comes from */
	DEBUG_GLOBAL, /* external, of any source file */
};

/* [start, end) of virtual addresses. */
struct debug_range {
	u64 start, end;
};

struct debug_variable {
	const char *name; /* as in the source; of a parameter without one "argN" */
	enum debug_variable_kind kind;
	bool is_artificial; /* made by the compiler: `this` */
	/* A variable of an inner block has the same name: the source cannot mean this one. */
	bool is_hidden;
	/*
	 * 0: of the function whose line is executed; 1: of the one that it is inlined in, and so
	 * on. Statics and globals: 0.
	 */
	u32 frame;
	u32 depth; /* blocks between it and the innermost one: 0 is innermost */
	const char *function; /* that it is of, as in the source; NULL: it is of none */
	const char *file; /* where it is declared; NULL = unknown */
	u32 line; /* 0 = unknown */
	const struct type *type;
	const char *spelling; /* the type as in the source, "const char*"; NULL = nothing short */
	struct access access; /* at the address that was asked about */
	/*
	 * That address is the first one of a function which is compiled to store it, and begins its
	 * body here; 0 = it is none of those. The access is by the calling convention until then.
	 */
	u64 stored_at;
	/*
	 * Where DWARF has a location for it; count 0: everywhere in its block, or nowhere. Sorted
	 * as DWARF has them; at most 64.
	 */
	const struct debug_range *ranges;
	u32 range_count;
};

enum debug_which {
	DEBUG_LOCALS = 1, /* parameters too */
	DEBUG_STATICS = 2, /* of the unit's own: file-scope variables, external or not */
	DEBUG_EXTERNALS = 4, /* external ones of all other units: takes a walk through the file */
	DEBUG_CALLERS = 8, /* also those of the functions that this code is inlined in */
};

/*
 * Calls fn for each variable that is visible at a virtual address, innermost block first, then
 * statics, then externals; those that cannot be read too. Everything it is shown, but not the
 * struct itself, lives in the store's arena; types are read when asked for, so f must stay open as
 * long as they are used. fn's non-zero result, 0, -ENODATA (no DWARF) or -ENOENT (no unit has code
 * there).
 */
int debug_each_variable(struct elf_file *f, u64 address, struct type_store *types, u32 which,
			int (*fn)(void *arg, const struct debug_variable *v), void *arg);
/*
 * The variable that a name means in the source there: innermost block, statics, externals, and then
 * the functions around an inlined one. 0, -ENODATA or -ENOENT.
 */
int debug_variable_named(struct elf_file *f, u64 address, struct type_store *types,
			 const char *name, struct debug_variable *ret);

/*
 * The location that a program reads it by; LOCATION_NONE, whose access says why, if it cannot be
 * read, also because the language has no such numbers. Lives in the arena.
 */
struct location debug_location(struct arena *arena, const struct access *a, const struct type *t,
			       u64 address);

/* A place where a function begins. */
struct debug_entry {
	u64 address; /* virtual, of the first instruction */
	u64 end; /* behind its last one; cold parts elsewhere are not counted; 0 = unknown */
	const char *name; /* as in the source: "over" */
	const char *qualified; /* "ns::over"; the same as name where there is no scope */
	const char *linkage; /* "_ZN2ns4overEi"; NULL = none */
	/* Of the code, where it is no inlined copy: "fact.constprop.0"; NULL = none. */
	const char *symbol;
	const char *file; /* where it is declared; NULL = unknown */
	u32 line; /* 0 = unknown */
	bool is_inlined;
	const char *caller; /* inlined: the function that has its code */
	u64 caller_address; /* where that begins */
	const char *call_file; /* inlined: where it is called; NULL = unknown */
	u32 call_line;
	/* The copy itself, for debug_each_line_of(). */
	const void *dwarf;
	u64 offset;
};

/*
 * Calls fn for each place where a function begins whose short, qualified, linkage, demangled or
 * symbol's name matches (a name, or a glob): out-of-line ones, then inlined copies. Where DWARF
 * knows nothing of a symbol it is shown with name and address only. Strings live during the call.
 * fn's non-zero result, 0, -ENODATA or -ENOENT (nothing matches).
 */
int debug_each_entry(struct elf_file *f, const char *name,
		     int (*fn)(void *arg, const struct debug_entry *e), void *arg);
/*
 * Calls fn for the address where a probe at a line of this copy of the function belongs: the
 * lowest one of its own code (not of what is inlined into it) for that line of the file that
 * declares it, or where a function is inlined that this line calls. -ENOENT: none; *ret_nearest
 * (may be NULL) is then the next line of it that has code, 0 = none.
 */
int debug_each_line_of(struct elf_file *f, const struct debug_entry *e, u32 line,
		       int (*fn)(void *arg, u64 address), void *arg, u32 *ret_nearest);

#endif
