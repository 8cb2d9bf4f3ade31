/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the builtin_*.c files share: rows are grouped in one table per family. */
#ifndef PANTRACE_LANG_BUILTIN_UTIL_H
#define PANTRACE_LANG_BUILTIN_UTIL_H

#include <linux/bpf.h>

#include "lang/builtin/builtin.h"
#include "lang/check/check.h"
#include "lang/lower/lower.h"

extern const struct builtin builtins_process[], builtins_context[], builtins_time[],
	builtins_string[], builtins_compare[];
extern const struct builtin builtins_symbol[], builtins_stack[], builtins_net[], builtins_output[];
extern const struct builtin builtins_abort[], builtins_aggregate[], builtins_map[], builtins_type[],
	builtins_misc[];
extern const struct builtin builtins_statistics[], builtins_present[], builtins_speculate[];
extern const struct builtin builtins_tseries[], builtins_kernel[];
extern const struct builtin builtins_registers[], builtins_row[], builtins_path[],
	builtins_config[], builtins_concat[];

#define VARIABLE_OR_CALL (BUILTIN_VARIABLE | BUILTIN_CALL)

/* "int", "string", "pointer": a kind as messages name it. */
const char *builtin_kind(const struct type *t);
/* A call whose result is a literal: later passes may fold it. */
void builtin_set_integer(struct expr *call, const struct type *t, s64 value);
void builtin_set_string(struct check *c, struct expr *call, const char *text, size_t len);
/* Lowers a call marked by one of the two. */
void builtin_lower_literal(struct lower *l, struct expr *call, struct value *ret);
/*
 * The literal string of an argument, NULL if it is none (after check_arg_literal_string() refused
 * it).
 */
const char *builtin_literal(const struct expr *e);

/* typeinfo(...).member is known at compile time: e becomes its value. */
/* T of typeinfo(T); NULL if e is something else. */
const struct type *typeinfo_type(const struct expr *e);
void typeinfo_member(const struct expr *call, struct expr *e);

/* The space of the memory that a pointer or integer points into, as far as it is known. */
enum address_space builtin_space(const struct expr *e);
/* Integers, pointers and aggregations that read as a number. */
bool builtin_is_number(const struct type *t);
/* False, with an error: the call is in a function, or outside of any probe. */
bool builtin_in_probe(struct check *c, struct expr *call);

/* ---- registers.c ---- */
/* Does the program see the registers of the traced code? */
bool builtin_has_registers(const struct check *c);
/* The saved register at an offset of struct pt_regs. */
ir_reg builtin_saved_register(struct lower *l, u32 offset, u8 size);
/* ---- */

/* An internal map, made on first use. Returns its index in script.maps. */
u32 builtin_map(struct script *s, enum map_role role);
/* A field of struct script_globals. */
ir_reg builtin_global(struct lower *l, u32 offset);
void builtin_global_set(struct lower *l, u32 offset, ir_reg value);
/* A 64-bit slot that holds r; its address. */
ir_reg builtin_spill(struct lower *l, ir_reg r, const char *label);
/* r limited to [0, max] as an unsigned number, in a new register whose range the verifier knows. */
ir_reg builtin_bound(struct lower *l, ir_reg r, u64 max);
/* dst = a cond imm ? 1 : 0. */
ir_reg builtin_test(struct lower *l, enum ir_cond cond, ir_reg a, s64 imm);
/* The address of a value in memory. */
ir_reg builtin_address(struct lower *l, const struct value *v);
/* tgid << 32 | tid of the current task in our PID namespace (0: a task outside of it). */
ir_reg builtin_current_ids(struct lower *l);
/* Type and offset of a member of a kernel struct by BTF; false if there is none. */
bool builtin_member(struct check *c, const char *structure, const char *member,
		    const struct type **ret_type, u32 *ret_offset);

/* ACTION_PRINTF and the like: format in args[first], then its arguments. */
void builtin_check_format(struct check *c, struct expr *call, u32 first);
/* Sends them; returns the action's index. */
u32 builtin_send_format(struct lower *l, enum action_kind kind, struct expr *call, u32 first);
/* The bucket of n, as types/type.h counts them. */
ir_reg aggregate_hist_bucket(struct ir_function *f, ir_reg n, u32 bits);
ir_reg aggregate_lhist_bucket(struct ir_function *f, ir_reg n, s64 min, s64 max, s64 step);
ir_reg aggregate_llhist_bucket(struct ir_function *f, ir_reg n, const struct llhist *h);
/*
 * For all rows of aggregations: checks the number; checks that the call follows `@m =`; finds
 * the element of the map (jumps to `end` if there is none; bucket 0 = not a histogram); finishes.
 */
bool aggregate_check_number(struct check *c, struct expr *call);
bool aggregate_is_usable(struct lower *l, struct expr *call, struct value *ret);
ir_reg aggregate_element(struct lower *l, struct expr *call, ir_reg bucket, u32 end);
void aggregate_end(struct lower *l, u32 end);
/* CLOCK_REALTIME in ns, as exactly as a program can know it. */
ir_reg builtin_wall_clock(struct lower *l);
/* Sends ACTION_EXIT and leaves the probe. */
void builtin_exit(struct lower *l, ir_reg code, struct span at);

#endif
