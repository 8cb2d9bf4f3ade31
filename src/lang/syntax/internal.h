/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by parse*.c and cdecl.c. The first error ends the parse: from then on every token is
 * TOKEN_ERROR, every function returns quickly, and nothing more is reported.
 *
 * Height: no tree is higher than LANG_MAX_DEPTH, so that passes over it may recurse. parser.height
 * is the height of the node that was returned last; parse_node() checks and sets it.
 */
#ifndef PANTRACE_LANG_SYNTAX_INTERNAL_H
#define PANTRACE_LANG_SYNTAX_INTERNAL_H

#include "lang/syntax/preprocess.h"

#define PARSE_MAX_OPEN (2 * LANG_MAX_DEPTH)

struct open_bracket {
	char bracket;
	struct span span;
};

typedef VECTOR(struct expr *) expr_list;
typedef VECTOR(struct stmt *) stmt_list;

struct parser {
	struct arena *arena;
	struct type_store *types;
	struct diag *diag;
	const struct parse_options *options;
	u16 file; /* the script itself */
	struct preprocessor pp;
	VECTOR(const struct token *) tokens; /* of this item; in the arena, where they stay */
	size_t at; /* the current one */
	struct token failed_token;
	bool failed;
	u32 depth; /* of recursion */
	u32 height; /* see above */
	bool in_predicate;
	struct open_bracket open[PARSE_MAX_OPEN];
	u32 nopen;
	bool seen_probe;
	struct hashmap defined; /* "struct x" that the script itself has defined */
	struct hashmap enumerators; /* name -> s64 *, of the definitions read so far */
	u32 passed_over; /* declarations of system headers that could not be understood */
	const char *why_passed_over; /* the first of them */
	VECTOR(struct config_entry) configs;
	VECTOR(struct import) imports; /* the first `done_imports` have been read */
	size_t done_imports;
	struct hashmap imported; /* real paths */
	u16 probe_file; /* where seen_probe was set */
	VECTOR(struct map_declaration) maps;
	VECTOR(struct macro) macros;
	VECTOR(struct subprogram) subprograms;
	VECTOR(struct probe) probes;
	VECTOR(struct script_item) items; /* as_written */
};

/* --- tokens (parse.c) --- */
const struct token *parse_peek(struct parser *p, u32 ahead);
struct token parse_next(struct parser *p);
bool parse_is(struct parser *p, u32 punct);
bool parse_is_name(struct parser *p, const char *word);
bool parse_accept(struct parser *p, u32 punct);
bool parse_accept_name(struct parser *p, const char *word);
/* Reports "unexpected X, expected 'Y'" otherwise. */
bool parse_expect(struct parser *p, u32 punct);
/* A bracket that must be closed: remembered for the message about a script that is cut off. */
bool parse_open(struct parser *p, char bracket);
bool parse_close(struct parser *p, char bracket);
struct token parse_expect_kind(struct parser *p, enum token_kind kind, const char *what);
/* "syntax error, unexpected <token>, expected <what>" at the current token. */
void parse_unexpected(struct parser *p, const char *expected);
void parse_error(struct parser *p, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
struct span parse_span_since(struct parser *p,
			     struct span begin); /* to the end of the last token */
/* Counts one level of recursion; false after the error. */
bool parse_enter(struct parser *p);
void parse_leave(struct parser *p);
void *parse_list_done(struct parser *p, const void *items, size_t bytes);
/* Forgets what was looked at ahead, so that the text at the current token can be read as text. */
struct lexer *parse_as_text(struct parser *p);

/* --- expressions (lang/syntax/expr.c, lang/syntax/primary.c) --- */
struct expr *parse_expr(struct parser *p);
struct expr *parse_unary(struct parser *p);
struct expr *parse_postfix(struct parser *p, struct expr *e);
struct expr *parse_primary(struct parser *p);
struct expr *parse_if(struct parser *p);
struct expr *parse_new(struct parser *p, enum expr_kind kind, struct span begin);
/* Sets span and height = 1 + children's. Returns e; a NULL child means an error before. */
struct expr *parse_node(struct parser *p, struct expr *e, u32 children_height);
bool parse_args(struct parser *p, char close, struct expr *call, u32 height);
/* The operator of a token and its precedence (1 = || ... 10 = *); OP_NONE. */
enum op parse_binary_operator(const struct token *t, int *ret_precedence);

/* --- types (lang/syntax/type.c) --- */
struct type_name *parse_type_name(struct parser *p);
/* The argument of sizeof, offsetof, typeof: one of the two results is set. */
void parse_type_or_expr(struct parser *p, char end, struct type_name **ret_type,
			struct expr **ret_expr);
/* A word that is a value although it looks like the name of a type: `(pid) - 1` is no cast. */
bool parse_is_value_word(const char *name);
/* '(' was read: is this `(type) operand`? Leaves the position where it was. */
bool parse_looks_like_cast(struct parser *p);

/* --- statements (lang/syntax/stmt.c) --- */
/* ret_value NULL: a value at the end becomes a statement. */
struct block *parse_block(struct parser *p, struct expr **ret_value);

/* --- probes (lang/syntax/probe.c) --- */
void parse_probe(struct parser *p);
/* `import "path";` after the word. */
void parse_import(struct parser *p, struct span begin);
/* Reads on in the imported file. */
void parse_import_file(struct parser *p, const struct import *import);
/* A script, not a header: everything in it counts. */
bool parse_is_script_file(const struct parser *p, u16 file);

/* --- C definitions (cdecl.c) --- */
/* At struct, union, enum or typedef. lenient: other declarations of a header are skipped. */
void parse_c_definition(struct parser *p, bool lenient);
/* Functions and variables of a header: to the ';' or over the body. */
void parse_skip_declaration(struct parser *p);

#endif
