/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/ast.h"

#include "lang/syntax/ast_walk.h"

const char *const op_names[] = {
	[OP_NONE] = "",	  [OP_ADD] = "+",    [OP_SUB] = "-",  [OP_MUL] = "*",	[OP_DIV] = "/",
	[OP_MOD] = "%",	  [OP_AND] = "&",    [OP_OR] = "|",   [OP_XOR] = "^",	[OP_SHL] = "<<",
	[OP_SHR] = ">>",  [OP_LAND] = "&&",  [OP_LOR] = "||", [OP_EQ] = "==",	[OP_NE] = "!=",
	[OP_LT] = "<",	  [OP_LE] = "<=",    [OP_GT] = ">",   [OP_GE] = ">=",	[OP_NOT] = "!",
	[OP_MATCH] = "~", [OP_BITNOT] = "~", [OP_NEG] = "-",  [OP_DEREF] = "*", [OP_ADDRESS] = "&",
};

/* --- walking --- */

static void walk_type(struct ast_walk *w, struct type_name *t)
{
	if (!t || w->skip_types)
		return;
	walk_type(w, t->inner);
	if (t->typeof_expr)
		w->expr(w, &t->typeof_expr);
	for (u32 i = 0; i < t->dimensions; i++)
		if (t->counts[i])
			w->expr(w, &t->counts[i]);
}

static void walk_slot(struct ast_walk *w, struct expr **slot)
{
	if (*slot)
		w->expr(w, slot);
}

void ast_walk_children(struct ast_walk *w, struct expr *e)
{
	walk_slot(w, &e->condition);
	if (e->block)
		ast_walk_block(w, e->block);
	walk_slot(w, &e->left);
	walk_slot(w, &e->right);
	for (u32 i = 0; i < e->nargs; i++)
		walk_slot(w, &e->args[i]);
	walk_type(w, e->type_name);
}

void ast_walk_stmt(struct ast_walk *w, struct stmt *s)
{
	walk_type(w, s->type_name);
	walk_slot(w, &s->target);
	walk_slot(w, &s->condition);
	walk_slot(w, &s->value);
	walk_slot(w, &s->range_begin);
	walk_slot(w, &s->range_end);
	if (s->body)
		ast_walk_block(w, s->body);
	if (s->else_body)
		ast_walk_block(w, s->else_body);
}

void ast_walk_block(struct ast_walk *w, struct block *b)
{
	if (w->depth >= AST_MAX_HEIGHT)
		return;
	w->depth++;
	for (u32 i = 0; i < b->count; i++) {
		if (w->stmt)
			w->stmt(w, &b->stmts[i]);
		else
			ast_walk_stmt(w, b->stmts[i]);
	}
	walk_slot(w, &b->result);
	w->depth--;
}

struct each {
	struct ast_walk walk;
	bool (*fn)(void *arg, struct expr *e);
	void *arg;
};

static void each_expr(struct ast_walk *w, struct expr **slot)
{
	struct each *each = container_of(w, struct each, walk);

	if (each->fn(each->arg, *slot))
		ast_walk_children(w, *slot);
}

void ast_each_expr(const struct block *b, bool (*fn)(void *arg, struct expr *e), void *arg)
{
	struct each each = {.walk = {.expr = each_expr}, .fn = fn, .arg = arg};

	if (b)
		ast_walk_block(&each.walk, (struct block *)b);
}

void ast_each_expr_in(struct expr *e, bool (*fn)(void *arg, struct expr *e), void *arg)
{
	struct each each = {.walk = {.expr = each_expr}, .fn = fn, .arg = arg};

	if (e)
		each_expr(&each.walk, &e);
}

/* --- copying --- */

static struct type_name *clone_type(struct arena *a, const struct type_name *t)
{
	struct type_name *copy;

	if (!t)
		return NULL;
	copy = arena_memdup(a, t, sizeof(*t));
	copy->inner = clone_type(a, t->inner);
	copy->typeof_expr = ast_clone_expr(a, t->typeof_expr);
	for (u32 i = 0; i < t->dimensions; i++)
		copy->counts[i] = ast_clone_expr(a, t->counts[i]);
	return copy;
}

struct expr *ast_clone_expr(struct arena *a, const struct expr *e)
{
	struct expr *copy;

	if (!e)
		return NULL;
	copy = arena_memdup(a, e, sizeof(*e));
	/* Results of the checker belong to the original only. */
	copy->is_comptime_known = false;
	copy->type = NULL;
	copy->space = SPACE_UNKNOWN;
	copy->builtin = NULL;
	copy->map = NULL;
	copy->variable = NULL;
	copy->member = NULL;
	copy->member_offset = 0;
	copy->location = NULL;
	copy->annotation = NULL;
	copy->condition = ast_clone_expr(a, e->condition);
	copy->left = ast_clone_expr(a, e->left);
	copy->right = ast_clone_expr(a, e->right);
	copy->block = ast_clone_block(a, e->block);
	copy->type_name = clone_type(a, e->type_name);
	if (e->nargs) {
		copy->args = arena_new_array(a, struct expr *, e->nargs);
		for (u32 i = 0; i < e->nargs; i++)
			copy->args[i] = ast_clone_expr(a, e->args[i]);
	}
	return copy;
}

static struct stmt *clone_stmt(struct arena *a, const struct stmt *s)
{
	struct stmt *copy = arena_memdup(a, s, sizeof(*s));

	copy->target = ast_clone_expr(a, s->target);
	copy->value = ast_clone_expr(a, s->value);
	copy->condition = ast_clone_expr(a, s->condition);
	copy->range_begin = ast_clone_expr(a, s->range_begin);
	copy->range_end = ast_clone_expr(a, s->range_end);
	copy->type_name = clone_type(a, s->type_name);
	copy->body = ast_clone_block(a, s->body);
	copy->else_body = ast_clone_block(a, s->else_body);
	copy->variable = NULL;
	copy->forgotten = NULL;
	copy->is_callback = false;
	return copy;
}

struct block *ast_clone_block(struct arena *a, const struct block *b)
{
	struct block *copy;

	if (!b)
		return NULL;
	copy = arena_memdup(a, b, sizeof(*b));
	copy->result = ast_clone_expr(a, b->result);
	copy->stmts = b->count ? arena_new_array(a, struct stmt *, b->count) : NULL;
	for (u32 i = 0; i < b->count; i++)
		copy->stmts[i] = clone_stmt(a, b->stmts[i]);
	return copy;
}

/* --- values that become statements --- */

/* The block of an EXPR_BLOCK, its value as the last statement. */
static struct block *block_of(struct arena *a, struct expr *e)
{
	struct block *b = e->block;
	struct stmt **stmts;

	if (!e->left)
		return b;
	stmts = arena_new_array(a, struct stmt *, b->count + 1);
	if (b->count)
		memcpy(stmts, b->stmts, b->count * sizeof(*stmts));
	stmts[b->count++] = ast_statement_of(a, e->left);
	b->stmts = stmts;
	e->left = NULL;
	return b;
}

struct stmt *ast_statement_of(struct arena *a, struct expr *e)
{
	struct stmt *s = arena_new(a, struct stmt);

	s->span = e->span;
	if (e->kind == EXPR_IF) {
		s->kind = STMT_IF;
		s->condition = e->condition;
		s->body = block_of(a, e->left);
		s->else_body = e->right ? block_of(a, e->right) : NULL;
	} else if (e->kind == EXPR_BLOCK) {
		s->kind = STMT_BLOCK;
		s->body = block_of(a, e);
		s->body->is_bare_scope = true;
	} else {
		s->kind = STMT_EXPR;
		s->value = e;
	}
	return s;
}
