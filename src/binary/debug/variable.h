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
	 * 0: of the function that is meant; 1: of the one that it is inlined in, and so on. Statics
	 * and globals: 0.
	 */
	u32 frame;
	u32 depth; /* blocks between it and the innermost one: 0 is innermost */
	const char *function; /* that it is of, as in the source; NULL: it is of none */
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
	/* Its description, for debug_variable_declared(). */
	const void *dwarf;
	u64 offset;
};

enum debug_which {
	DEBUG_LOCALS = 1, /* parameters too */
	DEBUG_STATICS = 2, /* of the unit's own: file-scope variables, external or not */
	DEBUG_EXTERNALS = 4, /* external ones of all other units: takes a walk through the file */
	DEBUG_CALLERS = 8, /* also those of the functions that this code is inlined in */
	/* no copies that only begin there and have no code: as debug_inlines_at() has them */
	DEBUG_WITH_CODE = 16,
	/* for whoever knows the callers: what they passed is an access, too (ACCESS_ENTERED) */
	DEBUG_FROM_CALLER = 32,
	DEBUG_BRIEF = 64, /* "it is optimised out" will do: in which lines it is alive costs */
};

/* Where variables are asked about. */
struct debug_point {
	struct elf_file *file;
	u64 address; /* virtual */
	/*
	 * The function that is meant, by its source's or its linkage name: at its beginning, or at
	 * a line of it that calls another, code of what is inlined into it may stand. NULL, or one
	 * that has no code there: the innermost one.
	 */
	const char *function;
};

/*
 * Calls fn for each variable that is visible at a point, innermost block first, then
 * statics, then externals; those that cannot be read too. Everything it is shown, but not the
 * struct itself, lives in the store's arena; types are read when asked for, so the file must stay
 * open as long as they are used. fn's non-zero result, 0, -ENODATA (no DWARF) or -ENOENT (no unit
 * has code there).
 */
int debug_each_variable(const struct debug_point *p, struct type_store *types, u32 which,
			int (*fn)(void *arg, const struct debug_variable *v), void *arg);
/*
 * The variable that a name means in the source there: innermost block, statics, externals, and then
 * the functions around an inlined one. 0, -ENODATA or -ENOENT.
 */
int debug_variable_named(const struct debug_point *p, struct type_store *types, const char *name,
			 struct debug_variable *ret);

/*
 * The file and line of its declaration; false: unknown. Reads the files of its unit; they live as
 * long as the file of its code.
 */
bool debug_variable_declared(const struct debug_variable *v, const char **ret_file, u32 *ret_line);
/* A call that has not returned. */
struct debug_call {
	struct elf_file *caller;
	u64 return_to; /* virtual: behind the call */
	struct elf_file *callee;
	u64 address; /* in the function that runs */
};
/*
 * How what was passed in a register (its offset in struct pt_regs) is had from the caller's
 * registers; what it refers to is in the arena. 0; -ENODATA: the caller does not say it, or it is
 * not sure that this call entered the function that runs; then *ret is as it was.
 */
int debug_passed(const struct debug_call *c, struct arena *arena, u16 offset, struct access *ret);
/*
 * Why something cannot be fetched, in a few words: "optimised out", "it is thread-local". In the
 * arena.
 */
const char *access_short_reason(struct arena *arena, const struct access *a);
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
	u32 line; /* where it is declared; 0 = unknown */
	bool is_inlined;
	bool is_ifunc; /* code that chooses the function when the program starts, and runs once */
	/*
	 * The compiler has split the function: this is the rest of it, which is reached from its
	 * beginning, there or in an inlined copy. Who counts calls must not count it.
	 */
	bool is_part;
	const char *caller; /* inlined: the function that has its code */
	u64 caller_address; /* where that begins */
	/* The copy itself, for debug_each_line_of() and debug_entry_file(). */
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
/* The file where it is declared; NULL = unknown. It lives as long as the file of its code. */
const char *debug_entry_file(const struct debug_entry *e);
/*
 * Calls fn for the address where a probe at a line of this copy of the function belongs: the
 * lowest one of its own code (not of what is inlined into it) for that line of the file that
 * declares it, or where a function is inlined that this line calls. -ENOENT: none; *ret_nearest
 * (may be NULL) is then the next line of it that has code, 0 = none.
 */
int debug_each_line_of(struct elf_file *f, const struct debug_entry *e, u32 line,
		       int (*fn)(void *arg, u64 address), void *arg, u32 *ret_nearest);

#endif
