/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The syntax tree. Built by lang/syntax/, annotated by lang/check/ (fields marked [check]), read by
 * lang/lower/ and lang/fmt/. All nodes live in the compilation's arena. The tree covers the whole
 * language of bpftrace in its current and older spellings; sugar (unroll, for over ranges, compound
 * assignment) stays visible as written.
 */
#ifndef PANTRACE_LANG_SYNTAX_AST_H
#define PANTRACE_LANG_SYNTAX_AST_H

#include "base/diag.h"
#include "types/type.h"

struct expr;
struct stmt;
struct block;
struct builtin;
struct map_symbol;
struct variable_symbol;

enum expr_kind {
	EXPR_INTEGER, /* integer (value, is_unsigned_literal, duration suffix folded to ns) */
	EXPR_STRING, /* string.data/len, escapes resolved */
	EXPR_BOOL, /* integer = 0/1 */
	/* bare identifier: builtin variable, enumerator, macro argument, #define constant */
	EXPR_NAME,
	EXPR_VARIABLE, /* $name */
	EXPR_MAP, /* @name without key: scalar access or the map itself */
	/* left[args...]: map element if left is EXPR_MAP, else array/pointer index */
	EXPR_INDEX,
	EXPR_MEMBER, /* left.name or left->name (is_arrow); name may be a tuple index "0" */
	EXPR_UNARY, /* op: - ! ~ & * (deref) */
	EXPR_INCREMENT, /* ++/-- : op = OP_ADD/OP_SUB, is_postfix; left is variable or map */
	EXPR_BINARY, /* op */
	EXPR_TERNARY, /* condition ? left : right; left NULL for a ?: b */
	EXPR_CALL, /* name(args...) */
	EXPR_CAST, /* (type_name)left */
	EXPR_SIZEOF, /* sizeof(type_name) or sizeof(left) */
	EXPR_OFFSETOF, /* offsetof(type_name | left, path a.b.c in name) */
	EXPR_TYPEOF, /* typeof(left) as a value is an error; appears inside type_name */
	EXPR_TUPLE, /* (a, b, ...) args */
	EXPR_RECORD, /* (a = 1, b = 2): args and names */
	EXPR_POSITIONAL, /* $1: integer = index; "$#": integer = 0, is_count */
	EXPR_BLOCK, /* { stmts; value } : block, left = value */
	/*
	 * if cond { ... } else { ... } as a value: condition, block/else_block through left/right
	 * (EXPR_BLOCK)
	 */
	EXPR_IF,
	EXPR_COMPTIME, /* comptime left */
};

enum op {
	OP_NONE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_SHL,
	OP_SHR,
	OP_LAND,
	OP_LOR,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_MATCH, /* text ~ "pattern*"; trees as written only: else a comparison or a call */
	OP_NOT,
	OP_BITNOT,
	OP_NEG,
	OP_DEREF,
	OP_ADDRESS,
};
extern const char *const op_names[]; /* "+", ... */

/*
 * A type as written, resolved by check.c: name "struct task_struct", pointers, array sizes; or
 * typeof(expr).
 */
struct type_name {
	struct span span;
	/* "int32", "struct foo", "unsigned long", "string", "buffer"; NULL if typeof */
	const char *name;
	struct expr *typeof_expr;
	u32 pointers; /* number of '*' */
	/* (int32[4]*): int32[4], in place of a name; the pointers come after it */
	struct type_name *inner;
	u32 dimensions; /* number of [N] */
	struct expr *counts[4]; /* sizes; NULL = [] */
};

struct expr {
	enum expr_kind kind;
	struct span span;
	enum op op;
	bool is_arrow, is_postfix, is_count;
	bool is_unsigned_literal;
	bool in_parens;
	bool is_comptime_known; /* [check] integer/string below is the value */
	s64 integer;
	struct {
		const char *data;
		u32 len;
	} string;
	/* identifier, member, callee, "$x" without '$', "@x" without '@' ("" for @) */
	const char *name;
	struct span name_span;
	struct expr *condition, *left, *right;
	struct expr **args;
	const char **names; /* EXPR_RECORD */
	u32 nargs;
	struct block *block;
	struct type_name *type_name;
	/* [check] */
	const struct type *type;
	enum address_space space; /* of the memory an lvalue lies in */
	const struct builtin *builtin; /* EXPR_NAME, EXPR_CALL */
	struct map_symbol *map; /* EXPR_MAP, EXPR_INDEX of a map */
	struct variable_symbol *variable; /* EXPR_VARIABLE */
	const struct type_member *member; /* EXPR_MEMBER */
	u32 member_offset; /* EXPR_MEMBER: from the start of left's type */
	/* EXPR_MEMBER of args and vars: where the value is; NULL = in the record */
	const struct location *location;
	void *annotation; /* the builtin's own, from its check to its lower */
};

enum stmt_kind {
	STMT_EXPR,
	/* target (variable, map, map element, _) op= value; op OP_NONE for plain '=' */
	STMT_ASSIGN,
	STMT_LET, /* let $x [: type] [= value] */
	STMT_IF, /* condition, body, else_body */
	STMT_WHILE, /* condition, body */
	STMT_UNROLL, /* condition = count, body */
	STMT_FOR_MAP, /* for ($kv : @map) body */
	STMT_FOR_RANGE, /* for $i : a..b body */
	STMT_BREAK,
	STMT_CONTINUE,
	/* value or NULL; in a function with a result: target, the variable that it sets */
	STMT_RETURN,
	STMT_BLOCK,
};

struct stmt {
	enum stmt_kind kind;
	struct span span;
	enum op op;
	struct expr *target, *value, *condition;
	struct expr *range_begin, *range_end;
	struct type_name *type_name; /* let */
	/* let: made of a parameter of a function of the script, or of its result */
	bool is_parameter;
	struct block *body, *else_body;
	struct variable_symbol *variable; /* [check] for: the loop variable */
	/*
	 * [check] while, unroll: numbers of which the verifier forgets what it knows; NULL at the
	 * end
	 */
	struct variable_symbol **forgotten;
	/* [check] for over a range, while: the body is a callback of bpf_loop() */
	bool is_callback;
};

struct block {
	struct span span;
	struct stmt **stmts;
	u32 count;
	bool is_bare_scope; /* { } written as a statement */
	/* body of this inlined function: its returns leave the block (ast_function.c) */
	const struct subprogram *function;
	struct expr *result; /* then: the variable that they set, NULL = void */
};

struct attach_point {
	struct span span;
	const char *text; /* as written, positional parameters substituted */
	/* split at ':', quotes removed, positional parameters substituted */
	const char **parts;
	u32 count;
};

struct probe {
	struct span span;
	const char *label; /* name = attachpoint, or NULL */
	struct attach_point *attach_points;
	u32 nattach;
	struct expr *predicate; /* or NULL */
	struct block *body;
	bool is_internal; /* not the script's own: not counted among those attached */
	bool in_process; /* in_process.h */
};

struct config_entry {
	struct span span;
	const char *name;
	/* EXPR_INTEGER, EXPR_STRING, EXPR_BOOL or EXPR_NAME (enum-like word) */
	struct expr *value;
};

struct map_declaration { /* let @m = hash(N); */
	struct span span;
	const char *name, *type;
	struct expr *size;
};

struct macro { /* macro name($a, @b, c) { ... } */
	struct span span;
	const char *name;
	struct expr **params; /* EXPR_VARIABLE, EXPR_MAP or EXPR_NAME */
	u32 nparams;
	struct block *body;
	struct expr *value; /* trailing expression or NULL */
	/* made from a function: sees maps, but none of the caller's variables */
	bool is_function;
	bool is_called;
};

struct subprogram { /* fn name($a : type, ...) : type { ... } */
	struct span span;
	const char *name;
	const char **param_names;
	struct type_name **param_types;
	struct span *param_spans;
	u32 nparams;
	struct type_name *return_type;
	struct block *body;
};

struct import {
	struct span span;
	const char *path;
};

/* What stands at the top level, in the order of the source: parse_options.as_written only. */
enum script_item_kind {
	ITEM_PROBE,
	ITEM_MACRO,
	ITEM_SUBPROGRAM,
	ITEM_MAP,
	ITEM_IMPORT,
	ITEM_CONFIG,
	ITEM_C, /* a definition of C, not looked into */
};

struct script_item {
	enum script_item_kind kind;
	struct span span;
	u32 index, end; /* of the list of its kind */
};

struct ast {
	struct config_entry *configs;
	u32 nconfigs;
	struct import *imports;
	u32 nimports;
	struct map_declaration *maps;
	u32 nmaps;
	struct macro *macros;
	u32 nmacros;
	struct subprogram *subprograms;
	u32 nsubprograms;
	struct probe *probes;
	u32 nprobes;
	struct script_item *items;
	u32 nitems;
	u32 passed_over; /* declarations of system headers that could not be understood */
	const char *why_passed_over; /* the first of them, NULL = none */
	/* bodies of functions that nobody calls, to be checked */
	struct probe *uncalled;
	u32 nuncalled;
};

/* Functions of the script become macros; before ast_expand_macros(). */
void ast_functions_to_macros(struct arena *arena, struct ast *ast);
/* A deep copy, for compiling one body once per attach point. [check] fields are cleared. */
struct expr *ast_clone_expr(struct arena *a, const struct expr *e);
struct block *ast_clone_block(struct arena *a, const struct block *b);
/*
 * The statement that evaluates e for its effects: STMT_IF for EXPR_IF, STMT_BLOCK for EXPR_BLOCK,
 * else STMT_EXPR.
 */
struct stmt *ast_statement_of(struct arena *a, struct expr *e);
/*
 * Replaces every call of the script's macros by its body (EXPR_BLOCK), hygienically: variables of
 * the macro become "macro.N.name", parameters the caller's. Called by parse_script(). Returns 0, or
 * -EINVAL with diagnostics.
 */
struct diag;
int ast_expand_macros(struct arena *arena, struct diag *diag, struct ast *ast);
/* -d ast; with_types: annotated by the checker (-d types). */
void ast_dump(struct strbuf *out, const struct ast *ast, bool with_types);
void ast_dump_block(struct strbuf *out, const struct block *b, int indent, bool with_types);
void ast_dump_expr(struct strbuf *out, const struct expr *e, int indent, bool with_types);
/* Calls fn for every expression below, parents first; fn returning false skips the children. */
void ast_each_expr(const struct block *b, bool (*fn)(void *arg, struct expr *e), void *arg);
void ast_each_expr_in(struct expr *e, bool (*fn)(void *arg, struct expr *e), void *arg);

#endif
