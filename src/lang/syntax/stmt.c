/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/internal.h"

/* Parses one statement, or sets *ret_value if it was the value of the block. Sets p->height. */
static struct stmt *parse_statement(struct parser *p, struct expr **ret_value);

static struct stmt *new_stmt(struct parser *p, enum stmt_kind kind, struct span begin)
{
	struct stmt *s = arena_new(p->arena, struct stmt);

	s->kind = kind;
	s->span = begin;
	return s;
}

static struct stmt *done(struct parser *p, struct stmt *s, u32 height)
{
	s->span = parse_span_since(p, s->span);
	p->height = height + 1;
	return s;
}

struct block *parse_block(struct parser *p, struct expr **ret_value)
{
	struct block *b = arena_new(p->arena, struct block);
	const struct span begin = parse_peek(p, 0)->span;
	struct expr *value = NULL;
	stmt_list stmts = {0};
	u32 height = 0;

	if (!parse_enter(p))
		return b;
	if (parse_open(p, '{')) {
		while (!p->failed && !value && !parse_is(p, '}') &&
		       parse_peek(p, 0)->kind != TOKEN_END) {
			struct stmt *s;

			if (parse_accept(p, ';'))
				continue;
			s = parse_statement(p, &value);
			height = MAX(height, p->height);
			if (s)
				vector_push(&stmts, s);
		}
		parse_close(p, '}');
	}
	if (value && !ret_value)
		vector_push(&stmts, ast_statement_of(p->arena, value));
	if (ret_value)
		*ret_value = value;
	b->count = (u32)stmts.len;
	b->stmts = parse_list_done(p, stmts.items, stmts.len * sizeof(*stmts.items));
	b->span = parse_span_since(p, begin);
	vector_free(&stmts);
	parse_leave(p);
	p->height = height + 1;
	if (p->height > LANG_MAX_DEPTH)
		parse_error(p, begin, "syntax error, nested too deeply (limit %d)", LANG_MAX_DEPTH);
	return b;
}

/* --- if, also as a value --- */

static bool has_value(const struct expr *e)
{
	if (e->kind == EXPR_BLOCK)
		return e->left && has_value(e->left);
	if (e->kind == EXPR_IF)
		return e->left && e->right && has_value(e->left) && has_value(e->right);
	return true;
}

static struct expr *block_expr(struct parser *p)
{
	struct expr *e = parse_new(p, EXPR_BLOCK, parse_peek(p, 0)->span);

	e->block = parse_block(p, &e->left);
	return parse_node(p, e, p->height);
}

struct expr *parse_if(struct parser *p)
{
	const struct token begin = parse_next(p);
	struct expr *e = parse_new(p, EXPR_IF, begin.span);
	u32 height;

	if (!parse_enter(p))
		return e;
	e->condition = parse_expr(p);
	height = p->height;
	e->left = block_expr(p);
	height = MAX(height, p->height);
	if (parse_accept_name(p, "else")) {
		if (parse_is_name(p, "if")) {
			e->right = parse_new(p, EXPR_BLOCK, parse_peek(p, 0)->span);
			e->right->block = arena_new(p->arena, struct block);
			e->right->block->span = e->right->span;
			e->right->left = parse_if(p);
			parse_node(p, e->right, p->height);
			e->right->block->span = e->right->span;
		} else if (parse_is(p, '{')) {
			e->right = block_expr(p);
		} else {
			parse_unexpected(p, "'{' or 'if' after 'else'");
		}
		height = MAX(height, p->height);
	}
	parse_leave(p);
	return parse_node(p, e, height);
}

/* --- the others --- */

static void end_of_statement(struct parser *p)
{
	if (!parse_is(p, '}'))
		parse_expect(p, ';');
}

/* `if` and blocks: a statement, or the value of the block around it if they end it and have one. */
static struct stmt *value_or_stmt(struct parser *p, struct expr *e, struct expr **ret_value)
{
	const u32 height = p->height;
	struct stmt *s;

	if (p->failed)
		return NULL;
	if (parse_is(p, '}') && has_value(e)) {
		*ret_value = e;
		return NULL;
	}
	s = ast_statement_of(p->arena, e);
	p->height = height;
	return s;
}

static struct stmt *parse_if_stmt(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	return value_or_stmt(p, parse_if(p), ret_value);
}

static struct stmt *parse_block_stmt(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	struct stmt *block = value_or_stmt(p, block_expr(p), ret_value);

	return block ? done(p, block, p->height) : NULL;
}

static struct stmt *parse_while(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	u32 height;

	s->kind = parse_is_name(p, "unroll") ? STMT_UNROLL : STMT_WHILE;
	parse_next(p);
	s->condition = parse_expr(p);
	height = p->height;
	s->body = parse_block(p, NULL);
	return done(p, s, MAX(height, p->height));
}

static struct stmt *parse_for(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	u32 height;
	bool parens;

	parse_next(p);
	parens = parse_is(p, '(') && parse_open(p, '(');
	if (parse_peek(p, 0)->kind != TOKEN_VARIABLE) {
		parse_unexpected(p, "variable in for loop");
		return s;
	}
	s->target = parse_primary(p);
	parse_expect(p, ':');
	s->value = parse_expr(p);
	height = p->height;
	if (parse_accept(p, PUNCT('.', '.'))) {
		s->kind = STMT_FOR_RANGE;
		s->range_begin = s->value;
		s->value = NULL;
		s->range_end = parse_expr(p);
		height = MAX(height, p->height);
	} else {
		s->kind = STMT_FOR_MAP;
		if (s->value && s->value->kind != EXPR_MAP && s->value->kind != EXPR_NAME)
			parse_error(p, s->value->span,
				    "syntax error, expected map or range in for loop");
	}
	if (parens)
		parse_close(p, ')');
	s->body = parse_block(p, NULL);
	return done(p, s, MAX(height, p->height));
}

static struct stmt *parse_jump(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	const struct token word = parse_next(p);
	u32 height = 0;

	s->kind = str_eq(word.text, "break")	  ? STMT_BREAK
		  : str_eq(word.text, "continue") ? STMT_CONTINUE
						  : STMT_RETURN;
	if (s->kind == STMT_RETURN && !parse_is(p, ';') && !parse_is(p, '}')) {
		s->value = parse_expr(p);
		height = p->height;
	}
	done(p, s, height);
	end_of_statement(p);
	return s;
}

static struct stmt *parse_let(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	u32 height = 0;

	parse_next(p);
	s->kind = STMT_LET;
	if (parse_peek(p, 0)->kind != TOKEN_VARIABLE) {
		parse_unexpected(p, "variable after 'let'");
		return s;
	}
	s->target = parse_primary(p);
	if (parse_accept(p, ':'))
		s->type_name = parse_type_name(p);
	if (parse_accept(p, '=')) {
		s->value = parse_expr(p);
		height = p->height;
	}
	done(p, s, height + 1);
	end_of_statement(p);
	return s;
}

static struct stmt *parse_import_stmt(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	parse_next(p);
	if (p->options->as_written) { /* keeps its place in the order: a name with its path */
		s->value = parse_new(p, EXPR_NAME, s->span);
		s->value->name = parse_expect_kind(p, TOKEN_STRING, "string after 'import'").text;
		parse_node(p, s->value, 0);
		s->value->name_span = s->value->span;
		parse_expect(p, ';');
		return done(p, s, p->height);
	}
	parse_import(p, s->span);
	p->height = 0;
	return NULL;
}

static enum op assignment_operator(struct parser *p, bool *ret_is)
{
	const struct token *t = parse_peek(p, 0);
	static const struct {
		u32 punct;
		enum op op;
	} rows[] = {
		{'=', OP_NONE},
		{PUNCT('+', '='), OP_ADD},
		{PUNCT('-', '='), OP_SUB},
		{PUNCT('*', '='), OP_MUL},
		{PUNCT('/', '='), OP_DIV},
		{PUNCT('%', '='), OP_MOD},
		{PUNCT('&', '='), OP_AND},
		{PUNCT('|', '='), OP_OR},
		{PUNCT('^', '='), OP_XOR},
		{PUNCT3('<', '<', '='), OP_SHL},
		{PUNCT3('>', '>', '='), OP_SHR},
	};

	for (size_t i = 0; t->kind == TOKEN_PUNCT && i < ARRAY_SIZE(rows); i++)
		if (rows[i].punct == t->punct) {
			*ret_is = true;
			return rows[i].op;
		}
	*ret_is = false;
	return OP_NONE;
}

static bool is_map_element(const struct expr *e)
{
	return e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP;
}

static void check_target(struct parser *p, const struct expr *e)
{
	if (e->in_parens)
		parse_error(p, e->span, "syntax error, invalid assignment target");
	else if (e->kind == EXPR_VARIABLE || e->kind == EXPR_MAP || is_map_element(e) ||
		 (e->kind == EXPR_NAME && str_eq(e->name, "_")))
		return;
	else if (e->kind == EXPR_MEMBER)
		parse_error(p, e->span,
			    "syntax error, Tuples and records are immutable once created. Consider "
			    "creating a new value and assigning it instead.");
	else
		parse_error(p, e->span, "syntax error, invalid assignment target");
	if (e->kind == EXPR_NAME)
		diag_hint(p->diag, "a variable has a $ before its name, a map an @: $%s, @%s",
			  e->name, e->name);
}

/* An expression or an assignment. */
static struct stmt *parse_expr_stmt(struct parser *p, struct stmt *s, struct expr **ret_value)
{
	struct expr *e = parse_expr(p);
	u32 height = p->height;
	bool is_assignment;
	enum op op;

	if (p->failed)
		return NULL;
	op = assignment_operator(p, &is_assignment);
	if (is_assignment) {
		check_target(p, e);
		parse_next(p);
		s->kind = STMT_ASSIGN;
		s->op = op;
		s->target = e;
		s->value = parse_expr(p);
		done(p, s, MAX(height, p->height));
		end_of_statement(p);
		return s;
	}
	if (parse_is(p, '}')) {
		*ret_value = e;
		return NULL;
	}
	s->kind = STMT_EXPR;
	s->value = e;
	done(p, s, height);
	if (e->kind != EXPR_IF && e->kind != EXPR_BLOCK)
		parse_expect(p, ';');
	return s;
}

static struct stmt *parse_statement(struct parser *p, struct expr **ret_value)
{
	static const struct {
		const char *word;
		struct stmt *(*parse)(struct parser *p, struct stmt *s, struct expr **ret_value);
	} rows[] = {
		{"if", parse_if_stmt},	{"while", parse_while}, {"unroll", parse_while},
		{"for", parse_for},	{"break", parse_jump},	{"continue", parse_jump},
		{"return", parse_jump}, {"let", parse_let},	{"import", parse_import_stmt},
	};
	struct stmt *s = new_stmt(p, STMT_EXPR, parse_peek(p, 0)->span);

	if (parse_is(p, '{'))
		return parse_block_stmt(p, s, ret_value);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse_is_name(p, rows[i].word))
			return rows[i].parse(p, s, ret_value);
	return parse_expr_stmt(p, s, ret_value);
}
