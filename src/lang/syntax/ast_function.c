/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-defined functions: `fn add($a : int64, $b : int64) : int64 { return $a + $b; }`.
 *
 * A function becomes a macro whose parameters are copied into typed variables and whose body is a
 * block of its own; what `return` gives is assigned to one more variable, and the block is left
 * (struct block.function):
 *
 *	macro add(a, b)
 *		{ let $a : int64 = a; let $b : int64 = b; let $return : int64; { body } $return }
 *
 * So a call costs nothing, and its arguments may be anything, also what the verifier knows about a
 * pointer. Recursion is refused as it is among macros.
 */
#include "lang/syntax/ast.h"

#define RESULT "return"

static struct expr *new_expr(struct arena *a, enum expr_kind kind, struct span span,
			     const char *name)
{
	struct expr *e = arena_new(a, struct expr);

	e->kind = kind;
	e->span = e->name_span = span;
	e->name = name;
	return e;
}

static struct stmt *new_let(struct arena *a, struct span span, const char *name,
			    struct type_name *type, struct expr *value)
{
	struct stmt *s = arena_new(a, struct stmt);

	s->kind = STMT_LET;
	s->span = span;
	s->target = new_expr(a, EXPR_VARIABLE, span, name);
	s->type_name = type;
	s->value = value;
	return s;
}

/* Every return of the function's own statements gets the variable that it sets. */
static void direct_returns(struct arena *a, struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		struct stmt *s = b->stmts[i];

		if (s->kind == STMT_RETURN)
			s->target = new_expr(a, EXPR_VARIABLE, s->span, RESULT);
		direct_returns(a, s->body);
		direct_returns(a, s->else_body);
	}
}

static struct macro to_macro(struct arena *a, const struct subprogram *f)
{
	const bool is_void = f->return_type->name && str_eq(f->return_type->name, "void") &&
			     !f->return_type->pointers;
	struct macro m = {
		.span = f->span, .name = f->name, .nparams = f->nparams, .is_function = true};
	struct stmt *body = arena_new(a, struct stmt);
	u32 n = 0;

	m.params = arena_new_array(a, struct expr *, f->nparams + 1);
	m.body = arena_new(a, struct block);
	m.body->span = f->span;
	m.body->stmts = arena_new_array(a, struct stmt *, f->nparams + 2);
	for (u32 i = 0; i < f->nparams; i++) {
		const struct span at = f->param_spans[i];
		struct stmt *let = new_let(a, at, f->param_names[i], f->param_types[i],
					   new_expr(a, EXPR_NAME, at, f->param_names[i]));

		let->is_parameter = true;
		m.params[i] = new_expr(a, EXPR_NAME, at, f->param_names[i]);
		m.body->stmts[n++] = let;
	}
	if (!is_void) {
		direct_returns(a, f->body);
		m.body->stmts[n] = new_let(a, f->span, RESULT, f->return_type, NULL);
		m.body->stmts[n++]->is_parameter = true;
		m.value = new_expr(a, EXPR_VARIABLE, f->span, RESULT);
	}
	body->kind = STMT_BLOCK;
	body->span = f->span;
	body->body = f->body;
	body->body->function = f;
	if (!is_void)
		body->body->result = new_expr(a, EXPR_VARIABLE, f->span, RESULT);
	m.body->stmts[n++] = body;
	m.body->count = n;
	return m;
}

void ast_functions_to_macros(struct arena *arena, struct ast *ast)
{
	struct macro *all =
		arena_new_array(arena, struct macro, ast->nmacros + ast->nsubprograms + 1);

	if (!ast->nsubprograms)
		return;
	if (ast->nmacros)
		memcpy(all, ast->macros, ast->nmacros * sizeof(*all));
	for (u32 i = 0; i < ast->nsubprograms; i++)
		all[ast->nmacros + i] = to_macro(arena, &ast->subprograms[i]);
	ast->macros = all;
	ast->nmacros += ast->nsubprograms;
}
