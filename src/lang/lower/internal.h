/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the lowering share. Everything else is in lower.h. */
#ifndef PANTRACE_LANG_LOWER_INTERNAL_H
#define PANTRACE_LANG_LOWER_INTERNAL_H

#include <linux/bpf.h>

#include "lang/check/internal.h"
#include "lang/lower/lower.h"

/*
 * The frame: memory on the main function's stack that callbacks of loops get the address of.
 *
 *	0   the program's context
 *	8   control: FRAME_RETURN after `return` or exit() inside a callback, FRAME_FUNCTION after
 *          `return` of an inlined function
 *	16  the id of the speculation that output belongs to, 0 = none
 *	24  what a test returns
 *	32  one u64 per shared variable: its value, or the address of its memory
 */
#define FRAME_CONTEXT	  0
#define FRAME_CONTROL	  8
#define FRAME_SPECULATION 16
#define FRAME_RESULT	  24
#define FRAME_VARIABLES	  32
#define FRAME_MAX_FIELDS  40
#define FRAME_RETURN	  2
#define FRAME_FUNCTION	  3

/* A slot that a statement gave back. */
struct free_slot {
	u32 slot, size;
};

struct lower_private {
	/* address of the frame in the function being built; 0 = the program has none */
	ir_reg frame;
	ir_reg speculation; /* its id in programs without a frame; 0 = never speculates */
	/*
	 * map + 1 of the table of system calls for the program on the raw tracepoint; 0 = none yet
	 */
	u32 syscall_table;
	bool has_result; /* a test or benchmark: `return n` counts */
	ir_reg result; /* n, in programs without a frame */
	u32 callbacks;
	u32 depth; /* callbacks around the code being built */
	VECTOR(struct free_slot) taken; /* by the statement being lowered */
	VECTOR(struct free_slot) free;
};

/* Beyond this many bytes a call of a helper is shorter than loads and stores. */
#define INLINE_BYTES 64

/* ---- lang/lower/syscalls.c ---- */
/* Returns at once if this system call is none of the unit's targets. */
void lower_syscall_guard(struct lower *l);
/* The cookie of the target that fired, if there are several. */
ir_reg lower_syscall_cookie(struct lower *l);

/* ---- lang/lower/memory.c ---- */
void lower_copy(struct lower *l, ir_reg dst, s64 dst_offset, ir_reg src, s64 src_offset, u32 size);
void lower_zero(struct lower *l, ir_reg dst, s64 offset, u32 size);
ir_reg lower_address(struct lower *l, ir_reg base, s64 offset);
/* lower_read_string() of a whole char array. */
ir_reg lower_read_chars(struct lower *l, ir_reg dst, s64 offset, u32 size, ir_reg from,
			enum address_space space);
/* Loads scalars (and extracts bit-fields); aggregates stay where they are. */
struct value lower_fetch(struct lower *l, const struct value *memory);
/* Slots taken since mark may be used again. */
u32 lower_slot_mark(const struct lower *l);
void lower_slot_release(struct lower *l, u32 mark);

/* ---- lang/lower/expr.c ---- */
void lower_condition(struct lower *l, struct expr *e, u32 then, u32 otherwise);
struct value lower_string_literal(struct lower *l, const char *text, u32 len, const struct type *t);
/* r of type `from` as a value of type `to`. */
ir_reg lower_convert(struct lower *l, ir_reg r, const struct type *from, const struct type *to);

/* ---- lang/lower/binary.c ---- */
void lower_binary(struct lower *l, struct expr *e, struct value *ret);
/* The arithmetic of left op right on values; unsigned_op: see check_binary(). */
struct value lower_arithmetic(struct lower *l, enum op op, const struct value *left,
			      const struct value *right, const struct type *type, bool unsigned_op,
			      struct span at);
bool lower_compare_branch(struct lower *l, struct expr *e, u32 then, u32 otherwise);

/* ---- lang/lower/access.c ---- */
void lower_member(struct lower *l, struct expr *e, struct value *ret);
void lower_index(struct lower *l, struct expr *e, struct value *ret);
void lower_deref(struct lower *l, struct expr *e, struct value *ret);
void lower_address_of(struct lower *l, struct expr *e, struct value *ret);

/* ---- lang/lower/variable.c ---- */
void lower_frame_begin(struct lower *l);
/* zeroes those that may be read unassigned */
void lower_variables_begin(struct lower *l, const struct block *body);
void lower_variable_read(struct lower *l, struct variable_symbol *v, struct value *ret);
void lower_variable_write(struct lower *l, struct variable_symbol *v, const struct value *value,
			  struct span at);
void lower_variable_zero(struct lower *l, struct variable_symbol *v);
/* Address of the memory of a variable that lies in memory. */
ir_reg lower_variable_address(struct lower *l, struct variable_symbol *v);

/* ---- lang/lower/map.c ---- */
/* @m[k] += amount, atomically. Gives the old value if `want` (else 0). */
ir_reg lower_map_increment(struct lower *l, struct map_symbol *m, ir_reg key, ir_reg amount,
			   bool want, struct span at);
/* Programs that run in a process: adds n to the element; bucket 0 = not a histogram. */
void lower_process_count(struct lower *l, struct map_symbol *m, struct expr *const *keys, u32 nkeys,
			 ir_reg bucket, ir_reg n, struct span at);
/* The map of counters of what was lost, made on first use. */
u32 lower_lost_map(struct script *s);
void lower_count_lost(struct lower *l, enum lost_counter counter);

/* ---- lang/lower/loop.c ---- */
void lower_while(struct lower *l, struct stmt *s);
void lower_unroll(struct lower *l, struct stmt *s);
void lower_for_map(struct lower *l, struct stmt *s);
void lower_for_range(struct lower *l, struct stmt *s);

/* ---- lang/lower/unwind.c ---- */
/*
 * Writes at most `depth` frames of the user stack; their number. Jumps to `none` where there is no
 * stack.
 */
ir_reg lower_unwind(struct lower *l, ir_reg frames, u32 depth, u32 none, struct span at);

/* ---- lang/lower/output.c ---- */
void lower_speculation_begin(struct lower *l);
void lower_speculation_set(struct lower *l, ir_reg id);

static inline struct lower_private *lower_private(const struct lower *l)
{
	return l->private;
}

#endif
