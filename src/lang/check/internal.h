/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checker's own files share. Everything else is in check.h. */
#ifndef PANTRACE_LANG_CHECK_INTERNAL_H
#define PANTRACE_LANG_CHECK_INTERNAL_H

#include "lang/check/check.h"

/*
 * check.scopes: how far this pass is in the unit's list of variables, and the blocks that are open.
 */
struct check_scopes {
	u32 next; /* variables of this pass: unit->variables[0 .. next) */
	u32 depth; /* open blocks */
	bool truncated_condition;
};

/* ---- lang/check/scope.c ---- */
void check_scope_begin(struct check *c);
void check_scope_end(struct check *c);
struct variable_symbol *check_variable_find(struct check *c, const char *name);
struct variable_symbol *check_variable_declare(struct check *c, const char *name, struct span at);
/*
 * The variable that an assignment means: a visible one, one of an earlier block (older scripts), or
 * a new one.
 */
struct variable_symbol *check_variable_target(struct check *c, const char *name,
					      const struct type *type, struct span at);
void check_variable_assign(struct check *c, struct variable_symbol *v, const struct type *type,
			   enum address_space space, struct span at);
/* Marks v as captured if it is used in another function than the one that it was declared in. */
/* The name in the script: variables of macros and functions have a prefix for their expansion. */
static inline const char *check_variable_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}
void check_variable_use(struct check *c, struct variable_symbol *v);
/* After an error: notes where the variable was first assigned. */
void check_variable_origin(struct check *c, const struct variable_symbol *v);

/* ---- lang/check/type.c ---- */
/* The type that holds values of both; NULL if there is none. */
const struct type *check_unify(struct check *c, const struct type *a, const struct type *b);
/*
 * The member of b that goes with member i of a: by position in tuples, by name in records; NULL if
 * there is none.
 */
const struct type_member *check_same_member(const struct type *a, u32 i, const struct type *b);
/* The smallest type of a literal. */
const struct type *check_literal_type(u64 value, bool is_negative);
/* The scalar that an aggregation reads as (count, sum, min, max, avg); NULL for the others. */
const struct type *check_aggregation_scalar(const struct type *t);
const char *check_type_text(struct check *c, const struct type *t);
/* char[n] reads as string[n]; everything else stays. */
const struct type *check_field_type(struct check *c, const struct type *t, enum address_space space,
				    bool is_user);

/* ---- lang/check/expr.c, lang/check/operator.c, lang/check/access.c, lang/check/call.c ---- */
void check_binary(struct check *c, struct expr *e);
void check_unary(struct check *c, struct expr *e);
void check_increment(struct check *c, struct expr *e);
void check_name(struct check *c, struct expr *e);
void check_call(struct check *c, struct expr *e);
void check_index(struct check *c, struct expr *e);
void check_member(struct check *c, struct expr *e);
void check_map_access(struct check *c, struct expr *e);
/* The type of an operand that is not evaluated (sizeof, typeof ...); NULL if it has none. */
const struct type *check_unevaluated(struct check *c, struct expr *e);
void check_condition(struct check *c, struct expr *e);
const struct type *check_binary_type(struct check *c, struct expr *e, enum op op, struct expr *left,
				     struct expr *right);
bool op_is_comparison(enum op op);
bool check_is_args(const struct expr *e);
/* Can a program read it there? */
bool check_readable(const struct location *at, const struct type *t);
bool check_is_vars(const struct expr *e);
/* Has the probe variables of the source? False with an error at e. */
bool check_has_variables(struct check *c, const struct expr *e);

/* ---- lang/check/map.c ---- */
/*
 * Values whose type no assignment tells (`@x = @x + 1`, or maps that are only read) become numbers
 * that begin as 0. True if there was such a map.
 */
bool check_default_maps(struct check *c);
/* After an error or a warning about this map: suggests a map of a similar name. */
void check_hint_map(struct check *c, const char *name);

/* ---- lang/check/stmt.c ---- */
void check_block(struct check *c, struct block *b);
void check_statements(struct check *c, struct block *b); /* in the scope that is open */

/* ---- lang/check/loop.c ---- */
void check_while(struct check *c, struct stmt *s);
/* Marks the variables in e as bounds of a loop (variable_symbol.is_bound). */
void check_bounds(struct check *c, struct expr *e);
void check_unroll(struct check *c, struct stmt *s);
void check_for_map(struct check *c, struct stmt *s);
void check_for_range(struct check *c, struct stmt *s);

/* ---- fold.c ---- */
/* Folds op over known operands; false if it cannot be (division by zero). */
bool fold_binary(enum op op, s64 a, s64 b, bool is_signed, s64 *ret);
/*
 * The same for two literals, whose values are exact: false also if the result fits neither int64
 * nor uint64.
 */
bool fold_literals(enum op op, __int128 a, __int128 b, __int128 *ret);
/* A comparison of two literals. */
bool fold_compare(enum op op, __int128 a, __int128 b);
s64 fold_convert(s64 value, const struct type *to);

/* True if e is a non-negative literal, whose sign adapts to the other operand. */
static inline bool check_is_flexible(const struct expr *e)
{
	return e->is_comptime_known && e->type && type_is(e->type, TYPE_INT) && e->integer >= 0;
}

#endif
